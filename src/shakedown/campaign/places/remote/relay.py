"""Speaks with the campaign for a trial that is kept here: brings its events and files home as they come.

``python -m shakedown.campaign.places.remote.relay NAME`` reads orders on standard input and writes frames on standard
output (``frames``). It may end at any time: the keeper goes on, and the next relay sends what is missing at home.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shakedown import __version__
from shakedown.campaign.places.remote.frames import BEAT_EVERY_S, FILES, HELLO, INPUT, LEASE_S, Lines, frame
from shakedown.campaign.places.remote.job import Job
from shakedown.campaign.places.remote.spool import Counter, Spool, cache_folder

_LOOK_EVERY_S = 0.1
_FILES_EVERY_S = 1.0
_PIECE_BYTES = 1 << 20
_KEEPER_SILENT_S = 30.0
_JOB_EVERY_S = 5.0
_OLD_S = 7 * 24 * 3600.0
PROGRESS = b'"type":"point_progress"'
"""In a line of progress, which the campaign never stores. Inside a JSON string the quotation marks would be escaped."""


class CampaignGoneError(Exception):
    """The campaign does not listen any more."""


class Orders:
    """What the campaign says."""

    def __init__(self) -> None:
        self._lines = Lines()

    def within(self, seconds: float) -> list[dict[str, Any]]:
        """Orders that come within a time.

        Raises:
            CampaignGoneError: at the end of the stream.
        """
        if select.select([0], [], [], seconds)[0]:
            data = os.read(0, _PIECE_BYTES)
            if not data:
                raise CampaignGoneError
            self._lines.feed(data)
        return [json.loads(line) for line in iter(self._lines.line, None)]

    def first(self) -> dict[str, Any]:
        """The first order, whose line may be followed by bytes."""
        while (line := self._lines.line()) is None:
            self._more()
        order: dict[str, Any] = json.loads(line)
        return order

    def block(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        while (block := self._lines.block(count)) is None:
            self._more()
        return block

    def _more(self) -> None:
        if not select.select([0], [], [], LEASE_S)[0]:
            raise CampaignGoneError
        data = os.read(0, _PIECE_BYTES)
        if not data:
            raise CampaignGoneError
        self._lines.feed(data)


def say(data: bytes) -> None:
    """Write all of ``data`` to the campaign.

    Raises:
        CampaignGoneError: nobody reads, or the line has been dead for the lease.
    """
    view = memoryview(data)
    os.set_blocking(1, False)
    try:
        while view:
            if not select.select([], [1], [], LEASE_S)[1]:
                raise CampaignGoneError
            view = view[os.write(1, view) :]
    except (BrokenPipeError, ConnectionResetError) as error:
        raise CampaignGoneError from error


def lost(why: str) -> dict[str, object]:
    """The ending of a trial for which nobody wrote one."""
    return {"code": None, "words": "", "lost": why}


class Relay:
    """Sends what a spool holds and home does not have yet."""

    def __init__(self, spool: Spool, orders: Orders, *, after: int, have: dict[str, int]) -> None:
        self._spool = spool
        self._orders = orders
        self._skip = after
        self._have = have
        self._offset = 0
        self._alive = Counter(spool.alive)
        self._pulse = Counter(spool.pulse)
        self._job = Job(spool)
        self._look_at = 0.0

    def run(self) -> bool:
        """Serve until all was sent and home has said so (True), or home is gone (False)."""
        heard_at = said_at = files_at = time.monotonic()
        keeper, keeper_at = "", heard_at
        self._alive.raise_()
        while True:
            for given in self._orders.within(_LOOK_EVERY_S):
                heard_at = time.monotonic()
                if given["do"] == "forget":
                    return True
                if given["do"] == "stop":
                    self._spool.stop.touch()
                self._alive.raise_()
            now = time.monotonic()
            if now - heard_at > LEASE_S:
                return False
            if (pulse := self._pulse.read()) != keeper:
                keeper, keeper_at = pulse, now
            ended = self._spool.read(self._spool.ended)
            if ended is None and keeper and now - keeper_at > _KEEPER_SILENT_S:
                ended = lost("its keeper process there is gone")
            if ended is None and not keeper:
                ended = self._waits_in_vain(now)
            lines = list(self._new_events())
            if lines or ended is not None or now - files_at >= _FILES_EVERY_S:
                self._send_files()
                files_at = now
            for line in lines:
                say(b"E " + line)
            if ended is not None:
                say(frame("X", ended))
                return self._is_forgotten()
            if lines or now - said_at >= BEAT_EVERY_S:
                say(b"K\n")
                said_at = now

    def _waits_in_vain(self, now: float) -> dict[str, object] | None:
        """Whether a trial that a scheduler has not started yet never will be."""
        if self._job.is_scheduled and self._spool.stop.exists():
            self._job.cancel()
            return {"code": None, "words": "taken out of the queue", "lost": None}
        if not self._job.is_scheduled or now < self._look_at:
            return None
        self._look_at = now + _JOB_EVERY_S
        why = self._job.hopeless()
        return lost(why) if why is not None and not self._pulse.read() else None

    def _is_forgotten(self) -> bool:
        give_up = time.monotonic() + LEASE_S
        while time.monotonic() < give_up:
            if any(given["do"] == "forget" for given in self._orders.within(1.0)):
                return True
        return False

    def _new_events(self) -> Iterator[bytes]:
        if not self._spool.events.exists():
            return
        with self._spool.events.open("rb") as events:
            events.seek(self._offset)
            for line in events:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                if self._skip == 0:
                    yield line
                elif PROGRESS not in line:
                    self._skip -= 1

    def _send_files(self) -> None:
        for path in sorted(self._spool.files.rglob("*")):
            name = str(path.relative_to(self._spool.files))
            if not path.is_file() or name.endswith(".part"):
                continue
            with path.open("rb") as content:
                content.seek(self._have.get(name, 0))
                while piece := content.read(_PIECE_BYTES):
                    at = self._have.get(name, 0)
                    say(frame("F", {"name": name, "at": at, "bytes": len(piece)}) + piece)
                    self._have[name] = at + len(piece)
            if name not in self._have:
                say(frame("F", {"name": name, "at": 0, "bytes": 0}))
                self._have[name] = 0


def begin(spool: Spool, order: dict[str, Any], orders: Orders) -> None:
    """Take in what a trial needs and write its spool; nothing is started yet."""
    folder = spool.folder.parents[1] / "inputs"  # beside the spools: wherever the trial runs, it can read both
    places = {one["sha256"]: folder / one["sha256"] / one["name"] for one in order["inputs"]}
    wanted = [one for one in order["inputs"] if not places[one["sha256"]].exists()]
    say(frame("N", [one["sha256"] for one in wanted]))
    for one in wanted:
        _keep_input(places[one["sha256"]], one, orders)
    request: str = order["request"]
    for sha256, path in places.items():
        request = request.replace(INPUT.format(sha256=sha256), _inside_json(path))
    spool.make({**order["settings"], "job": order["job"]}, request.replace(FILES, _inside_json(spool.files)))


def _keep_input(path: Path, one: dict[str, Any], orders: Orders) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    digest, left = hashlib.sha256(), int(one["bytes"])
    with part.open("wb") as stream:
        while left:
            piece = orders.block(min(left, _PIECE_BYTES))
            digest.update(piece)
            stream.write(piece)
            left -= len(piece)
    if digest.hexdigest() != one["sha256"]:
        part.unlink()
        raise ValueError(f"{one['name']} did not arrive as it was sent")
    part.replace(path)


def _inside_json(path: Path) -> str:
    return json.dumps(str(path))[1:-1]


def start(spool: Spool, order: dict[str, Any], orders: Orders) -> None:
    """Write the spool and have the trial started; nothing is left of one that cannot be."""
    try:
        begin(spool, order, orders)
        start_keeper(spool, Job(spool))
    except (OSError, ValueError):
        shutil.rmtree(spool.folder, ignore_errors=True)
        raise


def start_keeper(spool: Spool, job: Job) -> None:
    """Start the trial's keeper so that it outlives this process and the connection it came by, or have it started."""
    if job.is_scheduled:
        job.launch()
        return
    with spool.errors.open("ab") as errors:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "shakedown.campaign.places.remote.keeper", str(spool.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            cwd=spool.folder,
        )


def remove_old(spools: Iterable[Path]) -> None:
    """Remove what nobody has fetched for a week."""
    for folder in spools:
        ended = Spool(folder).ended
        if ended.exists() and time.time() - ended.stat().st_mtime > _OLD_S:
            shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Start or attach, relay, and forget the trial once it is home."""
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else cache_folder() / "trials"
    spool = Spool(root / sys.argv[1])
    orders = Orders()
    try:
        say(HELLO + json.dumps({"version": __version__, "folder": str(spool.folder)}).encode() + b"\n")
        order = orders.first()
        if order["do"] == "start" and not spool.folder.exists():
            remove_old(root.glob("*"))
            start(spool, order, orders)
        elif not spool.settings.exists():
            say(b"! nothing is known of this trial there\n")
            return
        if Relay(spool, orders, after=order["after"], have=order["have"]).run():
            shutil.rmtree(spool.folder)
    except CampaignGoneError:
        return
    except (OSError, ValueError) as error:
        say(b"! " + str(error).encode() + b"\n")


if __name__ == "__main__":
    main()
