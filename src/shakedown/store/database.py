"""Opening the database: pragmas, migrations, one transaction at a time, and a copy to read from where nobody writes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.resources import files
from pathlib import Path

from shakedown.domain.errors import StoreError
from shakedown.store.errors import store_errors
from shakedown.store.lock import LOCK_NAME, try_shared

DATABASE_NAME = "shakedown.sqlite"


def migrations() -> list[tuple[str, str]]:
    """All schema changes, name and SQL, oldest first."""
    folder = files("shakedown.store.migrations")
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda item: item.name)
    return [(script.name.removesuffix(".sql"), script.read_text(encoding="utf-8")) for script in scripts]


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Open or create the database and bring it to the newest schema; the caller holds the folder's lock.

    Raises:
        StoreError: if it cannot be written, is damaged, or was written by a newer Shakedown.
    """
    path = folder / DATABASE_NAME
    with store_errors(path), ExitStack() as undone:
        db = undone.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
        db.execute("PRAGMA journal_mode = WAL")
        # Every event is synced, not only a trial's last: a launch may have cost ten minutes, an fsync costs ten ms.
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        _migrate(db, path)
        undone.pop_all()
    return db


@contextmanager
def opened_for_reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the database of a running, finished, killed, copied or write-protected campaign, never writing to it.

    While a campaign holds the folder, its database is read in place (a WAL allows one writer and many readers).
    Otherwise the files stand still: they are copied, under a shared lock, and the copy is read, because SQLite would
    have to create files beside the database to read what a killed campaign left in its WAL.

    Raises:
        StoreError: if there is none, it is damaged, or it was written by a newer Shakedown.
    """
    path = folder / DATABASE_NAME
    if not path.is_file():
        raise StoreError(f"{folder}: no campaign here ({DATABASE_NAME} is missing)")
    lock = try_shared(folder)
    if lock is None and (folder / LOCK_NAME).exists():
        with _reading(path, path) as db:
            yield db
        return
    with tempfile.TemporaryDirectory(prefix="shakedown-read-") as scratch:
        with store_errors(path):
            try:
                copied = Path(shutil.copyfile(path, Path(scratch) / DATABASE_NAME))
                wal = path.with_name(f"{DATABASE_NAME}-wal")
                if wal.exists():
                    shutil.copyfile(wal, copied.with_name(wal.name))
            finally:
                if lock is not None:
                    os.close(lock)
        with _reading(copied, path) as db:
            yield db


@contextmanager
def _reading(where: Path, original: Path) -> Iterator[sqlite3.Connection]:
    with store_errors(original):
        db = sqlite3.connect(f"{where.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        with store_errors(original):
            _refuse_newer(db, original)
        yield db
    finally:
        db.close()


@contextmanager
def transaction(db: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All or nothing: what is done inside is committed at the end, undone on any exception."""
    with store_errors(path), db:  # the connection commits, or rolls back where SQLite has not done so itself
        db.execute("BEGIN IMMEDIATE")
        yield


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    with transaction(db, path):
        db.execute("CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied_at REAL NOT NULL) STRICT")
    applied = _refuse_newer(db, path)
    for name, script in migrations():
        if name not in applied:
            with transaction(db, path):
                for statement in _statements(script):
                    db.execute(statement)
                db.execute("INSERT INTO migration VALUES (?, ?)", (name, time.time()))


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements; ``executescript`` would commit the transaction it runs in."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _refuse_newer(db: sqlite3.Connection, path: Path) -> set[str]:
    applied = {str(name) for (name,) in db.execute("SELECT name FROM migration")}
    unknown = applied - {name for name, _ in migrations()}
    if unknown:
        raise StoreError(f"{path}: written by a newer Shakedown ({', '.join(sorted(unknown))}); upgrade to read it")
    return applied
