"""The winner's reasons, for a sceptic."""

from __future__ import annotations

from collections.abc import Mapping

from shakedown.domain.result import Interval, StandingResult
from shakedown.domain.words import Standing, Verdict
from shakedown.judge.view import Judged
from shakedown.judge.wording import OBJECTIVE_WORDS, counted, gain, interval_words, listed


def explain_winner(
    judged: Judged, standings: Mapping[str, StandingResult | None], objective: tuple[float, Interval | None]
) -> str:
    """Say what the winner gains, over what, how sure that is, and what became of the others."""
    sentences = [_gain(judged, objective), *_others(judged, standings), *_caveats(judged)]
    return " ".join(sentences)


def _gain(judged: Judged, objective: tuple[float, Interval | None]) -> str:
    winner, evidence = judged.winner, judged.evidence
    assert winner is not None
    points = counted(len(judged.experiment.arms[winner].points()), "load point")
    what = OBJECTIVE_WORDS[evidence.objective]
    if winner == judged.reference:
        return f"Nothing beat the reference {judged.label(winner)} in {what} over {points}."
    ratio, interval = objective
    return (
        f"{gain(ratio)} {what} over the reference {judged.label(judged.reference or '')} "
        f"({interval_words(interval, evidence.confidence)}; geometric mean over {points})."
    )


def _others(judged: Judged, standings: Mapping[str, StandingResult | None]) -> list[str]:
    margin = f"{100 * judged.evidence.margin:g} %"
    texts = {
        Standing.EQUIVALENT: f"Equal to it within {margin}",
        Standing.SLOWER: "Slower",
        Standing.INCONCLUSIVE: "Not to be told from it with this many measurements",
    }
    sentences = []
    for status, text in texts.items():
        found = [
            f"{judged.label(key)} ({gain(standing.ratio)})"
            for key, standing in standings.items()
            if standing is not None and standing.status is status
        ]
        if found:
            sentences.append(f"{text}: {listed(found)}.")
    lost = [decision for decision in judged.decisions.values() if decision.verdict is not Verdict.QUALIFIED]
    if lost:
        kinds = [verdict for verdict in Verdict if any(decision.verdict is verdict for decision in lost)]
        counts = [f"{sum(d.verdict is kind for d in lost)} {kind.replace('_', ' ')}" for kind in kinds]
        sentences.append(f"Out of the race: {listed(counts, limit=len(counts))}.")
    return sentences


def _caveats(judged: Judged) -> list[str]:
    assert judged.winner is not None
    sentences = []
    lossy = judged.records[judged.winner].lossy
    if lossy:
        sentences.append(f"It is lossy: {'; '.join(text.rstrip('.') for text in lossy)}.")
    if len(judged.experiment.arms) > 1 and not judged.experiment.launch_variance_measured:
        sentences.append("The variance between launches was not measured; intervals contain repeats only.")
    if judged.evidence.reused:
        folders = sorted(set(judged.evidence.reused.values()))
        taken = counted(len(judged.evidence.reused), "launch")
        sentences.append(f"{taken} of {len(judged.evidence.trials)} were taken from {listed(folders)}.")
    if not judged.evidence.complete:
        sentences.append("The campaign is not complete; this is the best so far.")
    return sentences
