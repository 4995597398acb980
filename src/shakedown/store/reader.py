"""Reading a campaign's database: candidates, trials, facts, time spent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from shakedown.domain.base import Value
from shakedown.domain.errors import StoreError
from shakedown.domain.events import EVENT, Event
from shakedown.domain.metric import PointSummary
from shakedown.domain.record import CandidateRecord, TrialRecord, TrialState, fold_events
from shakedown.store.database import DATABASE_NAME, opened_for_reading
from shakedown.store.errors import store_errors


class CampaignHeader(Value):
    """What the campaign is: its name, its file's text and the parsed spec, when the folder was made."""

    name: str
    text: str
    spec: dict[str, object]
    created_at: float


class CampaignReader:
    """The reading half of the store. ``with CampaignReader.open(folder) as reader`` never writes to the folder."""

    def __init__(self, folder: Path, db: sqlite3.Connection) -> None:
        self.folder = folder
        self._db = db
        self._path = folder / DATABASE_NAME

    @classmethod
    @contextmanager
    def open(cls, folder: Path) -> Iterator[Self]:
        """Read a running, finished, killed, copied or write-protected campaign.

        Raises:
            StoreError: if there is none, or it cannot be read.
        """
        with opened_for_reading(folder) as db:
            yield cls(folder, db)

    def header(self) -> CampaignHeader:
        """Name, file and time of the campaign."""
        rows = self._rows("SELECT name, text, spec, created_at FROM campaign")
        if not rows:
            raise StoreError(f"{self._path}: holds no campaign; it died while being made. Remove the folder.")
        name, text, spec, created_at = rows[0]
        return CampaignHeader(name=name, text=text, spec=json.loads(spec), created_at=created_at)

    def candidates(self) -> list[CandidateRecord]:
        """All candidates in the order they were first put."""
        return [self._parse(CandidateRecord, text) for (text,) in self._rows(_CANDIDATES)]

    def candidate(self, candidate_id: str) -> CandidateRecord | None:
        """One candidate, or None."""
        rows = self._rows("SELECT record FROM candidate WHERE id = ?", candidate_id)
        return self._parse(CandidateRecord, rows[0][0]) if rows else None

    def trials(self, candidate_id: str | None = None) -> list[TrialRecord]:
        """All trials, or those of one candidate, in the order they began; running and broken ones included."""
        rows = self._rows(_TRIALS, candidate_id, candidate_id)
        return [self._trial(*row) for row in rows]

    def trial(self, trial_id: str) -> TrialRecord | None:
        """One trial, or None."""
        rows = self._rows("SELECT id, candidate_id, state, begun_at, ended_at FROM trial WHERE id = ?", trial_id)
        return self._trial(*rows[0]) if rows else None

    def events_kept(self, trial_id: str) -> int:
        """How many events of a trial are stored."""
        return int(self._rows("SELECT count(*) FROM event WHERE trial_id = ?", trial_id)[0][0])

    def events(self, trial_id: str) -> list[Event]:
        """What one trial told, in order."""
        rows = self._rows("SELECT payload FROM event WHERE trial_id = ? ORDER BY number", trial_id)
        try:
            return [EVENT.validate_json(payload) for (payload,) in rows]
        except ValidationError as error:
            raise StoreError(f"{self._path}: trial {trial_id} holds an event this version cannot read") from error

    def points(self, trial_id: str) -> list[PointSummary]:
        """The load points of one trial in the order they were measured."""
        trial = self.trial(trial_id)
        return list(trial.points) if trial else []

    def unfinished_trials(self) -> list[TrialRecord]:
        """Trials that are running, or that were when the campaign died and nobody has resumed it yet."""
        return [trial for trial in self.trials() if trial.state == "running"]

    def fact(self, key: str) -> dict[str, object] | None:
        """One fact put under ``key`` (``machine``, ``model``, ``engine``), or None."""
        rows = self._rows("SELECT value FROM fact WHERE key = ?", key)
        if not rows:
            return None
        value: dict[str, object] = json.loads(rows[0][0])
        return value

    def facts(self) -> dict[str, dict[str, object]]:
        """All facts by key."""
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM fact ORDER BY key")}

    def wall_s(self) -> float:
        """Seconds that all sessions of this campaign were at work, by the monotonic clock, this one included."""
        return float(self._rows("SELECT coalesce(sum(elapsed_s), 0) FROM session")[0][0])

    def trial_folder(self, trial_id: str) -> Path:
        """Where the log and the request records of a trial are."""
        return self.folder / "trials" / trial_id

    def _trial(
        self, trial_id: str, candidate_id: str, state: TrialState, begun_at: float, ended_at: float | None
    ) -> TrialRecord:
        return fold_events(
            trial_id=trial_id,
            candidate_id=candidate_id,
            state=state,
            begun_at=begun_at,
            ended_at=ended_at,
            events=self.events(trial_id),
        )

    def _parse(self, kind: type[CandidateRecord], text: str) -> CandidateRecord:
        try:
            return kind.model_validate_json(text)
        except ValidationError as error:
            raise StoreError(f"{self._path}: holds a candidate this version cannot read") from error

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:  # the schema's STRICT tables give the types
        with store_errors(self._path):
            return self._db.execute(query, values).fetchall()


_CANDIDATES = "SELECT record FROM candidate ORDER BY number"
_TRIALS = """
SELECT id, candidate_id, state, begun_at, ended_at FROM trial
WHERE ? IS NULL OR candidate_id = ? ORDER BY number
"""
