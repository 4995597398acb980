"""``python -m shakedown``."""

from shakedown.cli.main import main

main()
