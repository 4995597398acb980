"""The report as Markdown, for an issue or a pull request: the verdict, the tables, pictures beside it as PNG."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.units import latency, number, printable, ratio
from shakedown.report import sentences
from shakedown.report.base import Document, Format
from shakedown.report.page.evidence import flatten
from shakedown.report.page.table import verdict_words
from shakedown.report.pictures.registry import pictures
from shakedown.report.pictures.theme import standalone
from shakedown.report.tables import SWEEP_HEADERS, levels, mean_kl, ranked, sweep_rows, workloads

PICTURE_SCALE = 2
"""Pixels per unit: sharp on a dense screen, still below 200 kB a picture."""


def render(result: CampaignResult, picture_paths: Mapping[str, str]) -> str:
    """Return the document; ``picture_paths`` maps a picture's name (``throughput-latency-1``) to where it lies."""
    first, second = sentences.verdict(result)
    parts = [f"# {escape(result.campaign.name)}", f"**{escape(first)}** {escape(second)}"]
    if result.winner is not None:
        parts += ["## Start it", code(result.winner.command, "sh")]
    parts += ["## How sure", bullets(sentences.assumptions(result))]
    if result.findings:
        found = [f"{finding.summary} {finding.advice}".strip() for finding in result.findings]
        parts += ["## Findings", bullets(found)]
    parts += ["## Candidates", _candidates(result)]
    winner = next((c for c in result.candidates if result.winner and c.id == result.winner.id), None)
    if winner is not None and winner.points:
        parts.append(f"## {escape(winner.label)}")
        for workload in workloads(result):
            rows = sweep_rows(point for point in winner.points if point.workload == workload)
            parts += [f"### {escape(workload)}", table(SWEEP_HEADERS, rows)]
    if picture_paths:
        parts += ["## Pictures", *(f"![{escape(name)}]({path})" for name, path in picture_paths.items())]
    parts += _failures(result)
    environment = {"machine": result.machine, "model": result.model, "engine": result.engine}
    parts += ["## Environment", table(("", ""), flatten(environment))]
    parts.append(f"Shakedown {result.campaign.shakedown_version}")
    return "\n\n".join(parts) + "\n"


def _candidates(result: CampaignResult) -> str:
    names = workloads(result)
    headers = ["Candidate", "Verdict", "Ratio to reference", *(f"{name} tok/s, best load" for name in names),
               "TTFT p50 there", "TPOT p50 there", "KL", "Why"]  # fmt: skip
    return table(headers, (_row(candidate, result, names) for candidate in ranked(result)))


def _row(candidate: CandidateResult, result: CampaignResult, names: list[str]) -> list[str]:
    found = levels(candidate.points)
    best = {name: max((level for level in found if level.workload == name and level.output_tokens_per_s),
                      key=lambda level: level.output_tokens_per_s or 0.0, default=None) for name in names}  # fmt: skip
    rates = [
        f"{number(level.output_tokens_per_s)} at {level.load}" if level else number(None) for level in best.values()
    ]
    first = next(iter(best.values()), None)
    return [
        candidate.label or candidate.id,
        verdict_words(candidate).replace("_", " "),
        ratio(candidate.objective, candidate.objective_interval),
        *rates,
        latency(first.ttft_p50_s if first else None),
        latency(first.tpot_p50_s if first else None),
        number(mean_kl(candidate), 2),
        sentences.why(candidate, result),
    ]


def _failures(result: CampaignResult) -> list[str]:
    parts = []
    for candidate in result.candidates:
        failure = candidate.failure
        if failure is None or failure.root_line is None:
            continue
        remedy = f"\n\nRemedy: {escape(failure.remedy.advice)}" if failure.remedy else ""
        parts.append(f"### {escape(candidate.label)}\n\n{code(failure.root_line)}{remedy}")
    return ["## Failures", *parts] if parts else []


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table; cells are escaped and kept on one line."""
    lines = [
        [escape(cell) for cell in headers],
        ["---"] * len(headers),
        *([escape(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bullets(sentences_: list[str]) -> str:
    """A list, a sentence an item."""
    return "\n".join(f"- {escape(sentence)}" for sentence in sentences_)


def code(text: str, language: str = "") -> str:
    """A fenced block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{printable(text)}\n{fence}"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no table cell broken."""
    plain = printable(text).replace("\n", " ").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]|#])", r"\\\1", plain)


def _make(result: CampaignResult, with_pictures: bool) -> Document:  # noqa: FBT001 - the signature of every format
    drawn = _pictures(result) if with_pictures else {}
    return Document.of(render(result, {name.removesuffix(".png"): name for name in drawn}), drawn)


def _pictures(result: CampaignResult) -> dict[str, bytes]:
    # Imported here: the renderer is large, and only this format needs it.
    import vl_convert

    return {
        f"{picture.name}-{index}.png": vl_convert.svg_to_png(standalone(panel), scale=PICTURE_SCALE)
        for picture in pictures()
        for index, panel in enumerate(picture.draw(result), 1)
    }


FORMAT = Format(name="md", suffix=".md", make=_make)
