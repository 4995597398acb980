"""HTML, Markdown, JSON and terminal reports, drawn from stored results alone."""
