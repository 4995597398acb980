"""The campaign loop: ask for a launch, run it, store every event, mend, judge, until nothing more would help."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from shakedown.campaign.blame import seek
from shakedown.campaign.enrol import enrol
from shakedown.campaign.interrupt import Interrupt
from shakedown.campaign.learn import learn
from shakedown.campaign.mend import mend
from shakedown.campaign.pace import Pace
from shakedown.campaign.places.base import Place, RunningTrial
from shakedown.campaign.progress import Announcer
from shakedown.campaign.requests import REFERENCE_FILE, trial_request
from shakedown.campaign.results import ENDED, judge_campaign
from shakedown.campaign.search import NextLaunch, next_launch
from shakedown.campaign.subject import Progress, Subject
from shakedown.client.clock import wall_time
from shakedown.domain.errors import ShakedownError
from shakedown.domain.events import TrialFinished
from shakedown.domain.failure import Failure
from shakedown.domain.progress import Watch
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.words import Stage, Verdict
from shakedown.engines.registry import engine_for
from shakedown.plan.strategies.registry import strategy_for
from shakedown.store.campaign_store import CampaignStore

MAX_DEATHS = 2
"""A trial process that dies by itself this often makes the candidate ``failed``; once may be bad luck."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: what is known now, and whether somebody stopped it."""

    result: CampaignResult
    interrupted: bool


class CampaignRunner:
    """Runs one campaign in one folder; a second runner over the same folder goes on where the first one stopped.

    Args:
        subject: what is tried, looked at beforehand.
        store: the open results folder.
        place: where trials run.
        watch: told what happens.
        tell: told, in a sentence, what takes time before the first launch.
        interrupt: asked between events whether to stop.
    """

    def __init__(
        self,
        subject: Subject,
        store: CampaignStore,
        place: Place,
        *,
        watch: Watch,
        tell: Progress,
        interrupt: Interrupt,
    ) -> None:
        self._subject = subject
        self._spec = subject.spec
        self._store = store
        self._place = place
        self._tell = tell
        self._announce = Announcer(watch)
        self._interrupt = interrupt
        self._engine = engine_for(subject.spec.engine.kind)
        self._strategy = strategy_for(subject.spec.campaign.strategy)
        self._pace = Pace(subject.spec)
        self._deaths: Counter[str] = Counter()

    def run(self) -> Ended:
        """Run until the verdict stands, the budget is spent or a stop is asked for.

        Raises:
            UserError: the folder's results were made under other conditions.
            StoreError: the results folder cannot be written.
        """
        enrol(self._subject, self._engine, self._store, progress=self._tell)
        self._store.resume()
        result = self._judge()
        self._announce.started(result, estimated_s=self._pace.left_s(self._store, result))
        for trial in self._store.trials():
            # A campaign that was killed between a trial's last event and its remedy owes the remedy.
            if trial.state == "finished" and not self._interrupt.requested:
                self._conclude(trial.id)
        result = self._judge()
        while not self._interrupt.requested:
            launch = self._next(result)
            if launch is None:
                break
            self._launch(launch.record)
            result = self._judge()
            self._announce.judged(_candidate(result, launch.record.candidate.id))
            self._announce.time_left(self._pace.left_s(self._store, result))
        if not self._interrupt.requested:
            self._store.put_fact(ENDED, {"at": wall_time()})
        result = judge_campaign(self._store, complete=not self._interrupt.requested)
        self._announce.ended(result, interrupted=self._interrupt.requested)
        return Ended(result, self._interrupt.requested)

    def _judge(self) -> CampaignResult:
        return judge_campaign(self._store, complete=False)

    def _next(self, result: CampaignResult) -> NextLaunch | None:
        launches_left = self._pace.launches_left(self._store)
        probe = seek(self._spec, self._engine, self._store)
        if probe is not None and launches_left != 0:
            if probe.is_new:
                self._announce.added(probe.record, probe.parent, f"without {probe.without}")
            return NextLaunch(probe.record, "find_culprit")
        return next_launch(
            self._spec,
            self._strategy,
            self._store.candidates(),
            self._store.trials(),
            result,
            has_reference=(self._store.folder / REFERENCE_FILE).exists(),
            launches_left=launches_left,
        )

    def _launch(self, record: CandidateRecord) -> None:
        trial_id = self._store.begin_trial(record.candidate.id)
        index, of = self._pace.position(self._store)
        self._announce.trial_began(trial_id, record, index=index, of=of)
        request = trial_request(
            self._spec,
            record,
            folder=self._store.folder,
            trial_folder=self._store.trial_folder(trial_id),
        )
        finished, ending = self._follow(trial_id, self._place.start(request))
        if not finished and not self._interrupt.requested:
            finished = self._trial_process_died(record.candidate.id, trial_id, ending)
        if not finished:
            self._store.mark_broken(trial_id)
            return
        self._conclude(trial_id)

    def _conclude(self, trial_id: str) -> None:
        """Draw from a finished launch what it teaches: a remedy's candidate, the same launch again, others pruned."""
        mended = mend(self._spec, self._engine, self._store, trial_id)
        if mended is not None and mended.is_new:
            self._announce.added(mended.record, mended.failed, mended.change)
        elif mended is not None and not self._interrupt.requested:
            self._launch(mended.record)
        elif mended is None and not self._spec.campaign.launch_pruned:
            learn(self._engine, self._store)

    def _follow(self, trial_id: str, running: RunningTrial) -> tuple[bool, str | None]:
        """Store a trial's events as they come; returns whether it finished, and how its process died if it did."""
        self._interrupt.on_stop = running.interrupt
        if self._interrupt.requested:
            running.interrupt()
        finished = False
        try:
            for event in running.events():
                self._store.append(trial_id, event)
                self._announce.event(trial_id, event)
                finished = finished or isinstance(event, TrialFinished)
        except ShakedownError:
            # The store is full or the trial speaks nonsense: the server must not outlive the campaign's interest in it.
            running.interrupt()
            raise
        finally:
            self._interrupt.on_stop = None
        return finished, running.ending()

    def _trial_process_died(self, candidate_id: str, trial_id: str, ending: str | None) -> bool:
        """Decide about a trial process that ended without a verdict: once is bad luck, again its own fault."""
        self._deaths[candidate_id] += 1
        if self._deaths[candidate_id] < MAX_DEATHS:
            return False
        reason = ending or "the trial process ended without a verdict"
        failure = Failure(category=None, signature=None, stage=Stage.LAUNCH, root_line=None, title=reason)
        event = TrialFinished(at=wall_time(), verdict=Verdict.FAILED, reason=reason, failure=failure)
        self._store.append(trial_id, event)
        self._announce.event(trial_id, event)
        return True


def _candidate(result: CampaignResult, candidate_id: str) -> CandidateResult:
    return next(candidate for candidate in result.candidates if candidate.id == candidate_id)
