"""The folder's lock dies with its holder, and says who holds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shakedown.domain.errors import StoreBusyError
from shakedown.store import FolderLock
from shakedown.store.lock import machine_claim


def test_the_holder_is_named(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / "shakedown.lock").read_text())["pid"] == os.getpid()
        with pytest.raises(StoreBusyError, match=f"process {os.getpid()} on"):
            FolderLock(tmp_path)


def test_released_is_free(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    lock.release()
    lock.release()
    FolderLock(tmp_path).release()


def test_a_lock_left_by_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    script = f"""
import os, signal
from pathlib import Path
from shakedown.store import FolderLock
lock = FolderLock(Path({str(tmp_path)!r}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert (tmp_path / "shakedown.lock").exists()
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / "shakedown.lock").read_text())["pid"] == os.getpid()


def test_a_lock_file_of_nonsense_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "shakedown.lock").write_text("nonsense that is longer than what will be written over it" * 9)
    with FolderLock(tmp_path):
        json.loads((tmp_path / "shakedown.lock").read_text())


def test_an_unreadable_holder_is_another_process(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        (tmp_path / "shakedown.lock").write_text("?")
        with pytest.raises(StoreBusyError, match="another process"):
            FolderLock(tmp_path)


def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        lock.release()
        FolderLock(tmp_path).release()
    finally:
        child.kill()
        child.wait()


def test_the_second_campaign_of_a_machine_is_told_who_the_first_is(tmp_path: Path) -> None:
    with machine_claim(tmp_path) as first:
        assert first is None
        with machine_claim(tmp_path) as second:
            assert second is not None
            assert f"process {os.getpid()}" in second
    with machine_claim(tmp_path) as third:
        assert third is None


def test_where_nothing_can_be_written_nobody_is_kept_from_measuring(tmp_path: Path) -> None:
    with machine_claim(tmp_path / "no" / "such") as other:
        assert other is None
