"""What a campaign may rely on: nothing finished is lost or changed, nothing half-done counts, one writer at a time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.store.store_material import (
    SPEC,
    TEXT,
    candidate,
    finished,
    phase,
    point_finished,
    progress,
    record,
    started,
)

from shakedown.domain.errors import StoreBusyError, StoreError, UserError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.words import Verdict
from shakedown.store import CampaignReader, CampaignStore


def open_store(folder: Path) -> CampaignStore:
    return CampaignStore.create_or_open(folder, name="c", campaign_text=TEXT, spec=SPEC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CampaignStore]:
    with open_store(tmp_path / "out") as opened:
        opened.put_candidate(record(threads=1))
        yield opened


def whole_trial(store: CampaignStore, points: int = 2) -> str:
    candidate_id = candidate(threads=1).id
    trial_id = store.begin_trial(candidate_id)
    for event in (started(candidate_id), phase(), *(point_finished(i) for i in range(points)), finished()):
        store.append(trial_id, event)
    return trial_id


def test_a_trial_is_read_back_as_it_was_told(store: CampaignStore) -> None:
    trial_id = whole_trial(store)
    trial = store.trial(trial_id)
    assert trial is not None
    assert trial.state == "finished"
    assert trial.started == started(candidate(threads=1).id)
    assert trial.phases == (("weights", 0.5),)
    assert [point.repeat for point in trial.points] == [0, 1]
    assert trial.records_files == ("0.parquet", "1.parquet")
    assert trial.outcome == finished()
    assert store.points(trial_id) == list(trial.points)
    assert store.trial_folder(trial_id).is_dir()


def test_what_was_never_begun_is_none_or_empty(store: CampaignStore) -> None:
    assert store.trial("0099-x") is None
    assert store.points("0099-x") == []
    assert store.candidate("x") is None
    assert store.fact("machine") is None


@given(st.lists(st.sampled_from([phase("a"), phase("b"), point_finished(0), point_finished(1)]), max_size=6))
@settings(max_examples=15, deadline=None)
def test_events_keep_their_order(tmp_path_factory: pytest.TempPathFactory, events: list[Event]) -> None:
    with open_store(tmp_path_factory.mktemp("events")) as store:
        store.put_candidate(record(threads=1))
        trial_id = store.begin_trial(candidate(threads=1).id)
        for event in events:
            store.append(trial_id, event)
        trial = store.trial(trial_id)
    assert trial is not None
    assert list(trial.phases) == [(e.phase, e.elapsed_s) for e in events if e.type == "phase_reached"]
    assert list(trial.points) == [e.point for e in events if e.type == "point_finished"]


def test_progress_is_shown_and_never_stored(store: CampaignStore) -> None:
    trial_id = store.begin_trial(candidate(threads=1).id)
    store.append(trial_id, progress())
    with sqlite3.connect(store.folder / "shakedown.sqlite") as db:
        assert db.execute("SELECT count(*) FROM event").fetchone() == (0,)
    db.close()


def test_a_finished_trial_takes_no_more_events(store: CampaignStore) -> None:
    trial_id = whole_trial(store)
    with pytest.raises(StoreError, match="ended trial"):
        store.append(trial_id, phase())
    with pytest.raises(StoreError, match="ended trial"):
        store.append(trial_id, finished(Verdict.FAILED))
    with pytest.raises(StoreError, match="immutable"):
        store.mark_broken(trial_id)


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE trial SET state = 'running', ended_at = NULL",
        "UPDATE trial SET candidate_id = 'x'",
        "UPDATE event SET payload = '{}'",
        "DELETE FROM event",
        "DELETE FROM trial",
        "INSERT INTO event SELECT trial_id, 99, type, at, payload FROM event LIMIT 1",
        "INSERT INTO trial VALUES (9, '9', (SELECT id FROM candidate), 'finished', 0, 0)",
        "UPDATE candidate SET record = json_set(record, '$.candidate.args.threads', 2)",
    ],
)
def test_the_database_itself_refuses_tampering(store: CampaignStore, tampering: str) -> None:
    whole_trial(store)
    db = sqlite3.connect(store.folder / "shakedown.sqlite")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(tampering)
    db.close()


def test_a_trial_is_finished_by_its_last_event_only(store: CampaignStore) -> None:
    store.begin_trial(candidate(threads=1).id)
    db = sqlite3.connect(store.folder / "shakedown.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="last event"):
        db.execute("UPDATE trial SET state = 'finished', ended_at = 1")
    db.close()


def test_a_trial_needs_its_candidate_and_an_event_its_trial(store: CampaignStore) -> None:
    with pytest.raises(StoreError):
        store.begin_trial("unknown")
    with pytest.raises(StoreError):
        store.append("unknown", phase())
    with pytest.raises(StoreError):
        store.append("unknown", finished())
    assert store.trials() == []


def test_what_is_known_of_a_candidate_may_change_and_the_candidate_may_not(store: CampaignStore) -> None:
    known = record(threads=1).model_copy(update={"verdict": Verdict.FAILED, "reason": "no", "mended_by": "abc"})
    store.put_candidate(known)
    store.put_candidate(record(threads=2))
    assert store.candidates() == [known, record(threads=2)]
    relabelled = known.model_copy(update={"candidate": known.candidate.model_copy(update={"label": "other"})})
    with pytest.raises(StoreError, match="immutable"):
        store.put_candidate(relabelled)


def test_facts_are_kept_by_key(store: CampaignStore) -> None:
    store.put_fact("machine", {"gpus": 8})
    store.put_fact("machine", {"gpus": 4})
    store.put_fact("model", {"name": "m"})
    assert store.fact("machine") == {"gpus": 4}
    assert store.facts() == {"machine": {"gpus": 4}, "model": {"name": "m"}}


def test_a_killed_campaign_resumes_with_what_was_finished(tmp_path: Path) -> None:
    """A process writes one whole trial and half of another, and is killed with SIGKILL in the middle."""
    folder = tmp_path / "out"
    script = f"""
