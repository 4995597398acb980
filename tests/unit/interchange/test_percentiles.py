"""The ratio of p99s comes from the requests themselves, wherever both sides kept them."""

from array import array
from pathlib import Path

import pytest
from tests.unit.judge.campaigns import point
from tests.unit.judge.test_compare import candidate, result

from shakedown.domain.request import RequestRecord
from shakedown.domain.result import CampaignResult, TrialResult
from shakedown.interchange.percentiles import with_ttft_p99
from shakedown.judge.compare import CompareOptions, compare
from shakedown.load.records import records_name, write_parquet

LAUNCHES = 3


def campaign(folder: Path, slower: float) -> CampaignResult:
    """Three launches whose TTFTs are 1 ms to 100 ms, times ``slower``; the launch adds a little of its own."""
    trials = []
    for launch in range(LAUNCHES):
        trial = TrialResult(
            id=f"t{launch}", candidate="a-id", started_at=0, finished_at=1, boot_s=1, verdict=None, log_file=None
        )
        trials.append(trial)
        (folder / "trials" / trial.id).mkdir(parents=True)
        records = [
            RequestRecord(index=n, scheduled_ns=0, sent_ns=0, end_ns=10**9,
                          arrivals_ns=array("q", [int((n + 1) * 1e6 * slower * (1 + launch / 100))]))
            for n in range(100)
        ]  # fmt: skip
        write_parquet(records, folder / "trials" / trial.id / records_name("text", 1, None, 0))
    points = tuple(point(tokens_per_s=100 + launch) for launch in range(LAUNCHES))
    made = result(candidate("a", points), trials=tuple(trials))
    return made.model_copy(update={"campaign": made.campaign.model_copy(update={"folder": str(folder)})})


def test_twice_the_ttft_is_twice_the_p99(tmp_path: Path) -> None:
    a, b = campaign(tmp_path / "a", 1), campaign(tmp_path / "b", 2)
    filled = with_ttft_p99(compare(a, b, CompareOptions()), a, b, None)
    whole, level = filled.levels
    assert whole.ttft_p99_ratio is None
    assert level.ttft_p99_ratio == pytest.approx(2)
    assert level.ttft_p99_interval is not None
    assert 1.8 < level.ttft_p99_interval[0] < 2 < level.ttft_p99_interval[1] < 2.2


def test_without_records_nothing_is_said(tmp_path: Path) -> None:
    a, b = campaign(tmp_path / "a", 1), campaign(tmp_path / "b", 2)
    for file in (tmp_path / "b").rglob("*.parquet"):
        file.write_bytes(b"not parquet")
    filled = with_ttft_p99(compare(a, b, CompareOptions()), a, b, None)
    assert all(level.ttft_p99_ratio is None for level in filled.levels)
