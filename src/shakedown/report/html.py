"""The report as one page: no file beside it, no request to anywhere, whole without its script.

Everything that came from outside (log lines, labels, commands, versions) is text: the template engine escapes it, and
the content security policy names the hash of the only script and the only style sheet that may act.
"""

from __future__ import annotations

import base64
import hashlib
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from shakedown.domain.result import CampaignResult, CandidateResult, Finding
from shakedown.domain.units import MISSING, change, latency, number, printable, ratio
from shakedown.domain.words import FindingKind, Verdict
from shakedown.report import sentences
from shakedown.report.base import Document, Format
from shakedown.report.page.evidence import POINT_HEADS, Pair, flatten, items
from shakedown.report.page.table import HEADS, first_shown, load_keys, rows
from shakedown.report.pictures.draw import Panel
from shakedown.report.pictures.registry import pictures
from shakedown.report.pictures.theme import template, variables
from shakedown.report.tables import Level, fastest, levels

KEY = (
    ("best", "the best"),
    ("equal", "equal within the margin"),
    ("open", "not told apart"),
    ("slower", "slower"),
    ("inaccurate", "inaccurate"),
    ("failed", "failed"),
    ("pruned", "not launched"),
)


DOUBTS = {
    FindingKind.SUSPICIOUS_NULL,
    FindingKind.UNEXPLAINED_DIFFERENCE,
    FindingKind.NOT_IN_EFFECT,
    FindingKind.SILENT_CAP,
    FindingKind.CLIENT_LIMITED,
    FindingKind.PROMPTS_REPEATED,
    FindingKind.EARLY_STOPS,
    FindingKind.NOISE_TOO_LARGE,
    FindingKind.STALE_PROCESS,
    FindingKind.THERMAL_OR_POWER_LIMITED,
    FindingKind.ACCURACY_DOUBT,
    FindingKind.BEYOND_CEILING,
    FindingKind.RULE_CONTRADICTED,
    FindingKind.BUDGET_EXHAUSTED,
    FindingKind.ERRORS_UNDER_LOAD,
    FindingKind.SAME_CHECK_FAILS,
    FindingKind.WORKLOADS_DISAGREE,
    FindingKind.LAUNCH_VARIANCE_UNKNOWN,
}
"""Findings that a reader must weigh before believing the verdict; the others inform."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure of the strip under the verdict."""

    name: str
    value: str
    note: str
    good: bool = False


@dataclass(frozen=True, slots=True)
class _Figure:
    name: str
    title: str
    caption: str
    panels: list[Panel]


@dataclass(frozen=True, slots=True)
class _Finding:
    kind: str
    doubt: bool
    summary: str
    advice: str
    evidence: list[Pair]
    who: list[Pair]


def render(result: CampaignResult) -> str:
    """Return the page."""
    first, second = sentences.verdict(result)
    keys = load_keys(result)
    shown = first_shown(result, keys)
    style = variables() + template("page.css") + template("picture.css")
    script = template("page.js")
    return _template().render(
        campaign=result.campaign,
        winner=result.winner,
        first=first,
        second=second,
        when=_when(result),
        facts=facts(result),
        assumptions=sentences.assumptions(result),
        findings=[_finding(finding, result) for finding in result.findings],
        heads=HEADS,
        rows=rows(result, keys, shown),
        loads=[f"{workload} at {load}" for workload, load in keys],
        load_shown=shown,
        verdicts=[verdict.value for verdict in Verdict if any(c.verdict is verdict for c in result.candidates)],
        table_note=_table_note(result, keys, shown),
        figures=_figures(result),
        key=KEY,
        evidence=items(result),
        point_heads=POINT_HEADS,
        environment=[("Machine", flatten(result.machine)), ("Model", flatten(result.model)),
                     ("Engine", flatten(result.engine)), ("Workloads", _workloads(result))],
        again=_again(result),
        style=Markup(style),  # noqa: S704 - the package's own file; nothing from outside is in it
        style_hash=_hash(style),
        script=Markup(script),  # noqa: S704 - the package's own file; nothing from outside is in it
        script_hash=_hash(script),
    )  # fmt: skip


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["printable"] = printable
    return environment.from_string(template("page.html.jinja"))