import os, signal, sys
from pathlib import Path
from tests.contract.test_store import open_store, whole_trial
from tests.unit.store.store_material import candidate, point_finished, record, started
store = open_store(Path({str(folder)!r}))
store.put_candidate(record(threads=1))
whole_trial(store)
half = store.begin_trial(candidate(threads=1).id)
store.append(half, started(candidate(threads=1).id))
store.append(half, point_finished())
os.kill(os.getpid(), signal.SIGKILL)
"""
    died = subprocess.run([sys.executable, "-c", script], check=False)
    assert died.returncode == -9
    with CampaignReader.open(folder) as reader:
        assert [trial.state for trial in reader.trials()] == ["finished", "running"]
    with open_store(folder) as store:
        assert [trial.id for trial in store.resume()] == [store.trials()[1].id]
        assert [trial.state for trial in store.trials()] == ["finished", "broken"]
        assert len(store.trials()[0].points) == 2
        assert store.resume() == []
        assert store.begin_trial(candidate(threads=1).id).startswith("0003-")


def test_killed_at_any_moment_every_finished_trial_is_whole(tmp_path: Path) -> None:
    """A process that writes trials as fast as it can is killed three times; what it said was finished stays so."""
    folder = tmp_path / "out"
    script = f"""
from pathlib import Path
from tests.contract.test_store import open_store, whole_trial
from tests.unit.store.store_material import record
store = open_store(Path({str(folder)!r}))
store.put_candidate(record(threads=1))
store.resume()
while True:
    print(whole_trial(store), flush=True)
"""
    told: set[str] = set()
    for lines in (1, 2, 4):
        writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(lines):
            told.add(writer.stdout.readline().strip())
        writer.kill()
        told.update(line.strip() for line in writer.stdout.read().splitlines())
        writer.wait()
        writer.stdout.close()
        with CampaignReader.open(folder) as reader:
            trials = reader.trials()
        finished_ids = {trial.id for trial in trials if trial.state == "finished"}
        assert told <= finished_ids
        assert all(trial.outcome is not None and len(trial.points) == 2 for trial in trials if trial.id in finished_ids)
        assert sum(trial.state == "running" for trial in trials) <= 1


def test_time_of_all_sessions_is_summed(tmp_path: Path) -> None:
    for _ in range(2):
        with open_store(tmp_path) as store:
            store.put_fact("machine", {})
    with CampaignReader.open(tmp_path) as reader:
        assert reader.wall_s() > 0
        both = reader.wall_s()
    with open_store(tmp_path):
        pass
    with CampaignReader.open(tmp_path) as reader:
        assert reader.wall_s() > both


def test_a_second_campaign_is_told_who_holds_the_folder(store: CampaignStore) -> None:
    with pytest.raises(StoreBusyError, match=r"process \d+ on .+ since \d{4}-"):
        open_store(store.folder)


def test_the_folder_is_free_again_after_a_refusal(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    with pytest.raises(UserError):
        CampaignStore.create_or_open(tmp_path, name="c", campaign_text=TEXT, spec={**SPEC, "slo": {"ttft_p99": 2}})
    with open_store(tmp_path) as again:
        assert again.header().name == "c"


def test_another_campaign_is_refused_with_what_differs(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    with pytest.raises(UserError, match=r"'c'; the files differ in slo.*--out"):
        CampaignStore.create_or_open(tmp_path, name="d", campaign_text=TEXT, spec={**SPEC, "slo": {"ttft_p99": 2}})


def test_comments_and_order_make_no_other_campaign(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    reordered = dict(reversed(list(SPEC.items())))
    with CampaignStore.create_or_open(tmp_path, name="c", campaign_text="# hi\n" + TEXT, spec=reordered) as store:
        assert store.header().text == TEXT
        assert (tmp_path / "campaign.toml").read_text() == TEXT


def test_every_kind_of_event_is_stored(store: CampaignStore) -> None:
    trial_id = whole_trial(store)
    db = sqlite3.connect(store.folder / "shakedown.sqlite")
    rows = db.execute("SELECT type, payload FROM event WHERE trial_id = ? ORDER BY number", (trial_id,)).fetchall()
    db.close()
    assert [kind for kind, _ in rows] == [EVENT.validate_json(payload).type for _, payload in rows]


def test_how_long_and_how_surely_to_decide_may_change_and_is_kept(tmp_path: Path) -> None:
    first = {**SPEC, "campaign": {"name": "c", "budget": 60.0}, "decide": {"launches": 1, "repeats": 2}}
    second = {**SPEC, "campaign": {"name": "c", "budget": None}, "decide": {"launches": 2, "repeats": 2}}
    with CampaignStore.create_or_open(tmp_path, name="c", campaign_text=TEXT, spec=first):
        pass
    with CampaignStore.create_or_open(tmp_path, name="c", campaign_text="# longer\n" + TEXT, spec=second) as store:
        assert store.header().spec == second
        assert (tmp_path / "campaign.toml").read_text() == store.header().text == "# longer\n" + TEXT
    other = {**second, "decide": {"launches": 2, "repeats": 3}}
    with pytest.raises(UserError, match=r"the files differ in decide"):
        CampaignStore.create_or_open(tmp_path, name="c", campaign_text=TEXT, spec=other)
