"""A campaign on a real Ray cluster of three nodes; one is killed in the middle, and so is the campaign.

By hand, with Ray installed beside Shakedown: ``pytest -m slow -s tests/live/test_ray_cluster.py``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.ray_cluster import ray_cluster
from tests.fakes.ssh_hosts import REPOSITORY, Network
from tests.live.test_hosts_and_cables import Campaign, all_qualified, wait_for

from shakedown.domain.errors import StoreError
from shakedown.domain.words import FindingKind
from shakedown.store import CampaignReader

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ACTORS = """
import json, sys
from ray.util.state import list_actors
print(json.dumps([[actor.name, actor.state] for actor in list_actors(sys.argv[1], limit=1000)]))
"""


def finished(campaign: Campaign) -> int:
    with contextlib.suppress(sqlite3.OperationalError, StoreError), CampaignReader.open(campaign.out) as reader:
        return sum(trial.state == "finished" for trial in reader.trials())
    return 0


def test_thirty_trials_over_three_nodes_of_which_one_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ray_cluster(1, "r1", "r2", "r3") as (address, cluster):
        place = (
            f'[place]\nkind = "ray"\naddress = "{address}"\ngpus = 1\nreconnect = "60s"\non_disconnect = "continue"\n'
        )
        campaign = Campaign(Network(tmp_path), requests=4, threads=list(range(1, 31)), place=place)
        running = campaign.start()
        wait_for(lambda: finished(campaign) >= 8, 240)
        assert cluster.stdin is not None
        assert cluster.stdout is not None
        cluster.stdin.write("r3\n")
        cluster.stdin.flush()
        wait_for(lambda: finished(campaign) >= 14, 240)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        result = campaign.finish(campaign.start(), 400)
        asked = subprocess.run([sys.executable, "-c", ACTORS, address], capture_output=True, text=True, check=True)
        names = {name for name, _ in json.loads(asked.stdout.splitlines()[-1]) if name}
    assert all_qualified(result, 30)
    measured = [trial.candidate for trial in result.trials if trial.verdict is not None]
    assert len(measured) >= 30
    assert {trial.host for trial in result.trials if trial.verdict is not None} == {"r1", "r2", "r3"}
    assert [finding.evidence["host"] for finding in result.findings if finding.kind is FindingKind.HOST_LOST] == ["r3"]
    labels = {candidate.label for candidate in result.candidates}
    assert labels <= {name.rpartition(" (")[0] for name in names}
