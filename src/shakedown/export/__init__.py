"""Files that put the winner into production."""
