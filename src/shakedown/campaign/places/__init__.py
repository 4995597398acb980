"""Where trials run: each place is one file and only a way to start ``shakedown trial``."""
