"""What happened (SQLite) and every token's arrival (Parquet)."""
