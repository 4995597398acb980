"""The far side of a place, and how the two sides speak. Standard library only, so that it starts in milliseconds."""
