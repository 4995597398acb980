"""One streaming HTTP client, one clock."""
