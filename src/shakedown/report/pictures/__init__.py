"""Pictures as SVG: themed by the page's style sheet, readable without a script, each point told to whoever points."""
