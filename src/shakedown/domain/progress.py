"""What a campaign says while it runs: the contract between the runner and whoever watches. Shown, never stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from shakedown.domain.base import UnixSeconds, Value
from shakedown.domain.events import Event
from shakedown.domain.words import Verdict


class _Update(Value):
    at: UnixSeconds


class CampaignStarted(_Update):
    """The plan stands. ``finished`` counts candidates judged in an earlier run of the same folder."""

    type: Literal["campaign_started"] = "campaign_started"
    name: str
    folder: str
    candidates: int
    """Candidates to launch, finished ones included, pruned ones left out."""
    pruned: int
    finished: int = 0
    estimated_s: float | None


class CandidateAdded(_Update):
    """A remedy or a completion made a further candidate."""

    type: Literal["candidate_added"] = "candidate_added"
    candidate_id: str
    label: str
    derived_from: str | None
    """Label of the candidate it was made from."""
    remedy: str | None
    """What was changed, in words."""


class TrialBegan(_Update):
    """A launch begins; it is number ``index`` (from 1) of the ``of`` now planned."""

    type: Literal["trial_began"] = "trial_began"
    trial_id: str
    candidate_id: str
    label: str
    index: int
    of: int
    host: str | None = None
    """Where it runs; None: on this machine."""


class TrialEvent(_Update):
    """An event of a running trial, passed on as it came."""

    type: Literal["trial_event"] = "trial_event"
    trial_id: str
    event: Event


class CandidateJudged(_Update):
    """What is said of a candidate so far; a later launch may change it, then this comes again.

    ``headline`` is its best load figure in words for a person (``"98.4 tok/s at 4"``), None where there is none.
    """

    type: Literal["candidate_judged"] = "candidate_judged"
    candidate_id: str
    label: str
    verdict: Verdict
    reason: str
    headline: str | None = None


class TimeLeft(_Update):
    """The runner's present guess; None while it knows too little."""

    type: Literal["time_left"] = "time_left"
    seconds: float | None


class CampaignEnded(_Update):
    """The last update. ``interrupted``: stopped by the user, to be resumed."""

    type: Literal["campaign_ended"] = "campaign_ended"
    winner: str | None
    """Label of the winner."""
    interrupted: bool = False


CampaignUpdate = Annotated[
    CampaignStarted | CandidateAdded | TrialBegan | TrialEvent | CandidateJudged | TimeLeft | CampaignEnded,
    Field(discriminator="type"),
]

UPDATE: TypeAdapter[CampaignUpdate] = TypeAdapter(CampaignUpdate)
"""``UPDATE.validate_json(line)`` and ``UPDATE.dump_json(update)``."""

Watch = Callable[[CampaignUpdate], None]
"""What the runner calls with every update; a live view's ``handle`` is one. It must return fast and not raise."""
