"""The ratio of TTFT's 99th percentile with its interval, where the request records of both sides are at hand.

A percentile over all requests cannot be had from the percentiles of repeats, so it needs the records: those that a
campaign keeps in its folder, and those of ``bench --out``. It is told beside the verdicts and decides none of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shakedown.domain.comparison import ComparisonResult, LevelChange
from shakedown.domain.errors import StoreError
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.judge.pairing import pairs
from shakedown.load.records import iterate_parquet, records_name
from shakedown.stats.bootstrap import bootstrap_ratio
from shakedown.stats.times import ttft_s

_TRIALS = "trials"


def with_ttft_p99(
    compared: ComparisonResult, a: CampaignResult, b: CampaignResult, candidate: str | None
) -> ComparisonResult:
    """Fill in the ratios of TTFT's p99, level by level; what lacks records stays as it is."""
    sides = {label: (before, after) for label, before, after in pairs(a, b, candidate)}
    levels = [
        level
        if level.workload is None
        else _filled(level, (a, b), sides[level.candidate], compared.decision.confidence)
        for level in compared.levels
    ]
    return compared.model_copy(update={"levels": tuple(levels)})


def _filled(
    level: LevelChange,
    results: tuple[CampaignResult, CampaignResult],
    sides: tuple[CandidateResult, CandidateResult],
    confidence: float,
) -> LevelChange:
    before, after = (_launches(result, one, level) for result, one in zip(results, sides, strict=True))
    if not before or not after:
        return level
    found = bootstrap_ratio(after, before, _p99, confidence=confidence)
    return level.model_copy(update={"ttft_p99_ratio": found.ratio, "ttft_p99_interval": found.interval})


def _launches(result: CampaignResult, candidate: CandidateResult, level: LevelChange) -> list[list[list[float]]]:
    """TTFTs of a level: launches of repeats of requests, seconds."""
    launches = [_repeats(folder, level) for folder in _folders(result, candidate)]
    return [launch for launch in launches if launch]


def _folders(result: CampaignResult, candidate: CandidateResult) -> list[Path]:
    """Where each launch kept its records."""
    home = Path(result.campaign.folder)
    if result.campaign.measured_by is not None:
        folder = home if home.is_dir() else home.parent
        return [folder, *sorted(inner for inner in folder.iterdir() if inner.is_dir() and home.is_dir())]
    return [home / _TRIALS / trial.id for trial in result.trials if trial.candidate == candidate.id]


def _repeats(folder: Path, level: LevelChange) -> list[list[float]]:
    assert level.workload is not None
    found: list[list[float]] = []
    while True:
        file = folder / records_name(level.workload, level.concurrency, level.request_rate, len(found))
        values = _ttfts(file) if file.is_file() else []
        if not values:
            return found
        found.append(values)


def _ttfts(file: Path) -> list[float]:
    """TTFTs of the requests that succeeded; none where the file is damaged, for nothing depends on it."""
    try:
        return [value for record in iterate_parquet(file) if record.ok and (value := ttft_s(record)) is not None]
    except StoreError:
        return []


def _p99(values: NDArray[np.float64]) -> float:
    return float(np.percentile(values, 99))
