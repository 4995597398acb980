"""What a campaign may rely on, wherever its trials run: events in order, files with them, no process left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from tests.fakes.ray_cluster import ray_cluster
from tests.fakes.slurm_cluster import slurm_cluster
from tests.fakes.ssh_hosts import REPOSITORY, loopback_host

from shakedown.campaign.places.base import Place
from shakedown.campaign.places.registry import open_place, openers
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import (
    Event,
    LaunchStarted,
    PointFinished,
    PointStarted,
    ServerReady,
    TrialFinished,
    TrialStarted,
)
from shakedown.domain.spec import PlaceSection
from shakedown.domain.trial import Gates, TrialRequest
from shakedown.domain.words import EngineKind, OnDisconnect, PlaceKind, Verdict
from shakedown.domain.workload import LoadLevel, PointPlan, Workload

SECRET = "sk-not-for-anybodys-eyes"


@dataclass
class Opened:
    """A place and the host that a test uses."""

    place: Place
    host: str


@contextlib.contextmanager
def local(folder: Path, on_disconnect: OnDisconnect) -> Iterator[Opened]:
    with contextlib.closing(open_place(PlaceSection(), print)) as place:
        yield Opened(place, place.hosts[0])


@contextlib.contextmanager
def ssh(folder: Path, on_disconnect: OnDisconnect) -> Iterator[Opened]:
    with loopback_host(folder / "ssh") as network:
        section = PlaceSection(
            kind=PlaceKind.SSH,
            hosts=("near",),
            ssh_config=str(network.config),
            shakedown=sys.executable,
            on_disconnect=on_disconnect,
        )
        with contextlib.closing(open_place(section, print)) as place:
            yield Opened(place, "near")


@contextlib.contextmanager
def slurm(folder: Path, on_disconnect: OnDisconnect) -> Iterator[Opened]:
    with slurm_cluster(folder / "slurm", "sn1"):
        section = PlaceSection(
            kind=PlaceKind.SLURM,
            partition="gpu",
            time_limit=600,
            on_disconnect=on_disconnect,
            folder=str(folder / "shared"),
        )
        with contextlib.closing(open_place(section, print)) as place:
            assert place.hosts == ("sn1",)
            yield Opened(place, "sn1")


@contextlib.contextmanager
def ray(folder: Path, on_disconnect: OnDisconnect) -> Iterator[Opened]:
    with ray_cluster(1, "r1") as (address, _):
        section = PlaceSection(kind=PlaceKind.RAY, address=address, gpus=1, on_disconnect=on_disconnect)
        with contextlib.closing(open_place(section, print)) as place:
            assert place.hosts == ("r1",)
            yield Opened(place, "r1")


PLACES = {PlaceKind.RAY: ray, PlaceKind.LOCAL: local, PlaceKind.SSH: ssh, PlaceKind.SLURM: slurm}
QUICK = (PlaceKind.LOCAL, PlaceKind.SSH)
EVERY = [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in PLACES]
AFAR = [kind for kind in PLACES if kind is not PlaceKind.LOCAL]


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]))
    with PLACES[request.param](tmp_path, OnDisconnect.CONTINUE) as place:
        yield place


def trial(folder: Path, *, requests: int = 2, args: dict[str, object] | None = None) -> TrialRequest:
    """A trial of the toy engine; its prompts come out of a file of this machine."""
    folder.mkdir(parents=True)
    prompts = folder.parent / "prompts.jsonl"
    prompts.write_text("".join(f'{{"prompt": "one two three {number}"}}\n' for number in range(requests)))
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP, command=(sys.executable, "-m", ENGINE)),
        model=ModelRef(path="/m.gguf", name="toy"),
        args={"threads": 1, **(args or {})},
        env={"HF_TOKEN": SECRET},
    )
    workload = Workload(
        name="w",
        prompts=(f"jsonl:{prompts}",),
        input_tokens=8,
        output_tokens=64 if requests > 100 else 8,
        concurrency=(1,),
    )
    plan = PointPlan(workload=workload, level=LoadLevel(concurrency=1), requests=requests)
    reference = folder.parent / "reference" / "reference.json"
    gates = Gates(write_reference=True, reference_file=str(reference))
    return TrialRequest(candidate=candidate, folder=str(folder), gates=gates, points=(plan,))


ENGINE = "tests.fakes.engine_process"


def processes_of(folder: Path) -> list[psutil.Process]:
    """What runs because of the trial in ``folder``, here or in its spool: trial, keeper, relay, guardian, engine."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            words = [*process.cmdline(), process.environ().get("SHAKEDOWN_TRIAL", "")]
            if process.pid != os.getpid() and any(folder.name in word for word in words):
                found.append(process)
    return found


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("kind", PlaceKind)
def test_every_kind_of_place_is_a_file_found_by_itself(kind: PlaceKind) -> None:
    assert kind in openers()
    assert kind in PLACES


