"""A trial's keeper below a named actor of Ray, which holds the GPUs as long as the trial lasts. Needs Ray and no more.

Run on the node with the interpreter of Ray's worker: ``ray_keep.py ADDRESS ORDER …``, where the order is
``launch NODE NAME GPUS WORD…``, ``watch NAME`` or ``cancel NAME``. The actor is detached: it outlives whoever asked for
it, and ends with the keeper. The dashboard shows it by its name.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

NAMESPACE = "shakedown"


class Trial:
    """On the node: the keeper's parent."""

    def __init__(self, words: Sequence[str]) -> None:
        self._keeper = subprocess.Popen(list(words), stdin=subprocess.DEVNULL, start_new_session=True)
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        self._keeper.wait()
        os._exit(0)  # gives the GPUs back


def launch(ray: Any, node_id: str, name: str, gpus: float, words: Sequence[str]) -> None:
    """Start the keeper on a node, once Ray has the GPUs for it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node_id=node_id, soft=False)
    options = {
        "name": name,
        "lifetime": "detached",
        "num_cpus": 0,
        "num_gpus": gpus,
        "scheduling_strategy": here,
        "max_restarts": 0,
    }
    ray.remote(Trial).options(**options).remote(list(words))
    sys.stdout.write(name)


def watch(address: str, name: str) -> None:
    """Say the state of the actor; nothing when it is gone."""
    from ray.util.state import list_actors

    states = [actor.state for actor in list_actors(address, filters=[("name", "=", name)])]
    sys.stdout.write(" ".join(state for state in states if state != "DEAD"))


def cancel(ray: Any, name: str) -> None:
    """End the actor, started or not."""
    try:
        ray.kill(ray.get_actor(name))
    except ValueError:
        return  # there is none any more


def main() -> None:
    """Do one of the three."""
    import ray

    address, *order = sys.argv[1:]
    ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level=logging.ERROR)
    match order:
        case ["launch", node_id, name, gpus, *words]:
            launch(ray, node_id, name, float(gpus), words)
        case ["watch", name]:
            watch(address, name)
        case ["cancel", name]:
            cancel(ray, name)


if __name__ == "__main__":
    main()
