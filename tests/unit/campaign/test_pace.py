"""What a budget still pays for, told from launches of known length."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.fakes.scripted_place import measured

from shakedown.campaign.pace import Pace
from shakedown.campaign.requests import trial_request
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import PointStarted
from shakedown.domain.record import CandidateRecord
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.words import EngineKind
from shakedown.store.campaign_store import CampaignStore

TEXT = """
[campaign]
name = "c"
budget = "{budget}"
[model]
path = "/m.gguf"
[engine]
kind = "llama.cpp"
[[workload]]
name = "w"
concurrency = 1
[decide]
launches = 1
repeats = 2
"""


def launches_left(folder: Path, budget: str, launches: list[tuple[float, float]], clock: list[float]) -> int | None:
    """Of a campaign with these launches behind it: seconds in all, and seconds of both rounds of load."""
    spec = parse_campaign(TEXT.format(budget=budget), "c.toml")
    candidate = Candidate(engine=EngineRef(kind=EngineKind.LLAMA_CPP), model=ModelRef(path="/m.gguf", name="m"))
    record = CandidateRecord(candidate=candidate)
    with CampaignStore.create_or_open(folder, name="c", campaign_text=TEXT, spec=spec.model_dump(mode="json")) as store:
        store.put_candidate(record)
        for whole_s, load_s in launches:
            trial, begun = store.begin_trial(candidate.id), clock[0]
            request = trial_request(spec, record, folder=folder, trial_folder=folder / trial)
            events = measured(request, lambda candidate, plan: 100.0)
            store.append(
                trial, PointStarted(at=begun, workload="w", concurrency=1, request_rate=None, repeat=0, requests=8)
            )
            for event in events[:-1]:
                store.append(trial, event.model_copy(update={"at": begun + load_s}))
            clock[0] = begun + whole_s
            store.append(trial, events[-1])
        return Pace(spec).launches_left(store)


@pytest.mark.parametrize(
    ("budget", "launches", "left"),
    [
        ("1000s", [], None),
        ("40s", [(60.0, 30.0)], 0),
        ("50s", [(60.0, 30.0)], 1),  # one round of load ends after 45 s
        ("100s", [(60.0, 30.0)], 1),
        ("110s", [(60.0, 30.0)], 2),
        ("110s", [(240.0, 30.0), (60.0, 30.0)], 2),  # the first compiled kernels
    ],
)
def test_the_last_launch_need_only_come_to_the_end_of_a_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, launches: list[tuple[float, float]], left: int | None
) -> None:
    clock = [1e9]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    assert launches_left(tmp_path / "r", budget, launches, clock) == left
