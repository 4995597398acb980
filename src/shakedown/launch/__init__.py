"""Supervision of a server process, written once for all engines: process group, readiness, log, telemetry."""
