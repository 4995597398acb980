"""Shakedown finds the launch configuration of a language-model server that is correct, fast and able to start."""

__version__ = "0.1.0"
