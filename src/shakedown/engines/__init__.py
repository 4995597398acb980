"""One pure file an engine: candidate to argv, environment, health, counters, effective settings."""
