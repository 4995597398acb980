"""The hosts of a place: which are free, which are proven equal, which are set apart or lost.

Trials of several hosts are pooled in one comparison only if the hosts are equal. So one host measures the reference
first; every other one measures it too before it takes part, and is set apart if it comes to something else there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from shakedown.domain.record import TrialRecord
from shakedown.store.campaign_store import CampaignStore
from shakedown.store.reader import CampaignReader

HOSTS = "hosts"
"""Key of the fact that says where each trial ran, and which hosts are set apart or were lost."""
MAX_LOSSES = 2
"""A host that loses so many trials in a row is given up, whether it answers or not."""


class Crew:
    """Keeps account of a place's hosts, in the store too.

    Args:
        names: the place's hosts in the order of the campaign file.
        apart: hosts that inspection has found to differ, and in what.
        store: where the account is kept.
        local: the one host is this machine; it has no name in the results.
    """

    def __init__(self, names: tuple[str, ...], apart: Mapping[str, str], store: CampaignStore, *, local: bool) -> None:
        known = store.fact(HOSTS) or {}
        self._store = store
        self._local = local
        self._where: dict[str, str] = _texts(known.get("trials"))
        self.apart: dict[str, str] = {**_texts(known.get("apart")), **apart}
        self._lost_ever: dict[str, str] = _texts(known.get("lost"))
        self.lost: dict[str, str] = {}
        self._names = names
        self._busy: set[str] = set()
        self._losses: Counter[str] = Counter()
        if not local:
            self._keep()

    @property
    def idle(self) -> list[str]:
        """Hosts that could run a trial now."""
        return [name for name in self._names if name not in {*self._busy, *self.apart, *self.lost}]

    @property
    def left(self) -> list[str]:
        """Hosts that are neither set apart nor lost, busy ones included."""
        return [name for name in self._names if name not in {*self.apart, *self.lost}]

    def shown(self, host: str) -> str | None:
        """The host's name for people; None for this machine."""
        return None if self._local else host

    def host_of(self, trial_id: str) -> str:
        """Where a trial ran; the first host for one of which nothing is known."""
        return self._where.get(trial_id, self._names[0])

    def begin(self, trial_id: str, host: str) -> None:
        """A trial was given to ``host``."""
        self._busy.add(host)
        self._where[trial_id] = host
        if not self._local:
            self._keep()

    def end(self, host: str, *, lost: str | None = None, gone: bool = False) -> None:
        """The host's trial is over; ``lost`` says why if it ended for no reason of its own."""
        self._busy.discard(host)
        if lost is None:
            self._losses.pop(host, None)
            return
        self._losses[host] += 1
        if gone or self._losses[host] >= MAX_LOSSES:
            self.lost[host] = self._lost_ever[host] = lost
            self._keep()

    def set_apart(self, host: str, reason: str) -> None:
        """Nothing measured on ``host`` counts, and it gets no more trials."""
        self.apart[host] = reason
        self._keep()

    def measured_on(self, trials: list[TrialRecord], candidate_id: str) -> dict[str, list[TrialRecord]]:
        """Finished trials of one candidate by host."""
        found: dict[str, list[TrialRecord]] = {}
        for trial in trials:
            if trial.state == "finished" and trial.candidate_id == candidate_id:
                found.setdefault(self.host_of(trial.id), []).append(trial)
        return found

    def _keep(self) -> None:
        self._store.put_fact(HOSTS, {"trials": self._where, "apart": self.apart, "lost": self._lost_ever})


def pooled_trials(reader: CampaignReader) -> list[TrialRecord]:
    """All trials that count, each with its host: those of hosts that were set apart are left out."""
    known = reader.fact(HOSTS) or {}
    where, apart = _texts(known.get("trials")), _texts(known.get("apart"))
    trials = [trial.model_copy(update={"host": where.get(trial.id)}) for trial in reader.trials()]
    return [trial for trial in trials if trial.host not in apart]


def hosts_apart(reader: CampaignReader) -> dict[str, str]:
    """Hosts that were set apart, and why."""
    return _texts((reader.fact(HOSTS) or {}).get("apart"))


def hosts_lost(reader: CampaignReader) -> dict[str, str]:
    """Hosts that were given up, and why."""
    return _texts((reader.fact(HOSTS) or {}).get("lost"))


def _texts(value: Any) -> dict[str, str]:
    return {str(key): str(text) for key, text in value.items()} if isinstance(value, dict) else {}
