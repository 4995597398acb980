"""Shakedown's own share of a campaign's time."""

from __future__ import annotations

from shakedown.domain.record import TrialRecord
from shakedown.judge.evidence import CampaignEvidence


def overhead_share(evidence: CampaignEvidence) -> float | None:
    """Wall time that was neither boot, checks, load nor shutdown, as a share of all; None before anything ran.

    Launches with acceptance made up are the engine's time from end to end.
    """
    if not evidence.wall_s:
        return None
    engine_s = sum(_engine_s(trial) for trial in evidence.trials) + sum(run.seconds for run in evidence.forced_runs)
    return max(0.0, 1 - engine_s / evidence.wall_s)


def _engine_s(trial: TrialRecord) -> float:
    checks_s = sum(check.seconds for check in trial.checks)
    shutdown_s = trial.stopped.seconds if trial.stopped else 0.0
    return _boot_s(trial) + checks_s + trial.load_s + shutdown_s


def _boot_s(trial: TrialRecord) -> float:
    if trial.ready is not None:
        return trial.ready.boot_s
    if trial.launch is None or trial.stopped is None:
        return 0.0
    # Never ready: it booted until its end began.
    return max(0.0, trial.stopped.at - trial.stopped.seconds - trial.launch.at)
