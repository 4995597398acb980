"""The campaign's memory: every event as it happens, so that a killed campaign resumes and nothing runs twice."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from shakedown.domain.errors import StoreError, UserError
from shakedown.domain.events import EVENT, Event, PointProgress, TrialFinished
from shakedown.domain.record import CandidateRecord, TrialRecord
from shakedown.store.database import open_for_writing, transaction
from shakedown.store.errors import store_errors
from shakedown.store.lock import FolderLock
from shakedown.store.reader import CampaignReader

if TYPE_CHECKING:
    from collections.abc import Iterator

CAMPAIGN_FILE_NAME = "campaign.toml"
CHANGEABLE = frozenset({("campaign", "budget"), ("decide", "launches"), ("decide", "margin"), ("decide", "confidence")})
"""Keys that a resumed campaign may change: how long and how surely to decide, not what a trial measures."""


class CampaignStore(CampaignReader):
    """The writing half of the store, for the one process that holds the folder; used from one thread.

    Each method is one transaction. A trial is finished by its :class:`TrialFinished` event and from then on immutable;
    the database itself refuses any change.
    """

    def __init__(self, folder: Path, db: sqlite3.Connection, lock: FolderLock) -> None:
        super().__init__(folder, db)
        self._lock = lock
        self._opened = time.monotonic()
        self._session: int | None = None

    @classmethod
    def create_or_open(
        cls, folder: Path, *, name: str, campaign_text: str, spec: Mapping[str, object]
    ) -> CampaignStore:
        """Make the folder, or resume the campaign in it.

        Args:
            folder: results folder; made with its parents if missing.
            name: the campaign's name.
            campaign_text: the campaign file as it was given, kept as ``campaign.toml``.
            spec: the parsed file as JSON values. A stored campaign is the same one if this is equal; comments, order
                and spelling of the text do not matter, and ``CHANGEABLE`` keys may be given other values.

        Raises:
            UserError: the folder holds another campaign.
            StoreBusyError: another process holds the folder.
            StoreError: it cannot be written or is damaged.
        """
        with store_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as undone:
            lock = undone.enter_context(FolderLock(folder))
            db = undone.enter_context(closing(open_for_writing(folder)))
            store = cls(folder, db, lock)
            store._begin_session(name, campaign_text, spec)
            undone.pop_all()
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Account for the time and let go of the folder."""
        try:
            with self._transaction():
                pass
        finally:
            self._db.close()
            self._lock.release()

    def put_candidate(self, record: CandidateRecord) -> None:
        """Add a candidate, or replace what is known of it (verdict, reason, ``mended_by``); its content cannot change.

        Raises:
            StoreError: on a change of the candidate itself, or when the database cannot be written.
        """
        with self._transaction():
            self._db.execute(
                "INSERT INTO candidate (id, record) VALUES (?, ?)"
                " ON CONFLICT (id) DO UPDATE SET record = excluded.record",
                (record.candidate.id, record.model_dump_json()),
            )

    def put_fact(self, key: str, value: Mapping[str, object]) -> None:
        """Keep a JSON object under ``key``, in place of the one before."""
        with self._transaction():
            self._db.execute(
                "INSERT INTO fact VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE"
                " SET value = excluded.value, recorded_at = excluded.recorded_at",
                (key, json.dumps(value), time.time()),
            )

    def begin_trial(self, candidate_id: str) -> str:
        """Begin a launch of a candidate and make its folder; returns the trial's id."""
        with self._transaction():
            (count,) = self._db.execute("SELECT count(*) FROM trial").fetchone()
            trial_id = f"{count + 1:04d}-{candidate_id}"
            self._db.execute(
                "INSERT INTO trial (id, candidate_id, begun_at) VALUES (?, ?, ?)",
                (trial_id, candidate_id, time.time()),
            )
            self.trial_folder(trial_id).mkdir(parents=True, exist_ok=True)
        return trial_id

    def append(self, trial_id: str, event: Event) -> None:
        """Keep one event; the last one, ``TrialFinished``, finishes the trial in the same transaction.

        ``PointProgress`` is for the live view and is not kept.
        """
        if isinstance(event, PointProgress):
            return
        with self._transaction():
            (count,) = self._db.execute("SELECT count(*) FROM event WHERE trial_id = ?", (trial_id,)).fetchone()
            self._db.execute(
                "INSERT INTO event VALUES (?, ?, ?, ?, ?)",
                (trial_id, count + 1, event.type, event.at, EVENT.dump_json(event).decode()),
            )
            if isinstance(event, TrialFinished):
                self._end_trial(trial_id, "finished")

    def mark_broken(self, trial_id: str) -> None:
        """Say that a running trial will never finish: it counts for nothing and its candidate is run again."""
        with self._transaction():
            self._end_trial(trial_id, "broken")

    def resume(self) -> list[TrialRecord]:
        """Mark every trial that an earlier session left running as broken; returns them as they were left."""
        left = self.unfinished_trials()
        for trial in left:
            self.mark_broken(trial.id)
        return left

    def _end_trial(self, trial_id: str, state: str) -> None:
        changed = self._db.execute(
            "UPDATE trial SET state = ?, ended_at = ? WHERE id = ?", (state, time.time(), trial_id)
        )
        if changed.rowcount != 1:
            raise StoreError(f"{self._path}: no trial {trial_id}")

    def _begin_session(self, name: str, campaign_text: str, spec: Mapping[str, object]) -> None:
        # Through JSON, so that a tuple equals the list that it is read back as.
        canonical = json.dumps(spec, sort_keys=True)
        stored = self._rows("SELECT name, spec FROM campaign")
        if stored:
            before = json.loads(str(stored[0][1]))
            if _measured(before) != _measured(json.loads(canonical)):
                raise UserError(_other_campaign(self.folder, str(stored[0][0]), before, spec))
        changed = not stored or stored[0][1] != canonical
        with self._transaction():
            if not stored:
                self._db.execute(
                    "INSERT INTO campaign VALUES (1, ?, ?, ?, ?)", (name, campaign_text, canonical, time.time())
                )
            elif changed:
                self._db.execute("UPDATE campaign SET text = ?, spec = ?", (campaign_text, canonical))
            row = self._db.execute("INSERT INTO session (opened_at) VALUES (?) RETURNING number", (time.time(),))
            (self._session,) = row.fetchone()
        if changed:
            with store_errors(self.folder):
                (self.folder / CAMPAIGN_FILE_NAME).write_text(campaign_text, encoding="utf-8")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with transaction(self._db, self._path):
            yield
            if self._session is not None:
                elapsed_s = time.monotonic() - self._opened
                self._db.execute("UPDATE session SET elapsed_s = ? WHERE number = ?", (elapsed_s, self._session))


def _measured(spec: Mapping[str, Any]) -> dict[str, object]:
    """The part of a campaign that its trials depend on."""
    return {
        section: {key: value for key, value in keys.items() if (section, key) not in CHANGEABLE}
        if isinstance(keys, dict)
        else keys
        for section, keys in spec.items()
    }


def _other_campaign(folder: Path, name: str, stored: Mapping[str, object], given: Mapping[str, object]) -> str:
    theirs, ours = _measured(stored), _measured(json.loads(json.dumps(given)))
    differing = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
    return (
        f"{folder} holds another campaign ({name!r}; the files differ in {', '.join(differing)}). "
        f"Choose another folder with --out, or run the {CAMPAIGN_FILE_NAME} in that folder to resume it."
    )
