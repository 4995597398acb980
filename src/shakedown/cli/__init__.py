"""Commands: parse arguments, wire the rooms together, choose the exit code. No logic lives here."""
