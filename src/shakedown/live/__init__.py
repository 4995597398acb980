"""The terminal while a campaign runs: renders events."""
