"""Turns what SQLite and the file system say into one sentence that names the place and the mend."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shakedown.domain.errors import StoreError

KEPT = "Everything finished before is kept; run the campaign again to resume."

_BY_CODE = {
    "SQLITE_FULL": f"the disk is full. Free some space. {KEPT}",
    "SQLITE_READONLY": "it cannot be written: the file or its disk is read-only. Make it writable, or copy the folder.",
    "SQLITE_PERM": "it cannot be written: permission denied. Make it writable, or copy the folder.",
    "SQLITE_CANTOPEN": "it cannot be opened. Check that the folder exists and may be read and written.",
    "SQLITE_CORRUPT": "it is damaged. Restore it from a copy, or move the folder away and start anew.",
    "SQLITE_NOTADB": "it is damaged or no database. Restore it from a copy, or move the folder away and start anew.",
    "SQLITE_BUSY": "another process holds it. Wait for it to end.",
    "SQLITE_IOERR": f"the disk gave an error while reading or writing. Check the disk. {KEPT}",
}

_BY_ERRNO = {
    errno.ENOSPC: f"the disk is full. Free some space. {KEPT}",
    errno.EDQUOT: f"the disk quota is used up. Free some space. {KEPT}",
    errno.EROFS: "its disk is read-only. Choose another folder.",
    errno.EACCES: "permission denied. Make it writable, or choose another folder.",
    errno.EMFILE: f"no more file handles (ulimit -n). {KEPT}",
}


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise :class:`StoreError` instead of whatever the database or the file system raises inside."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {_sentence(error)}") from error
    except OSError as error:
        known = _BY_ERRNO.get(error.errno or 0)
        raise StoreError(f"{error.filename or path}: {known or error.strerror or error}") from error


def _sentence(error: sqlite3.Error) -> str:
    # Extended codes are the primary one with a suffix: SQLITE_READONLY_DBMOVED, SQLITE_IOERR_WRITE.
    name: str = getattr(error, "sqlite_errorname", "")
    primary = "_".join(name.split("_")[:2])
    return _BY_CODE.get(primary, str(error))
