"""Owns a trial away from its campaign: starts it, notices when the campaign is gone, leaves nothing behind.

``python -m shakedown.campaign.places.remote.keeper SPOOL`` runs until its trial has ended. The trial dies with the
keeper (parent-death signal), the engine with the trial (its guardian): killing any of them leaves nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from shakedown.campaign.places.remote.spool import Counter, Spool, write_whole
from shakedown.launch.lifeline import PARENT_VARIABLE

_LOOK_EVERY_S = 0.1
_PULSE_EVERY_S = 2.0
_STOP_PATIENCE_S = 60.0
"""A trial that was told to stop needs its server's grace and the return of GPU memory; then it is killed."""
_WORDS = 2000


class Keeper:
    """One trial and what is known of its campaign."""

    def __init__(self, spool: Spool) -> None:
        settings = spool.read(spool.settings)
        assert settings is not None
        self._spool = spool
        self._stop_when_alone = settings["on_disconnect"] == "stop"
        self._lease_s: float = settings["lease_s"]
        self._alive = Counter(spool.alive)
        self._pulse = Counter(spool.pulse)
        self._ordered: str | None = None
        """Why somebody who is not the campaign wants the trial ended."""
        self._lost: str | None = None
        self._heard = ""
        self._heard_at = time.monotonic()
        self._told_to_stop_at: float | None = None

    def order_to_stop(self, number: int) -> None:
        """A signal: the machine shuts down, or the scheduler's time is over."""
        self._ordered = f"its keeper got {signal.Signals(number).name}: the machine or its scheduler ended it"

    def run(self) -> None:
        """Keep the trial until it has ended, and write how."""
        self._pulse.raise_()
        trial = self._start()
        next_pulse = time.monotonic() + _PULSE_EVERY_S
        while trial.poll() is None:
            if time.monotonic() >= next_pulse:
                self._pulse.raise_()
                next_pulse = time.monotonic() + _PULSE_EVERY_S
            if self._should_stop():
                self._stop(trial)
            time.sleep(_LOOK_EVERY_S)
        words = self._spool.errors.read_text(encoding="utf-8", errors="replace").strip()[-_WORDS:]
        ended = {"code": trial.returncode, "words": words, "lost": self._lost}
        write_whole(self._spool.ended, json.dumps(ended))

    def _start(self) -> subprocess.Popen[bytes]:
        spool = self._spool
        with spool.events.open("ab") as events, spool.errors.open("ab") as errors:
            trial = subprocess.Popen(
                [sys.executable, "-P", "-m", "shakedown", "trial"],
                stdin=subprocess.PIPE,
                stdout=events,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, PARENT_VARIABLE: str(os.getpid())},
            )
        assert trial.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died already: its ending tells why
            trial.stdin.write(spool.request.read_bytes())
            trial.stdin.close()
        spool.request.unlink()
        return trial

    def _should_stop(self) -> bool:
        if self._told_to_stop_at is not None:
            return True
        if self._ordered is not None:
            self._lost = self._ordered
            return True
        if self._spool.stop.exists():
            return True
        heard = self._alive.read()
        if heard != self._heard:
            self._heard, self._heard_at = heard, time.monotonic()
        silent_s = time.monotonic() - self._heard_at
        if self._stop_when_alone and silent_s > self._lease_s:
            self._lost = f"it was stopped there: nothing was heard of the campaign for {silent_s:.0f} s"
            return True
        return False

    def _stop(self, trial: subprocess.Popen[bytes]) -> None:
        if self._told_to_stop_at is None:
            self._told_to_stop_at = time.monotonic()
            trial.send_signal(signal.SIGTERM)
        elif time.monotonic() - self._told_to_stop_at > _STOP_PATIENCE_S:
            trial.kill()


def main() -> None:
    """Keep one trial."""
    keeper = Keeper(Spool(Path(sys.argv[1])))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: keeper.order_to_stop(got))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    keeper.run()


if __name__ == "__main__":
    main()
