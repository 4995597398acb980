"""Named schema changes: one SQL file each, applied once, in the order of their names."""