def _hash(content: str) -> str:
    """A source expression of a content security policy (CSP level 3, section 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _when(result: CampaignResult) -> str:
    started = result.campaign.started_at
    return MISSING if started is None else f"{datetime.fromtimestamp(started, UTC):%d %B %Y, %H:%M} UTC"


def facts(result: CampaignResult) -> list[Fact]:
    """The figures a reader wants at a glance."""
    found = []
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    if winner is not None:
        found += _winner_facts(winner, result)
    qualified = sum(candidate.verdict is Verdict.QUALIFIED for candidate in result.candidates)
    launches = sum(candidate.launches for candidate in result.candidates)
    found.append(Fact("Qualified", f"{qualified} of {len(result.candidates)}", "candidates passed every gate"))
    found.append(Fact("Took", sentences.wall_time(result), sentences.plural(launches, "launch", "launches")))
    return found


def _winner_facts(winner: CandidateResult, result: CampaignResult) -> list[Fact]:
    found = []
    if winner.objective is not None and winner.id != result.campaign.reference:
        note = f"than the reference: {ratio(winner.objective, winner.objective_interval)}"
        found.append(Fact("Gain", change(winner.objective), note, good=winner.objective > 1))
    best = fastest(levels(winner.points))
    if best is not None:
        at = f"{best.workload} at {best.load}"
        found.append(Fact("Throughput", f"{number(best.output_tokens_per_s)} tok/s", _spread(best, at)))
        found.append(Fact("First token", latency(best.ttft_p50_s), f"p50, {at}; p99 {latency(best.ttft_p99_s)}"))
    return found


def _spread(level: Level, at: str) -> str:
    if level.spread is None:
        return at
    return f"{at}; {sentences.plural(level.repeats, 'repeat')} {number(level.spread[0])} to {number(level.spread[1])}"


def _finding(finding: Finding, result: CampaignResult) -> _Finding:
    labels = {candidate.id: candidate.label for candidate in result.candidates}
    return _Finding(
        kind=finding.kind.value.replace("_", " ").capitalize(),
        doubt=finding.kind in DOUBTS,
        summary=finding.summary,
        advice=finding.advice,
        evidence=flatten(finding.evidence),
        who=[(id_, labels[id_]) for id_ in finding.candidates if id_ in labels],
    )


def _table_note(result: CampaignResult, keys: list[tuple[str, str]], shown: int) -> str:
    rule = result.campaign.decision
    where = f" Figures at first: {keys[shown][0]} at {keys[shown][1]}." if keys else ""
    return (
        "Ratio: geometric mean over all load levels, against the reference; the shaded band is the margin of "
        f"{sentences.percent(rule.margin)} round 1, the line the {sentences.percent(rule.confidence)} interval. "
        "KL: mean divergence from the reference in nats, as the accuracy gate measured it. "
        f"Under tok/s: lowest and highest repeat.{where}"
    )


def _figures(result: CampaignResult) -> list[_Figure]:
    drawn = ((picture, list(picture.draw(result))) for picture in pictures())
    return [_Figure(picture.name, picture.title, picture.caption, panels) for picture, panels in drawn if panels]


def _workloads(result: CampaignResult) -> list[Pair]:
    pairs: list[Pair] = []
    for workload in result.campaign.workloads:
        rest = {name: value for name, value in workload.items() if name != "name"}
        pairs += flatten(rest, f"{workload.get('name', '')}.")
    return pairs


def _again(result: CampaignResult) -> list[Pair]:
    folder = shlex.quote(result.campaign.folder)
    campaign_file = shlex.quote(f"{result.campaign.folder}/campaign.toml")
    return [
        (f"shakedown run {campaign_file} --out NEW_FOLDER", "The same campaign in a new folder:"),
        (f"shakedown report {folder}", "This report in the terminal:"),
        (f"shakedown export {folder} --format systemd", "The winner as a service:"),
    ]


FORMAT = Format(name="html", suffix=".html", make=lambda result, _: Document.of(render(result)))
