"""A plan as a page for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from shakedown.domain.facts import FactNote
from shakedown.domain.units import duration, format_bytes
from shakedown.plan.capacity import Capacity
from shakedown.plan.ceiling import Ceiling
from shakedown.plan.outcome import Plan, PrunedCandidate


def plan_text(plan: Plan, notes: Sequence[FactNote] = ()) -> str:
    """Lay out candidates, pruned ones by rule, warnings, capacity, ceiling and the least time.

    Args:
        plan: the plan.
        notes: what was found in the checkpoint and about the engine.
    """
    found = ["What was found\n" + "\n".join(f"  {note.summary}" for note in notes)] if notes else []
    blocks = [
        *found,
        _candidates(plan),
        *_pruned(plan),
        *_warnings(plan),
        *_capacity(plan),
        *_ceiling(plan),
        *_time(plan),
    ]
    if plan.notes:
        blocks.append("Left out\n" + "\n".join(f"  {note}" for note in plan.notes))
    return "\n\n".join(blocks) + "\n"


def _candidates(plan: Plan) -> str:
    lines = [f"{len(plan.candidates)} candidates to run, the reference first"]
    lines += [f"  {candidate.id}  {candidate.label}" for candidate in plan.candidates]
    return "\n".join(lines)


def _pruned(plan: Plan) -> Iterator[str]:
    if not plan.pruned:
        return
    labels = {candidate.id: candidate.label for candidate in plan.candidates}
    labels |= {entry.candidate.id: entry.candidate.label for entry in plan.pruned}
    yield f"{len(plan.pruned)} pruned: they cannot work as they stand"

    def key(entry: PrunedCandidate) -> tuple[str, str]:
        return entry.rule, entry.reason

    for (rule, reason), members in groupby(sorted(plan.pruned, key=key), key=key):
        entries = list(members)
        lines = [f"  {rule}", f"    {reason}"]
        lines += [f"    source: {source}" for source in entries[0].sources]
        for entry in entries:
            instead = f"; instead: {labels.get(entry.completed, entry.completed)}" if entry.completed else ""
            lines.append(f"    {entry.candidate.id}  {entry.candidate.label}{instead}")
        yield "\n".join(lines)


def _warnings(plan: Plan) -> Iterator[str]:
    if not plan.warnings:
        return
    yield "To know before launching"
    for warning in plan.warnings:
        whom = _whom(warning.candidates, len(plan.candidates))
        yield f"  {warning.title} ({whom})\n    {warning.reason}\n    rule: {warning.rule}"


def _whom(candidates: Sequence[str], total: int) -> str:
    if len(candidates) == total:
        return "all candidates"
    return ", ".join(candidates[:4]) + (f" and {len(candidates) - 4} more" if len(candidates) > 4 else "")


def _capacity(plan: Plan) -> Iterator[str]:
    if plan.capacity:
        yield "What fits, on each GPU" if plan.capacity[0].gpus else "What fits"
    for held in plan.capacity:
        yield "\n".join(_held(held, len(plan.candidates)))


def _held(held: Capacity, total: int) -> Iterator[str]:
    yield f"  KV cache {held.kv_dtype} ({_whom(held.candidates, total)})"
    yield f"    {held.kv_bytes_per_token:,} B a token"
    if held.window_bytes_per_request:
        yield f"    {format_bytes(held.window_bytes_per_request)} a request in sliding windows"
    if held.state_bytes_per_request:
        slots = f", {held.state_slots_per_request} slots each" if held.state_slots_per_request > 1 else ""
        yield f"    {held.state_bytes_per_request / 1e6:.1f} MB of recurrent state a request{slots}"
    for line in held.arithmetic:
        yield f"    {line}"
    if held.longest_context is not None:
        yield f"    longest context {held.longest_context:,} tokens"
    if held.requests_at_once is not None:
        yield f"    {held.requests_at_once:,} of the campaign's longest requests at once"
    for assumption in held.assumptions:
        yield f"    assumed: {assumption}"


def _ceiling(plan: Plan) -> Iterator[str]:
    if plan.ceiling:
        yield "The hardware's ceiling: no configuration can be faster; this is no prediction"
    for bound in plan.ceiling:
        yield "\n".join(_bound(bound, len(plan.candidates)))


def _bound(bound: Ceiling, total: int) -> Iterator[str]:
    yield f"  {_whom(bound.candidates, total)}"
    yield f"    {'C':>5} {'tok/s':>9} {'step ms':>8} {'weights':>9} {'cache':>9}  speculation"
    for point in bound.points:
        drafting = ""
        if point.speculation is not None:
            drafting = (
                f"up to {point.speculation.output_tokens_per_s:,.0f} tok/s, pays from "
                f"{point.speculation.break_even_accept_length:.2f} accepted a step"
            )
        weights, cache = format_bytes(point.weights_bytes), format_bytes(point.cache_bytes)
        yield (
            f"    {point.concurrency:>5} {point.output_tokens_per_s:>9,.0f} {point.step_s * 1e3:>8.2f} "
            f"{weights:>9} {cache:>9}  {drafting}"
        ).rstrip()
    if bound.all_reduces is not None:
        reduces = bound.all_reduces
        yield f"    {reduces.count} all-reduces a step of {reduces.bytes_each:,} B at one request, over {reduces.link}:"
        yield from (f"      {seconds * 1e3:.2f} ms a step with {name}" for name, seconds in reduces.costs)
    for assumption in bound.assumptions:
        yield f"    assumed: {assumption}"


def _time(plan: Plan) -> Iterator[str]:
    least = plan.at_least
    if least is None:
        return
    line = f"{least.launches} launches, {least.load_points} load points"
    if least.seconds is not None:
        line += f"; at least {duration(least.seconds)}"
    if least.gpu_hours:
        line += f", {least.gpu_hours:.1f} GPU hours"
    assumptions = least.assumptions if least.seconds is not None else ()
    yield line + "".join(f"\n  assumed: {assumption}" for assumption in assumptions)
