"""Statistics, failures and gates to verdicts with reasons."""
