"""A real Ray cluster of several raylets on this machine, each with GPUs that it only declares.

``python -m tests.fakes.ray_cluster GPUS NODE…`` prints the address, kills the nodes named on standard input (a line
each), and ends everything with the end of standard input.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest


@contextlib.contextmanager
def ray_cluster(gpus: int, *nodes: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Yields the cluster's address and the process that takes the names of nodes to kill."""
    pytest.importorskip("ray", reason="Ray is not installed (pip install 'ray[default]')")
    words = [sys.executable, "-m", "tests.fakes.ray_cluster", str(gpus), *nodes]
    slow = {**os.environ, "RAY_raylet_start_wait_time_s": "240", "RAY_gcs_rpc_server_reconnect_timeout_s": "240"}
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=slow)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = next((line.split()[1] for line in process.stdout if line.startswith("address ")), None)
        assert address is not None, "the cluster did not start"
        yield address, process
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def main() -> None:
    from ray.cluster_utils import Cluster

    gpus, *names = sys.argv[1:]
    cluster = Cluster()
    # The first node holds the cluster's own services and is not for trials.
    cluster.add_node(num_cpus=1, num_gpus=0, node_name="head", include_dashboard=True)
    nodes = {name: cluster.add_node(num_cpus=1, num_gpus=int(gpus), node_name=name) for name in names}
    print(f"address {cluster.address}", flush=True)
    for line in sys.stdin:
        cluster.remove_node(nodes.pop(line.strip()), allow_graceful=False)
        print(f"killed {line.strip()}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
