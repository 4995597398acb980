"""One campaign a folder: an advisory lock that dies with its holder, and says who holds it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from shakedown.domain.errors import StoreBusyError, StoreError
from shakedown.store.errors import store_errors

LOCK_NAME = "shakedown.lock"
_PATIENCE_S = 1.0


class FolderLock:
    """Exclusive hold of a folder through ``flock`` on ``shakedown.lock``.

    The kernel drops the lock when the holder dies, however it dies, so a file left behind by a killed campaign is no
    obstacle: whoever gets the lock is alone. The file's content (pid, host, start time) only serves the message.
    The file is never removed: removing it would let a third process lock a new file while a second waits on the old.

    Raises:
        StoreBusyError: when another process holds it.
        StoreError: when the lock file cannot be written.
    """

    def __init__(self, folder: Path, *, patience_s: float = _PATIENCE_S) -> None:
        path = folder / LOCK_NAME
        with store_errors(path):
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        # A reader holds the lock, shared, for the moment of a copy; a campaign holds it for hours.
        if not _try_lock(self._fd, fcntl.LOCK_EX, patience_s):
            holder = _holder(self._fd)
            self.release()
            raise StoreBusyError(f"{folder} is in use by {holder}; wait for it, or choose another --out", holder)
        with ExitStack() as undone, store_errors(path):
            undone.callback(self.release)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, _myself(), 0)
            undone.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def release(self) -> None:
        """Let go; harmless when called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


@contextmanager
def machine_claim(folder: Path | None = None) -> Iterator[str | None]:
    """Say for the length of a block that this process measures on this machine; gives who else does, or None.

    Two campaigns on one machine may be meant (they use different GPUs), so the second is told and not refused.

    Args:
        folder: where the claim lies; by default one of this user in the system's folder for temporary files.
    """
    folder = folder or Path(tempfile.gettempdir()) / f"shakedown-{os.getuid()}"
    claim: FolderLock | None = None
    other: str | None = None
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        claim = FolderLock(folder, patience_s=0.0)
    except StoreBusyError as busy:
        other = busy.holder
    except (OSError, StoreError):
        other = None  # nowhere to write the claim: the campaign is worth more than the warning
    try:
        yield other
    finally:
        if claim is not None:
            claim.release()


def try_shared(folder: Path) -> int | None:
    """Open and share the folder's lock: a file descriptor to close, or None while a campaign holds it or none exists.

    Needs read permission only, so it works on read-only media.
    """
    try:
        fd = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    if _try_lock(fd, fcntl.LOCK_SH, 0.0):
        return fd
    os.close(fd)
    return None


def _try_lock(fd: int, how: int, patience_s: float) -> bool:
    give_up = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up:
                return False
            time.sleep(0.02)
        else:
            return True


def _myself() -> bytes:
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "started_at": time.time()}).encode()


def _holder(fd: int) -> str:
    try:
        content = json.loads(os.pread(fd, 4096, 0))
        since = datetime.fromtimestamp(content["started_at"], tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {content['pid']} on {content['host']} since {since}"
    except (ValueError, KeyError, TypeError):
        return "another process"
