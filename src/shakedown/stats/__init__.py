"""Summaries, steady state, intervals, equivalence, goodput."""
