"""Log lines to root cause and remedy."""
