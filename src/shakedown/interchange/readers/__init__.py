"""One module for each kind of file; a top-level ``READER`` makes it found by itself."""
