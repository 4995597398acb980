"""What a trial over SSH costs beside a local one, and whether it measures the same. Needs sshd and the demo's extra.

``python -m benchmarks.places.over_ssh [ROUNDS]`` runs the real llama.cpp server in turn here and over an sshd on the
loopback, and prints wall time and tokens per second of each trial. The first of each is left out.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.fakes.ssh_hosts import loopback_host

from shakedown.campaign.places.base import Place
from shakedown.campaign.places.registry import open_place
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.events import PointFinished, TrialFinished
from shakedown.domain.spec import PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import EngineKind, PlaceKind, Verdict
from shakedown.domain.workload import LoadLevel, PointPlan, Workload
from shakedown.inspect.assets import demo_model


def request(folder: Path) -> TrialRequest:
    folder.mkdir(parents=True)
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP, python=sys.executable),
        model=ModelRef(path=str(demo_model(print)), name="m"),
        args={"flash-attn": "off", "ctx-size": 4096, "threads": 1, "parallel": 1},
    )
    workload = Workload(name="w", input_tokens=32, output_tokens=48, concurrency=(1,))
    plan = PointPlan(workload=workload, level=LoadLevel(concurrency=1), requests=12, warmup_requests=1)
    return TrialRequest(candidate=candidate, folder=str(folder), points=(plan,))


def one(place: Place, host: str, folder: Path) -> tuple[float, float]:
    began = time.perf_counter()
    speed = 0.0
    for event in place.start(request(folder), host=host).events():
        if isinstance(event, PointFinished):
            speed = event.point.output_tokens_per_s or 0.0
        if isinstance(event, TrialFinished) and event.verdict is not Verdict.QUALIFIED:
            raise SystemExit(f"{host}: {event.reason}")
    return time.perf_counter() - began, speed


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    with tempfile.TemporaryDirectory() as name, loopback_host(Path(name) / "ssh") as network:
        section = PlaceSection(
            kind=PlaceKind.SSH, hosts=("near",), ssh_config=str(network.config), shakedown=sys.executable
        )
        places = {"local": (PlaceSection(), "local"), "ssh": (section, "near")}
        walls: dict[str, list[float]] = {kind: [] for kind in places}
        speeds: dict[str, list[float]] = {kind: [] for kind in places}
        with contextlib.ExitStack() as stack:
            opened = {
                kind: (stack.enter_context(contextlib.closing(open_place(section, print))), host)
                for kind, (section, host) in places.items()
            }
            for number in range(rounds + 1):
                for kind, (place, host) in opened.items():
                    wall_s, speed = one(place, host, Path(name) / f"{number}-{kind}")
                    print(f"{number} {kind:5} {wall_s:6.2f} s {speed:7.1f} tok/s")
                    if number:
                        walls[kind].append(wall_s)
                        speeds[kind].append(speed)
    for kind in places:
        mean, spread = statistics.mean(speeds[kind]), statistics.stdev(speeds[kind])
        print(f"{kind:5} median {statistics.median(walls[kind]):.2f} s, {mean:.1f} tok/s, deviation {spread:.1f}")
    extra_s = statistics.median(walls["ssh"]) - statistics.median(walls["local"])
    ratio = statistics.mean(speeds["ssh"]) / statistics.mean(speeds["local"])
    print(f"a trial over SSH costs {extra_s:+.2f} s; speed ratio {ratio:.3f}")


if __name__ == "__main__":
    main()
