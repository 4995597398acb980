"""Facts about a checkpoint, a machine and an engine installation."""
