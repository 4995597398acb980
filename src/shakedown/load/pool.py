"""The generator's side of its worker processes: start them, speak to them, stop them."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import shakedown
from shakedown.domain.errors import ShakedownError
from shakedown.load.messages import Job, frame, read_message


class WorkerProcess:
    """One ``python -m shakedown.load.worker``; its messages go to the pool's inbox as ``(number, message)``."""

    def __init__(self, number: int, inbox: queue.SimpleQueue[tuple[int, tuple[Any, ...]]]) -> None:
        root = str(Path(shakedown.__file__).parents[1])
        inherited = os.environ.get("PYTHONPATH")
        env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{inherited}" if inherited else root}
        self._errors: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shakedown.load.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=env,
            start_new_session=True,  # Ctrl-C is for the generator, which then asks its workers to stop
        )
        self.number = number
        self._reader = threading.Thread(target=self._read, args=(inbox,), daemon=True, name=f"load-worker-{number}")
        self._reader.start()

    def _read(self, inbox: queue.SimpleQueue[tuple[int, tuple[Any, ...]]]) -> None:
        assert self._process.stdout is not None
        while True:
            try:
                message = read_message(self._process.stdout)
            except EOFError:
                inbox.put((self.number, ("lost",)))
                return
            inbox.put((self.number, message))

    def send(self, *message: object) -> None:
        """Send one message.

        Raises:
            ShakedownError: if the worker has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(frame(message))
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self.lost() from error

    def lost(self) -> ShakedownError:
        """The error for a worker that ended by itself, with the last of what it said."""
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace").strip()
        return ShakedownError(f"a load worker ended unexpectedly (exit code {code}): {said[-2000:]}")

    def close(self) -> None:
        """Close its input, which ends it; kill it if it does not follow."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it is gone already
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._errors.close()


class WorkerPool:
    """Workers for one point after another; leaving the ``with`` block ends them.

    Starting a worker takes a fifth of a second, which short points would spend again and again.
    """

    def __init__(self) -> None:
        self._inbox: queue.SimpleQueue[tuple[int, tuple[Any, ...]]] = queue.SimpleQueue()
        self._started: list[WorkerProcess] = []
        self.workers: list[WorkerProcess] = []
        """Those of the present point."""

    def assign(self, jobs: list[Job]) -> None:
        """Give each of as many workers as there are jobs its job; starts those that are missing."""
        while len(self._started) < len(jobs):
            self._started.append(WorkerProcess(len(self._started), self._inbox))
        self.workers = self._started[: len(jobs)]
        for worker, job in zip(self.workers, jobs, strict=True):
            worker.send("job", job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all workers; ``assign`` starts new ones."""
        for worker in self._started:
            worker.close()
        self._started, self.workers = [], []
        self._inbox = queue.SimpleQueue()  # what an ended worker still said concerns nobody

    def send(self, *message: object) -> None:
        """Send a message to all."""
        for worker in self.workers:
            worker.send(*message)

    def receive(self, timeout_s: float) -> tuple[int, tuple[Any, ...]] | None:
        """Next message and the number of its worker; None if there was none in time.

        Raises:
            ShakedownError: if a worker ended by itself.
        """
        try:
            number, message = self._inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if message[0] == "lost":
            raise self.workers[number].lost()
        return number, message

    def wait_for(self, kind: str) -> None:
        """Wait until every worker has sent a message of this kind; others are passed over.

        Raises:
            ShakedownError: if a worker ended by itself.
        """
        missing = len(self.workers)
        while missing:
            received = self.receive(timeout_s=3600.0)
            if received is not None and received[1][0] == kind:
                missing -= 1
