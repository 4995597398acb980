"""Space of candidates, rules, capacity, communication, strategies."""
