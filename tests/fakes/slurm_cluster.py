"""A real Slurm cluster on the loopback: munged, slurmctld and one slurmd a node. Needs root and Debian's packages."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
_CONF = """
ClusterName=shakedown
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
SlurmctldPort={port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdTimeout=15
ReturnToService=2
KillWait=5
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextlib.contextmanager
def slurm_cluster(folder: Path, *nodes: str) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Yields the slurmd process of each node; ``SLURM_CONF`` is set in this process's environment."""
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name, path=_PATH) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} (Debian: apt-get install munge slurmctld slurmd slurm-client)")
    if os.geteuid() != 0:
        pytest.skip("slurmd needs root")
    folder.mkdir(parents=True)
    (folder / "state").mkdir()
    port, *ports = free_ports(1 + len(nodes))
    host = socket.gethostname()
    lines = [
        f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={number} CPUs=2 State=UNKNOWN"
        for node, number in zip(nodes, ports, strict=True)
    ]
    conf = folder / "slurm.conf"
    conf.write_text(_CONF.format(host=host, folder=folder, port=port, nodes="\n".join(lines)))
    if not Path("/run/munge/munge.socket.2").exists():
        Path("/run/munge").mkdir(exist_ok=True)
        shutil.chown("/run/munge", "munge")
        subprocess.run(["su", "munge", "-s", "/bin/sh", "-c", "/usr/sbin/munged"], check=True)
    os.environ["SLURM_CONF"] = str(conf)
    daemons = [subprocess.Popen(["/usr/sbin/slurmctld", "-D", "-f", str(conf)], stderr=subprocess.DEVNULL)]
    slurmds: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for node in nodes:
            words = ["/usr/sbin/slurmd", "-D", "-N", node, "-f", str(conf)]
            slurmds[node] = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while _idle() < len(nodes):
            assert time.monotonic() < deadline, (folder / "ctld.log").read_text()[-2000:]
            time.sleep(0.2)
        yield slurmds
    finally:
        subprocess.run(["scancel", "--partition=gpu"], capture_output=True, check=False)
        for daemon in [*slurmds.values(), *daemons]:
            daemon.terminate()
        for daemon in [*slurmds.values(), *daemons]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
            daemon.kill()
            daemon.wait()
        del os.environ["SLURM_CONF"]


def _idle() -> int:
    done = subprocess.run(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"], capture_output=True, text=True, check=False)
    return len(done.stdout.split())
