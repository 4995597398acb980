"""Full disks, damaged files, read-only places: one clear sentence, and nothing finished is lost."""

from __future__ import annotations

import errno
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.store.store_material import SPEC, TEXT, candidate, finished, phase, record

from shakedown.domain.errors import StoreError
from shakedown.store import CampaignReader, CampaignStore
from shakedown.store.errors import store_errors


def open_store(folder: Path) -> CampaignStore:
    return CampaignStore.create_or_open(folder, name="c", campaign_text=TEXT, spec=SPEC)


def test_a_full_disk_loses_nothing_and_finishes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.put_candidate(record(threads=1))
    done = store.begin_trial(candidate(threads=1).id)
    store.append(done, finished())
    running = store.begin_trial(candidate(threads=1).id)
    # SQLite's own limit makes a real SQLITE_FULL.
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    written = 0

    def write_until_full() -> None:
        nonlocal written
        for _ in range(1000):
            store.append(running, phase("x" * 500))
            written += 1

    with pytest.raises(StoreError, match=r"disk is full.*run the campaign again"):
        write_until_full()
    with pytest.raises(StoreError, match="disk is full"):
        store.append(running, finished().model_copy(update={"reason": "y" * 5000}))
    store.close()
    with open_store(tmp_path) as again:
        assert [trial.id for trial in again.resume()] == [running]
        assert [trial.state for trial in again.trials()] == ["finished", "broken"]
        assert len(again.trials()[1].phases) == written


def test_a_file_size_limit_is_said_too(tmp_path: Path) -> None:
    """The kernel refuses to let a file grow (RLIMIT_FSIZE): SQLite sees an error of the disk, not a full one."""
    script = f"""
import resource, signal
from pathlib import Path
from tests.unit.store.test_faults import open_store
from tests.unit.store.store_material import candidate, phase, record
from shakedown.domain.errors import StoreError
store = open_store(Path({str(tmp_path)!r}))
store.put_candidate(record(threads=1))
trial = store.begin_trial(candidate(threads=1).id)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, resource.RLIM_INFINITY))
try:
    for _ in range(2000):
        store.append(trial, phase("x" * 500))
except StoreError as error:
    print(error)
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] != 0
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Everything finished before is kept" in ran.stdout
    with CampaignReader.open(tmp_path) as reader:
        assert reader.trials()[0].state == "running"


def test_a_damaged_database_is_said(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    database = tmp_path / "shakedown.sqlite"
    database.write_bytes(b"not a database, whatever it says" * 200)
    with pytest.raises(StoreError, match="damaged"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="damaged"), CampaignReader.open(tmp_path):
        pass


def test_a_database_cut_in_half_is_said(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        for threads in range(50):
            store.put_candidate(record(threads=threads))
    database = tmp_path / "shakedown.sqlite"
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])
    with pytest.raises(StoreError, match="damaged"), CampaignReader.open(tmp_path) as reader:
        reader.candidates()


def test_a_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        open_store(tmp_path / "file")


def test_a_place_where_nothing_can_be_made_is_said() -> None:
    with pytest.raises(StoreError, match="/proc/"):
        open_store(Path("/proc/shakedown"))


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission"),
        (errno.EMFILE, "ulimit"),
    ],
)
def test_errors_of_the_file_system_are_said_with_a_mend(code: int, told: str) -> None:
    with pytest.raises(StoreError, match=told), store_errors(Path("out")):
        raise OSError(code, "system words", "out")


def test_a_read_only_database_is_said(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    db = sqlite3.connect(f"file:{tmp_path / 'shakedown.sqlite'}?mode=ro", uri=True)
    with pytest.raises(StoreError, match="read-only"), store_errors(tmp_path):
        db.execute("INSERT INTO fact VALUES ('k', '{}', 0)")
    db.close()


def test_a_newer_schema_is_refused_not_guessed(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    db = sqlite3.connect(tmp_path / "shakedown.sqlite")
    with db:
        db.execute("INSERT INTO migration VALUES ('9999_future', 0)")
    db.close()
    with pytest.raises(StoreError, match="newer Shakedown"):
        open_store(tmp_path)
    with pytest.raises(StoreError, match="newer Shakedown"), CampaignReader.open(tmp_path):
        pass


def test_a_folder_moved_while_nobody_holds_it_resumes(tmp_path: Path) -> None:
    with open_store(tmp_path / "here") as store:
        store.put_candidate(record(threads=1))
    shutil.move(tmp_path / "here", tmp_path / "there")
    with open_store(tmp_path / "there") as store:
        assert store.candidates() == [record(threads=1)]
