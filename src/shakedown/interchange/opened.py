"""Opens whatever holds a result: a campaign's folder, a result file, files of load generators."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from shakedown import __version__
from shakedown.campaign.results import RESULT_NAME, load_result
from shakedown.domain.errors import UserError
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import SCHEMA, CampaignInfo, CampaignResult, CandidateResult, DecisionRule
from shakedown.domain.words import Objective, Verdict
from shakedown.interchange.base import Document, Measured
from shakedown.interchange.registry import known_readers, reader_of

MARGIN = 0.02
CONFIDENCE = 0.95
"""How load generators' figures are compared unless the user says otherwise: a campaign's defaults."""

_STORE = "shakedown.sqlite"
_SWEEP = re.compile(r"(?:SERVE-(.*?))?(?:-?BENCH-.*)?")


def open_result(path: Path) -> CampaignResult:
    """Return the result that ``path`` holds.

    A campaign's folder (finished: its ``result.json``; running or broken off: judged from its store), a
    ``result.json``, a file of a load generator, or a folder of such files: then each file is one launch, and files
    under different labels are different candidates.

    Raises:
        UserError: there is none, or it cannot be understood.
        StoreError: the campaign's store cannot be read.
    """
    if path.is_file():
        return _from_file(path)
    if not path.is_dir():
        raise UserError(
            f"{path}: no such file or folder; give one that `shakedown run --out` or `bench --out` wrote, or a result "
            "file of another load generator"
        )
    file = path / RESULT_NAME
    if not file.is_file() and not (path / _STORE).exists() and (files := _result_files(path)):
        return _measured(path, files)
    if file.is_file():
        result = _from_file(file)
        if result.campaign.complete:
            # The folder may have been copied or moved since.
            here = result.campaign.model_copy(update={"folder": str(path)})
            return result.model_copy(update={"campaign": here})
    return load_result(path)


def _from_file(file: Path) -> CampaignResult:
    documents = _documents(file)
    first = documents[0]
    if first.get("schema") != SCHEMA or "campaign" not in first:
        return _measured(file, [file])
    try:
        return CampaignResult.model_validate(first)
    except ValidationError as error:
        wrong = error.errors()[0]
        place = ".".join(str(part) for part in wrong["loc"]) or "document"
        raise UserError(f"{file}: no result of schema {SCHEMA}: {place}: {wrong['msg']}") from error


def _documents(file: Path) -> list[Document]:
    """The JSON object of a file, those of its list, or those of its lines."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
    try:
        found = json.loads(text)
    except ValueError as error:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise UserError(f"{file}: no result: neither JSON nor lines of JSON: {error}") from error
    documents = found if isinstance(found, list) else [found]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise UserError(f"{file}: no result: expected a JSON object, a list of them, or one on each line")
    return documents


def _result_files(folder: Path) -> list[Path]:
    """Files of load generators in the folder or one below, in the order of their names."""
    candidates = sorted([*folder.glob("*.json*"), *folder.glob("*/*.json*")])
    return [
        file
        for file in candidates
        if file.suffix in {".json", ".jsonl"} and not _repeats_runs(file) and _is_measured(file)
    ]


def _repeats_runs(file: Path) -> bool:
    """Whether it is the summary that ``vllm bench sweep`` writes beside the runs it is made of."""
    return file.name == "summary.json" and any(file.parent.glob("run=*.json"))


def _sweep_label(file: Path) -> str | None:
    """The server's parameters in the name of a sweep's folder, ``SERVE-<these>-BENCH-<those>``; None elsewhere."""
    found = _SWEEP.fullmatch(file.parent.name)
    return None if found is None or not file.name.startswith("run=") else (found[1] or "").strip("-")


def _is_measured(file: Path) -> bool:
    try:
        return reader_of(_documents(file)[0]) is not None
    except UserError:
        return False


def _measured(path: Path, files: Sequence[Path]) -> CampaignResult:
    """Put files of load generators together: labels are candidates, files are launches."""
    tools: dict[str, None] = {}
    launches: dict[str, list[list[PointSummary]]] = {}
    servers: dict[str, Measured] = {}
    for launch in _launches(files):
        by_label: dict[str, list[PointSummary]] = {}
        for file in launch:
            for tool, measured in _read(file):
                tools[tool] = None
                parameters = _sweep_label(file)
                label = measured.label if parameters is None else parameters
                servers.setdefault(label, measured)
                by_label.setdefault(label, []).extend(measured.points)
        for label, points in by_label.items():
            launches.setdefault(label, []).append(_numbered(points))
    first = next(iter(servers.values()))
    repeats = max((point.repeat + 1 for one in launches.values() for launch in one for point in launch), default=1)
    tool = " and ".join(tools)
    name = path.absolute().parent.name if path.name == RESULT_NAME else path.stem
    return CampaignResult(
        campaign=CampaignInfo(
            name=name,
            folder=str(path),
            shakedown_version=__version__,
            complete=True,
            measured_by=tool,
            decision=DecisionRule(
                objective=Objective.OUTPUT_TOKENS_PER_S,
                margin=MARGIN,
                confidence=CONFIDENCE,
                launches=max(len(one) for one in launches.values()),
                repeats=repeats,
                launch_variance_measured=any(len(one) > 1 for one in launches.values()),
            ),
        ),
        machine={},
        model={"name": first.model} if first.model else {},
        engine=_engine(first),
        candidates=tuple(
            CandidateResult(
                id=label or name,
                label=label or name,
                args={},
                env={},
                verdict=Verdict.QUALIFIED,
                reason=f"measured by {tool}; no gate was run",
                effective=dict(servers[label].effective),
                launches=len(one),
                points=tuple(point for launch in one for point in launch),
            )
            for label, one in launches.items()
        ),
    )


def _launches(files: Sequence[Path]) -> list[list[Path]]:
    """Files by launch of a server: each its own, but a sweep starts one server for all runs of its parameters."""
    found: dict[str, list[Path]] = {}
    for file in files:
        parameters = _sweep_label(file)
        found.setdefault(str(file) if parameters is None else f"sweep {parameters}", []).append(file)
    return list(found.values())


def _engine(server: Measured) -> dict[str, object]:
    known = {"kind": server.engine, "version": server.effective.get("engine_version")}
    return {name: value for name, value in known.items() if value is not None}


def _read(file: Path) -> Iterator[tuple[str, Measured]]:
    for document in _documents(file):
        reader = reader_of(document)
        if reader is None:
            tools = ", ".join(dict.fromkeys(reader.tool for reader in known_readers().values()))
            raise UserError(
                f"{file}: no result that Shakedown knows: neither a campaign's of schema {SCHEMA} nor one of {tools}"
            )
        try:
            yield reader.tool, reader.read(document)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{file}: looks like a result of {reader.tool}, but cannot be read: {error!r}") from error


def _numbered(points: Sequence[PointSummary]) -> list[PointSummary]:
    """Number the repeats of each level in the order they come."""
    counts: dict[tuple[str, int | None, float | None], int] = {}
    numbered = []
    for point in points:
        place = (point.workload, point.concurrency, point.request_rate)
        counts[place] = counts.get(place, -1) + 1
        numbered.append(point.model_copy(update={"repeat": counts[place]}))
    return numbered
