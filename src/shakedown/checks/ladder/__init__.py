"""The checks, one file each; found by themselves. Add a file with a ``CHECK`` object to add a check."""
