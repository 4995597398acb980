"""The campaign as plain lines, for a log file or a pipe: one a step that means something, none for progress."""

from __future__ import annotations

from collections import Counter

from shakedown.domain.events import CheckFinished, Event, LaunchStarted, PointFinished, PointStarted, ServerReady
from shakedown.domain.metric import PointSummary
from shakedown.domain.progress import (
    CampaignEnded,
    CampaignStarted,
    CampaignUpdate,
    CandidateAdded,
    CandidateJudged,
    TimeLeft,
    TrialBegan,
    TrialEvent,
)
from shakedown.domain.units import duration, latency, printable, tokens_per_second
from shakedown.domain.words import CheckVerdict
from shakedown.live.state import CampaignState, RunningTrial, load_words


def line(update: CampaignUpdate, state: CampaignState) -> str | None:
    """Say ``update`` in one line, or None where it needs none; ``state`` already holds it."""
    said = _say(update, state)
    return None if said is None else printable(said).replace("\n", " ")


def _say(update: CampaignUpdate, state: CampaignState) -> str | None:
    said: str | None = None
    match update:
        case CampaignStarted():
            said = _started(update)
        case CandidateAdded():
            origin = f" from {update.derived_from}" if update.derived_from else ""
            change = f": {update.remedy}" if update.remedy else ""
            said = f"new candidate {update.label}{origin}{change}"
        case TrialBegan():
            on = f" on {update.host}" if update.host is not None else ""
            said = f"[{update.index}/{update.of}] {update.label}: launching{on}"
        case TrialEvent():
            said = _event(update.event, state.trial(update.trial_id))
        case CandidateJudged():
            said = f"{update.label}: {update.verdict.value.replace('_', ' ')}: {update.reason}"
        case CampaignEnded():
            said = _ended(update, state)
        case TimeLeft():
            pass
    return said


def _started(update: CampaignStarted) -> str:
    parts = [f"{update.candidates} candidates to launch"]
    if update.finished:
        parts.append(f"{update.finished} of them done before")
    if update.pruned:
        parts.append(f"{update.pruned} pruned")
    if update.estimated_s is not None:
        parts.append(f"about {duration(update.estimated_s)}")
    return f"{update.name}: {', '.join(parts)}; results in {update.folder}"


def _ended(update: CampaignEnded, state: CampaignState) -> str:
    name = state.started.name if state.started else "campaign"
    if update.interrupted:
        return f"{name}: interrupted after {state.finished} of {state.candidates} candidates"
    return f"{name}: done, {f'winner {update.winner}' if update.winner else 'no winner'}"


def _event(event: Event, trial: RunningTrial | None) -> str | None:
    said = None if trial is None else _event_words(event, trial)
    return None if trial is None or said is None else f"[{trial.index}/{trial.of}] {trial.label}: {said}"


def _event_words(event: Event, trial: RunningTrial) -> str | None:
    match event:
        case LaunchStarted():
            return f"process {event.pid} on port {event.port}, log {event.log_file}"
        case ServerReady():
            return f"ready after {duration(event.boot_s)}"
        case CheckFinished() if event.check.verdict is CheckVerdict.FAIL:
            return f"{event.check.name} failed: {event.check.summary}"
        case PointStarted() if trial.checks and not trial.points:
            return gates_words(trial)
        case PointFinished():
            return point_words(event.point)
        case _:
            return None


def gates_words(trial: RunningTrial) -> str:
    """How the gates went: counted, for there are many."""
    counts = Counter(check.verdict for check in trial.checks)
    words = {CheckVerdict.PASS: "passed", CheckVerdict.FAIL: "failed", CheckVerdict.SKIPPED: "skipped"}
    told = ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])
    return f"gates: {told}"


def point_words(point: PointSummary) -> str:
    """A measured load point in one line."""
    ttft = latency(point.ttft_s.p50 if point.ttft_s else None)
    tpot = latency(point.tpot_s.p50 if point.tpot_s else None)
    return (
        f"{point.workload} at {load_words(point)}: {tokens_per_second(point.output_tokens_per_s)}, TTFT {ttft}, "
        f"TPOT {tpot}, {point.ok}/{point.requests} ok"
    )