@pytest.mark.parametrize("opened", EVERY, indirect=True)
def test_a_trial_tells_its_events_and_brings_its_files(opened: Opened, tmp_path: Path) -> None:
    request = trial(tmp_path / "0001-trial")
    running = opened.place.start(request, host=opened.host)
    seen: list[Event] = []
    for event in running.events():
        seen.append(event)
        if isinstance(event, LaunchStarted):
            assert event.log_file == str(tmp_path / "0001-trial" / "server.log")
        if isinstance(event, PointFinished):
            assert event.records_file is not None
            assert (tmp_path / "0001-trial" / event.records_file).stat().st_size > 0
    assert isinstance(seen[0], TrialStarted)
    assert isinstance(seen[-1], TrialFinished)
    assert seen[-1].verdict is Verdict.QUALIFIED
    assert any(isinstance(event, ServerReady) for event in seen)
    assert running.ending() is None
    assert running.lost() is None
    assert "listening on" in (tmp_path / "0001-trial" / "server.log").read_text()
    assert (tmp_path / "reference" / "reference.json").stat().st_size > 0
    wait_for(lambda: not processes_of(tmp_path / "0001-trial"))


@pytest.mark.slow
@pytest.mark.parametrize("opened", PLACES, indirect=True)
def test_an_interrupted_trial_ends_without_a_verdict_and_leaves_nothing(opened: Opened, tmp_path: Path) -> None:
    running = opened.place.start(trial(tmp_path / "0002-trial", requests=200), host=opened.host)
    seen: list[Event] = []
    for event in running.events():
        seen.append(event)
        if isinstance(event, PointStarted):
            assert processes_of(tmp_path / "0002-trial")
            running.interrupt()
    assert not any(isinstance(event, TrialFinished) for event in seen)
    assert running.lost() is None
    wait_for(lambda: not processes_of(tmp_path / "0002-trial"))


@pytest.mark.slow
@pytest.mark.parametrize("opened", PLACES, indirect=True)
def test_a_trial_process_that_is_killed_says_how(opened: Opened, tmp_path: Path) -> None:
    running = opened.place.start(trial(tmp_path / "0003-trial", requests=200), host=opened.host)
    seen: list[Event] = []
    for event in running.events():
        seen.append(event)
        if isinstance(event, TrialStarted):
            os.kill(event.pid, signal.SIGKILL)
    assert not any(isinstance(event, TrialFinished) for event in seen)
    assert running.lost() is None
    assert "killed by signal 9" in (running.ending() or "")
    wait_for(lambda: not processes_of(tmp_path / "0003-trial"))


@pytest.mark.slow
@pytest.mark.parametrize("opened", PLACES, indirect=True)
def test_no_secret_is_seen_in_command_lines_events_or_files(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "0004-trial"
    running = opened.place.start(trial(folder), host=opened.host)
    told = []
    for event in running.events():
        told.append(event.model_dump_json())
        if isinstance(event, TrialStarted):
            lines = [" ".join(process.cmdline()) for process in psutil.process_iter() if "shakedown" in process.name()]
            assert not any(SECRET in line for line in lines)
    written = [path for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert written == []
    assert SECRET not in "".join(told)


def test_nothing_is_known_of_a_trial_that_went_nowhere(tmp_path: Path) -> None:
    with contextlib.closing(open_place(PlaceSection(), print)) as place:
        assert place.attach(tmp_path, after=0) is None


@pytest.mark.slow
@pytest.mark.parametrize("opened", AFAR, indirect=True)
def test_who_attaches_hears_what_came_meanwhile_and_nothing_twice(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "0005-trial"
    running = opened.place.start(trial(folder, requests=20), host=opened.host)
    first = []
    for event in running.events():
        if event.type != "point_progress":
            first.append(event)
        if isinstance(event, ServerReady):
            assert running.leave()
    assert not any(isinstance(event, TrialFinished) for event in first)
    again = opened.place.attach(folder, after=len(first))
    assert again is not None
    second = [event for event in again.events() if event.type != "point_progress"]
    assert isinstance(second[-1], TrialFinished)
    told = [event.model_dump_json() for event in [*first, *second]]
    assert len(told) == len(set(told))
    assert [event.type for event in second].count("point_finished") == 1
    assert again.lost() is None
    wait_for(lambda: not processes_of(folder))


@pytest.mark.slow
@pytest.mark.parametrize("opened", AFAR, indirect=True)
def test_a_broken_line_is_taken_up_again(opened: Opened, tmp_path: Path) -> None:
    """The relay is killed in the middle of load; the trial goes on, and every event arrives once."""
    folder = tmp_path / "0006-trial"
    running = opened.place.start(trial(folder, requests=60), host=opened.host)
    seen = []
    for event in running.events():
        if event.type != "point_progress":
            seen.append(event)
        if isinstance(event, PointStarted):
            threading.Thread(target=kill_relays, args=(folder,)).start()
    assert isinstance(seen[-1], TrialFinished)
    told = [event.model_dump_json() for event in seen]
    assert len(told) == len(set(told))
    assert running.lost() is None


def kill_relays(folder: Path) -> None:
    for process in processes_of(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            if any(word.endswith(".relay") for word in process.cmdline()):
                process.kill()
