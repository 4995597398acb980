"""One way to make prompts a file; each has a top-level ``SOURCE``."""
