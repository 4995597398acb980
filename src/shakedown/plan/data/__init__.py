"""Tables with their sources: chips, and what all-reduces cost."""
