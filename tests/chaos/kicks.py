"""What can happen at night, one function each: it happens to a session that runs, which then runs on or has ended.

A kick that needs a moment (an engine that is about to listen) waits for it, and gives up when the session ends first.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import psutil
from tests.chaos.night import PATIENCE_S, Night, until

Kick = Callable[[Night, random.Random], None]
A_FEW_S = 3.0
"""How long a session is left alone with a trouble that it may survive."""


def kill_campaign(night: Night, draw: random.Random) -> None:
    """SIGKILL, as the kernel does when memory is short, or as a power cut does."""
    night.session.kill()
    assert night.wait() == -signal.SIGKILL


def kill_trial(night: Night, draw: random.Random) -> None:
    """SIGKILL to the trial process; the campaign launches again."""
    _signal(night.trial(), signal.SIGKILL)


def kill_guardian(night: Night, draw: random.Random) -> None:
    """SIGKILL to the process between trial and engine; the engine is not to blame."""
    _signal(next(iter(night.processes("shakedown.launch.guardian")), None), signal.SIGKILL)


def hang_up(night: Night, draw: random.Random) -> None:
    """The terminal is gone."""
    night.session.send_signal(signal.SIGHUP)
    assert night.wait() in (130, 0)


def terminate(night: Night, draw: random.Random) -> None:
    """An orderly stop is asked for twice."""
    night.session.terminate()
    night.session.send_signal(signal.SIGINT)
    assert night.wait() in (130, 0)


def hang_a_while(night: Night, draw: random.Random) -> None:
    """Some process of the session stands still and goes on, as when a machine swaps."""
    victim = draw.choice([psutil.Process(night.session.pid), *night.processes("")])
    _signal(victim, signal.SIGSTOP)
    until(lambda: not night.runs(), draw.uniform(0.1, 1.0))
    _signal(victim, signal.SIGCONT)


def hang_for_good(night: Night, draw: random.Random) -> None:
    """The engine stands still for ever, and the campaign is asked to stop."""
    _signal(next(iter(night.processes("chaos/engine.py")), None), signal.SIGSTOP)
    night.session.terminate()
    assert night.wait() in (130, 0)


def fill_disk(night: Night, draw: random.Random) -> None:
    """Nothing can be written any more, until somebody makes room."""
    filler = night.out.parent / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
    until(lambda: not night.runs(), A_FEW_S)
    filler.unlink()


def starve_campaign(night: Night, draw: random.Random) -> None:
    """The campaign can open no further file."""
    _starve(night, psutil.Process(night.session.pid))


def starve_trial(night: Night, draw: random.Random) -> None:
    """The trial process can open no further file and no connection."""
    _starve(night, night.trial())


def steal_port(night: Night, draw: random.Random) -> None:
    """Somebody else listens on the port that the next engine was given."""
    with socket.socket() as thief:

        def stolen() -> bool:
            for engine in night.processes("chaos/engine.py"):
                with contextlib.suppress(OSError, psutil.Error, ValueError):
                    words = engine.cmdline()
                    thief.bind(("127.0.0.1", int(words[words.index("--port") + 1])))
                    thief.listen()
                    return True
            return not night.runs()

        assert until(stolen)
        until(lambda: not night.runs(), A_FEW_S)


def jump_clock(night: Night, draw: random.Random) -> None:
    """The wall clock is set, forwards or backwards, by up to a day."""
    night.clock.write_text(str(draw.uniform(-86_400, 86_400)))


def run_twice(night: Night, draw: random.Random) -> None:
    """The same campaign is started beside the running one."""
    second = night.command(words="second")
    code = second.wait(PATIENCE_S)
    said = (night.home / "second").read_text()
    if night.runs():
        assert code == 2, said
        assert f"process {night.session.pid}" in said


def move_folder(night: Night, draw: random.Random) -> None:
    """The results folder is moved away under the running campaign, which is then run on there."""
    there = night.out.with_name(f"{night.out.name}x")
    night.out.rename(there)
    until(lambda: not night.runs(), A_FEW_S)
    if night.runs():
        night.session.terminate()
        until(lambda: not night.runs())
    if night.out.exists():
        shutil.rmtree(night.out)
    night.out = there


KICKS: dict[str, Kick] = {
    kick.__name__: kick
    for kick in (
        kill_campaign,
        kill_trial,
        kill_guardian,
        hang_up,
        terminate,
        hang_a_while,
        hang_for_good,
        fill_disk,
        starve_campaign,
        starve_trial,
        steal_port,
        jump_clock,
        run_twice,
        move_folder,
    )
}


def _signal(process: psutil.Process | None, number: int) -> None:
    if process is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _starve(night: Night, process: psutil.Process | None) -> None:
    if process is None:
        return
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (process.num_fds(), before[1]))
        until(lambda: not night.runs(), A_FEW_S)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)


def can_fill(folder: Path) -> bool:
    """Whether ``folder`` is a small file system of its own, which may be filled."""
    return os.path.ismount(folder)
