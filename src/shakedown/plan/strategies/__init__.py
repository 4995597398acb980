"""How the next launch is chosen: one file a strategy, found by itself."""
