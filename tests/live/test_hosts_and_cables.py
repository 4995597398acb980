"""Campaigns over real sshd in network namespaces, whose cables are cut and whose hosts are killed. Needs root.

By hand: ``pytest -m slow tests/live/test_hosts_and_cables.py`` (docs/places.md has the last result).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.fakes.gguf_files import write_gguf
from tests.fakes.ssh_hosts import REPOSITORY, Host, Network, namespaces

from shakedown.campaign.crew import HOSTS
from shakedown.campaign.results import load_result
from shakedown.domain.errors import StoreError
from shakedown.domain.result import CampaignResult
from shakedown.domain.words import FindingKind, Verdict
from shakedown.store import CampaignReader

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

CAMPAIGN = """
[campaign]
name = "afar"
strategy = "grid"
[model]
path = "{model}"
name = "toy"
[engine]
kind = "llama.cpp"
command = ["{python}", "-m", "tests.fakes.engine_process"]
[[vary]]
name = "threads"
arg = "threads"
values = {threads}
[[workload]]
name = "w"
input_tokens = 16
output_tokens = 24
concurrency = [1]
requests = {requests}
warmup_requests = 0
[gates]
level = "quick"
[decide]
launches = 1
repeats = 2
margin = 0.5
"""
NOTICED_S = 30.0
METADATA = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 2,
    "llama.attention.head_count_kv": 2,
    "llama.context_length": 4096,
    "llama.vocab_size": 100,
}
TENSORS = [("token_embd.weight", (64, 100), "f16"), ("output_norm.weight", (64,), "f32")]


class Campaign:
    """A campaign file over some hosts, and what its folder says while it runs."""

    def __init__(self, network: Network, *, requests: int, threads: list[int], place: str | None = None) -> None:
        self.network = network
        self.file = network.folder / "c.toml"
        self.out = network.folder / "out"
        model = network.folder / "toy.gguf"
        write_gguf(model, METADATA, TENSORS)
        text = CAMPAIGN.format(model=model, python=sys.executable, requests=requests, threads=threads)
        self.file.write_text(text + (place if place is not None else network.place(more='reconnect = "25s"')))

    def start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
        with (self.out.parent / "run.log").open("ab") as log:
            run = subprocess.Popen(
                [sys.executable, "-m", "shakedown", "run", str(self.file), "--out", str(self.out)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        self.network.runs.append(run)
        return run

    def finish(self, running: subprocess.Popen[bytes], seconds: float = 300) -> CampaignResult:
        assert running.wait(seconds) == 0, (self.out.parent / "run.log").read_text()[-4000:]
        return load_result(self.out)

    def under_load(self, but: tuple[str, ...] = ()) -> str | None:
        """A host other than ``but`` in whose running trial a load point has begun, after the reference was measured."""
        with contextlib.suppress(sqlite3.OperationalError, StoreError), CampaignReader.open(self.out) as reader:
            where = (reader.fact(HOSTS) or {}).get("trials", {})
            trials = reader.trials()
            for trial in trials:
                begun = reader._rows("SELECT type FROM event WHERE trial_id = ?", trial.id)
                host = where.get(trial.id)
                if trial.state == "running" and ("point_started",) in begun and host not in (None, *but):
                    return str(host)
        return None

    def broken(self) -> int:
        with CampaignReader.open(self.out) as reader:
            return sum(trial.state == "broken" for trial in reader.trials())


def wait_for(what: Callable[[], object], seconds: float) -> float:
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < seconds
        time.sleep(0.1)
    return time.monotonic() - began


def left_on(host: Host) -> list[str]:
    """Processes of a host that are not its sshd."""
    found = []
    for pid in host.pids():
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if not process.name().startswith("sshd"):
                found.append(" ".join(process.cmdline()))
    return found


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    with namespaces(tmp_path / "net", "ada", "bob", "cyd") as opened:
        yield opened


def all_qualified(result: CampaignResult, candidates: int) -> bool:
    return [one.verdict for one in result.candidates] == [Verdict.QUALIFIED] * candidates


def test_three_hosts_at_once_come_to_the_verdicts_of_one(network: Network) -> None:
    campaign = Campaign(network, requests=30, threads=[1, 2, 4, 8])
    pooled = campaign.finish(campaign.start())
    spans = [(trial.started_at, trial.finished_at or 0.0, trial.host) for trial in pooled.trials]
    assert {host for _, _, host in spans} == {"ada", "bob", "cyd"}
    assert any(a[0] < b[1] and b[0] < a[1] and a[2] != b[2] for a in spans for b in spans if a is not b)
    assert all_qualified(pooled, 4)
    for host in network.hosts.values():
        wait_for(lambda host=host: left_on(host) == [], NOTICED_S)
    campaign.out = network.folder / "alone"
    campaign.file.write_text(campaign.file.read_text().partition("[place]")[0])
    alone = campaign.finish(campaign.start())
    assert [(one.label, one.verdict) for one in pooled.candidates] == [
        (one.label, one.verdict) for one in alone.candidates
    ]


def test_a_cable_cut_for_ten_seconds_loses_nothing(network: Network) -> None:
    campaign = Campaign(network, requests=50, threads=[1, 2])
    running = campaign.start()
    wait_for(campaign.under_load, 120)
    host = network.hosts[campaign.under_load() or "ada"]
    host.cut()
    time.sleep(10)
    host.mend()
    result = campaign.finish(running)
    assert all_qualified(result, 2)
    assert campaign.broken() == 0
    assert not [finding for finding in result.findings if finding.kind is FindingKind.HOST_LOST]


@pytest.mark.parametrize("how", ["cut", "kill"])
def test_a_host_cut_off_for_ever_or_killed_loses_one_trial(network: Network, how: str) -> None:
    campaign = Campaign(network, requests=50, threads=[1, 2, 4])
    running = campaign.start()
    wait_for(lambda: campaign.under_load(but=("ada",)), 180)
    name = campaign.under_load(but=("ada",)) or "bob"
    host = network.hosts[name]
    getattr(host, how)()
    noticed_s = wait_for(lambda: left_on(host) == [], NOTICED_S + 15)
    print(f"{how}: nothing was left on the host after {noticed_s:.1f} s")
    result = campaign.finish(running)
    assert all_qualified(result, 3)
    assert campaign.broken() >= 1
    assert [finding.evidence["host"] for finding in result.findings if finding.kind is FindingKind.HOST_LOST] == [name]


def test_an_sshd_that_is_restarted_loses_nothing(network: Network) -> None:
    campaign = Campaign(network, requests=50, threads=[1, 2])
    running = campaign.start()
    wait_for(campaign.under_load, 120)
    host = network.hosts[campaign.under_load() or "ada"]
    host.kill_sessions()
    time.sleep(1)
    host.start()
    result = campaign.finish(running)
    assert all_qualified(result, 2)
    assert campaign.broken() == 0


def test_a_killed_run_with_continue_is_attached_to_again(network: Network) -> None:
    place = network.place(hosts='"ada"', more='on_disconnect = "continue"')
    campaign = Campaign(network, requests=80, threads=[1, 2], place=place)
    running = campaign.start()
    wait_for(campaign.under_load, 120)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    time.sleep(25)
    result = campaign.finish(campaign.start())
    assert all_qualified(result, 2)
    assert campaign.broken() == 0
    assert len(result.trials) == 2, "the trial that went on was run again"


def test_a_killed_run_with_stop_leaves_nothing_within_thirty_seconds(network: Network) -> None:
    campaign = Campaign(network, requests=300, threads=[1], place=network.place(hosts='"ada"'))
    running = campaign.start()
    wait_for(campaign.under_load, 120)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    noticed_s = wait_for(lambda: left_on(network.hosts["ada"]) == [], NOTICED_S)
    print(f"nothing was left on the host after {noticed_s:.1f} s")


def test_a_terminal_that_closes_leaves_the_trial_and_an_order_ends_it(network: Network) -> None:
    place = network.place(hosts='"ada"', more='on_disconnect = "continue"')
    campaign = Campaign(network, requests=300, threads=[1], place=place)
    running = campaign.start()
    wait_for(campaign.under_load, 120)
    os.kill(running.pid, signal.SIGHUP)
    assert running.wait(30) == 130
    assert left_on(network.hosts["ada"])
    running = campaign.start()
    log = network.folder / "run.log"
    wait_for(lambda: log.read_text().count("results in") == 2 and log.read_text().count("launching") == 2, 60)
    time.sleep(2)
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(60) == 130
    wait_for(lambda: left_on(network.hosts["ada"]) == [], NOTICED_S)


SPANNING = """
[campaign]
name = "spanning"
strategy = "grid"
[model]
path = "{model}"
name = "toy"
[engine]
kind = "vllm"
command = ["{python}", "-m", "tests.fakes.engine_process"]
args = {args}
[[workload]]
name = "w"
input_tokens = 16
output_tokens = 24
concurrency = [1]
requests = {requests}
[gates]
level = "quick"
[decide]
launches = 1
repeats = 1
margin = 0.5
"""


def spanning(network: Network, args: str = "{ threads = 1 }", requests: int = 20) -> Campaign:
    campaign = Campaign(network, requests=1, threads=[1])
    model = network.folder / "toy.gguf"
    place = network.place(hosts='"ada", "bob"', more="nodes = 2")
    text = SPANNING.format(model=model, python=sys.executable, args=args, requests=requests)
    campaign.file.write_text(text + place)
    return campaign


def test_a_server_spans_two_hosts_and_leaves_none_of_them_busy(network: Network) -> None:
    campaign = spanning(network)
    result = campaign.finish(campaign.start())
    assert all_qualified(result, 1)
    (trial,) = result.trials
    assert trial.host == "ada+bob"
    folder = campaign.out / "trials" / trial.id
    assert f"a rank has come from {network.hosts['bob'].address}" in (folder / "server.log").read_text()
    assert (folder / "rank-1" / "server.log").exists()
    for name in ("ada", "bob"):
        wait_for(lambda name=name: left_on(network.hosts[name]) == [], NOTICED_S)


@pytest.mark.parametrize(
    ("dies_after", "requests", "verdict"), [(0.01, 20, Verdict.FAILED), (12, 300, Verdict.CRASHED)]
)
def test_a_follower_that_dies_in_boot_or_under_load_is_the_root(
    network: Network, dies_after: float, requests: int, verdict: Verdict
) -> None:
    campaign = spanning(network, f"{{ threads = 1, boot-seconds = 0.5, follower-dies-after = {dies_after} }}", requests)
    running = campaign.start()
    assert running.wait(120) == 3, (network.folder / "run.log").read_text()[-3000:]
    (candidate,) = [one for one in load_result(campaign.out).candidates if one.label == "baseline"]
    assert candidate.verdict is verdict
    assert candidate.failure is not None
    assert "CUDA out of memory" in (candidate.failure.root_line or "")
    assert "rank 1 on bob died" in candidate.reason
    for name in ("ada", "bob"):
        wait_for(lambda name=name: left_on(network.hosts[name]) == [], NOTICED_S)


def test_a_host_with_nothing_but_python_gets_shakedown_and_keeps_it(tmp_path: Path) -> None:
    """No index can be reached from there; the system's interpreter has none of our packages."""
    with namespaces(tmp_path / "net", "ada", bare=True) as network:
        campaign = Campaign(network, requests=4, threads=[1])
        path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
        toy = f'command = ["env", "PYTHONPATH={path}", "{sys.executable}"'
        campaign.file.write_text(campaign.file.read_text().replace(f'command = ["{sys.executable}"', toy))
        assert all_qualified(campaign.finish(campaign.start()), 1)
        log = network.folder / "run.log"
        assert "bringing Shakedown" in log.read_text()
        brought = list((network.hosts["ada"].folder / "home/.cache/shakedown/places/env").iterdir())
        assert len(brought) == 1
        log.unlink()
        campaign.out = network.folder / "again"
        assert all_qualified(campaign.finish(campaign.start()), 1)
        assert "bringing Shakedown" not in log.read_text()


def test_what_is_missing_on_a_host_is_said_before_anything_starts(tmp_path: Path) -> None:
    with namespaces(tmp_path / "net", "ada") as network:
        for place, said in (
            (
                network.place().replace("shakedown = ", "python = ").replace(sys.executable, "/no/python"),
                "no Python 3.11",
            ),
            (network.place().replace(sys.executable, "/usr/bin/python3"), "No module named"),
            (network.place(hosts='"eve"'), "Could not resolve hostname eve"),
        ):
            campaign = Campaign(network, requests=1, threads=[1], place=place)
            assert campaign.start().wait(60) == 2
            assert said in (network.folder / "run.log").read_text()
            assert not campaign.out.exists()
        (network.folder / "known_hosts").write_text("")
        campaign = Campaign(network, requests=1, threads=[1])
        assert campaign.start().wait(60) == 2
        assert "Host key verification failed" in (network.folder / "run.log").read_text()
