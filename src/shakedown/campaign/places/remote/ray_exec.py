"""``ssh`` by way of Ray: runs a command on one node of a cluster, with its standard streams.

``python -m shakedown.campaign.places.remote.ray_exec ADDRESS NODE WORD…``; ``ADDRESS --nodes`` lists the nodes as JSON.
Exit code 255 says that Ray itself failed, as OpenSSH's does.
"""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

UNREACHABLE = 255
NAMESPACE = "shakedown"
_PIECE_BYTES = 1 << 18
_WAIT_S = 0.25


class Process:
    """On the node: the command, below an actor that asks for no resources. It ends with the actor."""

    def __init__(self, words: Sequence[str], python_variable: str, node_variable: str, node_id: str) -> None:
        self._process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, python_variable: sys.executable, node_variable: node_id},
        )

    def write(self, data: bytes) -> None:
        """Give it input; nothing ends the input."""
        assert self._process.stdin is not None
        try:
            if data:
                self._process.stdin.write(data)
                self._process.stdin.flush()
            else:
                self._process.stdin.close()
        except BrokenPipeError:
            return  # it has ended; its output says why

    def read(self) -> bytes | None:
        """What it has written by now, perhaps nothing; None at the end."""
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], _WAIT_S)[0]:
            return b""
        return os.read(self._process.stdout.fileno(), _PIECE_BYTES) or None

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait()


def alive_nodes(ray: Any) -> list[dict[str, Any]]:
    """Nodes that are up: ``name`` (Ray's own, or the id where two share one), ``id``, ``gpus``."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    names = [node.get("NodeName") or node["NodeManagerAddress"] for node in alive]
    return [
        {
            "name": name if names.count(name) == 1 else node["NodeID"],
            "id": node["NodeID"],
            "gpus": node["Resources"].get("GPU", 0.0),
        }
        for name, node in zip(names, alive, strict=True)
    ]


def _run(ray: Any, node_id: str, words: Sequence[str]) -> int:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from shakedown.campaign.places.remote.job import RAY_NODE, RAY_PYTHON

    here = NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)
    options = {"num_cpus": 0, "max_concurrency": 3, "scheduling_strategy": here}
    process = ray.remote(Process).options(**options).remote(list(words), RAY_PYTHON, RAY_NODE, node_id)

    def feed() -> None:
        while True:
            data = os.read(0, _PIECE_BYTES)
            ray.get(process.write.remote(data))
            if not data:
                return

    threading.Thread(target=feed, daemon=True).start()
    while (data := ray.get(process.read.remote())) is not None:
        view = memoryview(data)
        while view:
            view = view[os.write(1, view) :]
    return int(ray.get(process.wait.remote()))


def main() -> None:
    """List nodes, or run a command on one."""
    address, node, *words = sys.argv[1:]
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    import ray
    from ray.exceptions import RayError

    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
        nodes = alive_nodes(ray)
        if node == "--nodes":
            cluster = {"address": ray.get_runtime_context().gcs_address, "nodes": nodes}
            sys.stdout.write("shakedown-cluster " + json.dumps(cluster) + "\n")
            return
        found = [one["id"] for one in nodes if one["name"] == node]
        if not found:
            sys.stderr.write(f"the cluster has no living node {node}\n")
            sys.exit(UNREACHABLE)
        sys.exit(_run(ray, found[0], words))
    except (RayError, ConnectionError, RuntimeError) as error:
        sys.stderr.write(f"ray: {error}\n")
        sys.stderr.flush()
        os._exit(UNREACHABLE)  # the thread that reads standard input would keep us


if __name__ == "__main__":
    main()
