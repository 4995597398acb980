"""What the report says in words: the verdict, how sure it is, why each candidate lost. Shared by every format."""

from __future__ import annotations

from collections import Counter

from shakedown.domain.result import CampaignResult, CandidateResult, DecisionRule
from shakedown.domain.units import change, duration, ratio
from shakedown.domain.words import Objective, Standing, Verdict

OBJECTIVES = {
    Objective.OUTPUT_TOKENS_PER_S: "output tokens per second",
    Objective.PER_REQUEST_TOKENS_PER_S: "tokens per second of one request",
    Objective.GOODPUT: "requests per second that meet every limit",
    Objective.TTFT: "time to first token",
}

VERDICTS = {
    Verdict.PRUNED: "known beforehand not to work",
    Verdict.FAILED: "did not start",
    Verdict.CRASHED: "died while serving",
    Verdict.HUNG: "stopped making progress",
    Verdict.GARBAGE: "answered garbage",
    Verdict.INACCURATE: "lost too much accuracy",
    Verdict.QUALIFIED: "qualified",
    Verdict.NOT_RUN: "not run",
}

STANDINGS = {
    Standing.BEST: "the best",
    Standing.EQUIVALENT: "equal to the best within the margin",
    Standing.SLOWER: "slower than the best",
    Standing.INCONCLUSIVE: "not told apart from the best",
}


def verdict(result: CampaignResult) -> tuple[str, str]:
    """The verdict in two sentences: what won and by how much; what became of the others."""
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    if winner is None:
        return (_no_winner(result), _others(result, None))
    return (f"{winner.label} {_gain(result, winner)}.", _others(result, winner))


def _no_winner(result: CampaignResult) -> str:
    if result.campaign.measured_by is not None:
        return f"Measured by {result.campaign.measured_by}; nothing was checked or decided."
    if not result.campaign.complete:
        judged = sum(candidate.verdict is not Verdict.NOT_RUN for candidate in result.candidates)
        return f"No verdict yet: {judged} of {len(result.candidates)} candidates have been judged."
    return "No candidate qualified."


def _gain(result: CampaignResult, winner: CandidateResult) -> str:
    reference = next((c for c in result.candidates if c.id == result.campaign.reference), None)
    claim = "is the best choice" if result.campaign.complete else "is the best choice of what has been measured so far"
    if reference is None or winner.objective is None:
        return claim
    if winner.id == reference.id:
        return f"{claim}: nothing beat the reference by more than the margin"
    gain = f"{claim}: {change(winner.objective)} than {reference.label}"
    if winner.objective_interval is None:
        return f"{gain}, measured once and so not proven"
    if winner.objective_interval[0] <= 1 < winner.objective:
        gain += ", which is not proven"
    return f"{gain} ({ratio(winner.objective, winner.objective_interval)})"


def _others(result: CampaignResult, winner: CandidateResult | None) -> str:
    counts: Counter[str] = Counter()
    for candidate in result.candidates:
        if winner is not None and candidate.id == winner.id:
            continue
        standing = candidate.standing
        counts[STANDINGS[standing.status] if standing else VERDICTS[candidate.verdict]] += 1
    if not counts:
        return "There was no other candidate."
    order = [*STANDINGS.values(), *VERDICTS.values()]
    parts = [f"{counts[words]} {words}" for words in order if counts[words]]
    start = f"Of the {counts.total()} others" if winner is not None else f"Of {plural(counts.total(), 'candidate')}"
    return f"{start}: {', '.join(parts)}."


def objective(result: CampaignResult) -> str:
    """The objective in words."""
    return _objective_words(result.campaign.decision)


def _objective_words(decision: DecisionRule) -> str:
    try:
        return OBJECTIVES[Objective(decision.objective)]
    except ValueError:  # a result of a newer version; its own word is better than none
        return decision.objective


def decision(result: CampaignResult) -> str:
    """The decision rule in one line."""
    rule = result.campaign.decision
    launches = "measured" if rule.launch_variance_measured else "not measured"
    return (
        f"Decided on {objective(result)}, as the geometric mean of ratios to the reference; equal within "
        f"{percent(rule.margin)}, confidence {percent(rule.confidence)}, {plural(rule.launches, 'launch', 'launches')} "
        f"and {plural(rule.repeats, 'repeat')} per load level; variance between launches {launches}."
    )


def assumptions(result: CampaignResult) -> list[str]:
    """What the verdict rests on, a sentence each."""
    said = [decision(result)] if result.campaign.measured_by is None else []
    said.append(_client(result))
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    if winner is not None and not winner.lossy:
        said.append("No setting of the winner is known to change the model's output distribution.")
    if result.campaign.overhead_share is not None:
        said.append(f"Shakedown's own share of the wall time was {percent(result.campaign.overhead_share)}.")
    if not result.campaign.complete:
        said.append("The campaign is not complete: run it again into the same folder and it resumes.")
    return said


def _client(result: CampaignResult) -> str:
    limited = [c.label for c in result.candidates if any(point.client.limited for point in c.points)]
    if limited:
        return f"The load generator shaped some points of {', '.join(limited)}: read those as lower bounds."
    if any(point.client.limited is None for candidate in result.candidates for point in candidate.points):
        return "Whether the load generator was the limit is not known: it gives no proof of itself."
    return "The load generator was not the limit at any point: it sent on time and its event loop did not lag."


def why(candidate: CandidateResult, result: CampaignResult) -> str:
    """Why this candidate is where it is, one sentence: for a loser, why it lost."""
    if candidate.standing is None:
        return f"{VERDICTS[candidate.verdict]}: {candidate.reason}" if candidate.reason else VERDICTS[candidate.verdict]
    if candidate.standing.status is Standing.BEST:
        return "the best"
    margin = percent(result.campaign.decision.margin)
    against = ratio(candidate.standing.ratio, candidate.standing.interval)
    if candidate.standing.status is Standing.SLOWER:
        return f"{change(candidate.standing.ratio)} than the best: {against}"
    if candidate.standing.status is Standing.EQUIVALENT:
        return f"equal to the best within {margin}: {against}"
    if candidate.standing.interval is None:
        return f"not told apart from the best: nothing was repeated, so there is no interval round {against}"
    return f"the interval does not say whether it is within {margin} of the best: {against}{_behind(candidate, result)}"


def _behind(candidate: CandidateResult, result: CampaignResult) -> str:
    """Why it is not the winner though it may be as fast, where it is lossier than the winner."""
    best = next(one for one in result.candidates if one.standing and one.standing.status is Standing.BEST)
    if len(candidate.lossy) <= len(best.lossy):
        return ""
    return "; it changes the model's output, and stands behind what does so less until shown to be faster"


def wall_time(result: CampaignResult) -> str:
    """How long the campaign took, if it is known."""
    info = result.campaign
    if info.started_at is None or info.finished_at is None:
        return duration(None)
    return duration(info.finished_at - info.started_at)


def percent(share: float) -> str:
    """Write a share as a percentage, number and sign kept on one line."""
    return f"{share * 100:.3g}\u00a0%"


def plural(count: int, singular: str, many: str | None = None) -> str:
    """Write a count with its noun."""
    return f"{count} {singular if count == 1 else many or singular + 's'}"
