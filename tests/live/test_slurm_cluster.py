"""A campaign over two nodes of a real Slurm cluster on the loopback. Needs root and Debian's Slurm.

By hand: ``pytest -m slow -s tests/live/test_slurm_cluster.py`` (docs/places.md has the last result).
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.fakes.slurm_cluster import slurm_cluster
from tests.fakes.ssh_hosts import REPOSITORY, Network
from tests.live.test_hosts_and_cables import Campaign, all_qualified, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_two_nodes_share_a_campaign_and_their_jobs_bear_the_candidates_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)]))
    with slurm_cluster(tmp_path / "slurm", "sn1", "sn2"):
        place = f'[place]\nkind = "slurm"\npartition = "gpu"\ntime_limit = "10m"\nfolder = "{tmp_path}/shared"\n'
        campaign = Campaign(Network(tmp_path), requests=20, threads=[1, 2, 4], place=place)
        running = campaign.start()
        wait_for(lambda: "shakedown baseline" in _queue(), 120)
        result = campaign.finish(running)
        wait_for(lambda: _queue() == "", 30)
    assert all_qualified(result, 3)
    assert {trial.host for trial in result.trials} == {"sn1", "sn2"}


def _queue() -> str:
    return subprocess.run(["squeue", "-h", "-o", "%j"], capture_output=True, text=True, check=True).stdout
