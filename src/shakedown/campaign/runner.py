"""The campaign loop: ask for a launch, run it, store every event, mend, judge, until nothing more would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from shakedown.campaign.blame import seek
from shakedown.campaign.crew import Crew, pooled_trials
from shakedown.campaign.enrol import enrol
from shakedown.campaign.equal_hosts import difference
from shakedown.campaign.following import Following, Over, Said
from shakedown.campaign.forced import FORCED, forced_launches, forced_points, run_forced
from shakedown.campaign.foresight import mend_beforehand
from shakedown.campaign.interrupt import Interrupt
from shakedown.campaign.learn import learn
from shakedown.campaign.library import find_earlier, reuse
from shakedown.campaign.mend import mend
from shakedown.campaign.pace import Pace
from shakedown.campaign.places.base import Place, RunningTrial
from shakedown.campaign.progress import Announcer
from shakedown.campaign.requests import REFERENCE_FILE, limits_of, trial_request
from shakedown.campaign.results import ENDED, judge_campaign
from shakedown.campaign.search import NextLaunch, next_launch
from shakedown.campaign.subject import Progress, Subject
from shakedown.client.clock import now_ns, wall_time
from shakedown.domain.errors import PlaceError
from shakedown.domain.events import TrialFinished
from shakedown.domain.failure import Failure
from shakedown.domain.progress import Watch
from shakedown.domain.record import CandidateRecord
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.domain.words import PlaceKind, Stage, Verdict
from shakedown.engines.registry import engine_for
from shakedown.plan.strategies.registry import strategy_for
from shakedown.store.campaign_store import CampaignStore

MAX_DEATHS = 3
"""A trial process that dies by itself so often in one session makes the candidate ``failed``; less may be bad luck."""


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
        apart: hosts of the place that are known to differ from the others, and in what.
        reuse_earlier: take launches of earlier campaigns that were made under the same conditions.
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
        apart: Mapping[str, str] | None = None,
        reuse_earlier: bool = False,
    ) -> None:
        self._subject = subject
        self._spec = subject.spec
        self._store = store
        self._place = place
        self._tell = tell
        self._announce = Announcer(watch)
        self._interrupt = interrupt
        self._reuse = reuse_earlier
        self._engine = engine_for(subject.spec.engine.kind)
        self._strategy = strategy_for(subject.spec.campaign.strategy)
        self._pace = Pace(subject.spec)
        self._deaths: Counter[str] = Counter()
        self._crew = Crew(place.hosts, apart or {}, store, local=place.kind is PlaceKind.LOCAL)
        self._trials = Following()
        self._under_way: dict[str, _UnderWay] = {}
        self._again: list[CandidateRecord] = []
        """Launches that a remedy wants made again, unchanged."""

    def run(self) -> Ended:
        """Run until the verdict stands, the budget is spent or a stop is asked for.

        Raises:
            UserError: the folder's results were made under other conditions.
            PlaceError: no host is left that trials could run on.
            StoreError: the results folder cannot be written.
        """
        local = self._place.kind is PlaceKind.LOCAL
        enrol(self._subject, self._engine, self._store, plan=self._place.plan, tell=self._tell, one_machine=local)
        self._interrupt.on_stop = self._on_stop
        try:
            self._look_back()
            self._take_up()
            result = self._judge()
            self._announce.started(result, estimated_s=self._pace.left_s(self._store, result))
            self._settle()
            result = self._go_on(self._judge())
            if not self._interrupt.requested:
                self._measure_step_cost(result)
        finally:
            # The store may be full or a trial speak nonsense: no server must outlive the campaign's interest in it.
            self._trials.stop()
            self._interrupt.on_stop = None
        if not self._interrupt.requested:
            self._store.put_fact(ENDED, {"at": wall_time(), "budget_exhausted": self._wants_more(result)})
        result = judge_campaign(self._store, complete=not self._interrupt.requested)
        self._announce.ended(result, interrupted=self._interrupt.requested)
        return Ended(result, self._interrupt.requested)

    def _on_stop(self) -> None:
        if self._interrupt.hung_up:
            self._trials.leave()
        else:
            self._trials.stop()

    def _look_back(self) -> None:
        """Take from earlier campaigns what still holds, or say that it could be taken; only before the first launch."""
        if self._store.trials():
            return
        earlier = find_earlier(self._spec, self._subject.facts(), self._store, self._tell)
        for campaign in earlier:
            how = "taken from" if self._reuse else "could be taken, with --reuse, from"
            self._tell(f"{len(campaign.trials)} launches under the same conditions {how} {campaign.folder}")
        if self._reuse:
            reuse(self._store, earlier)

    def _settle(self) -> None:
        """Do what a campaign that was killed between a trial's last event and its consequences still owes.

        All remedies before any lesson: a failure that will be mended teaches nothing.
        """
        for trial in pooled_trials(self._store):
            if trial.state == "finished":
                self._apply_remedy(trial.id)
        self._learn()

    def _take_up(self) -> None:
        """Go on with trials that an earlier process of this campaign left; those that are gone count for nothing."""
        for trial in self._store.unfinished_trials():
            record = self._store.candidate(trial.candidate_id)
            assert record is not None
            after = self._store.events_kept(trial.id)
            running = self._place.attach(self._store.trial_folder(trial.id).resolve(), after=after)
            if running is None:
                self._store.mark_broken(trial.id)
            else:
                self._follow(trial.id, record, self._crew.host_of(trial.id), running)

    def _go_on(self, result: CampaignResult) -> CampaignResult:
        """Keep the hosts busy and take in what they say, until nothing runs and nothing more is to be launched."""
        self._start_what_can_be(result)
        while len(self._trials):
            heard = self._trials.next()
            if isinstance(heard, Said):
                self._store.append(heard.trial_id, heard.event)
                self._announce.event(heard.trial_id, heard.event)
                if isinstance(heard.event, TrialFinished):
                    self._under_way[heard.trial_id].finished = True
                continue
            launch = self._under_way.pop(heard.trial_id)
            self._end(heard, launch)
            result = self._judge()
            self._announce.judged(_candidate(result, launch.record.candidate.id))
            self._announce.time_left(self._pace.left_s(self._store, result))
            self._start_what_can_be(result)
        return result

    def _judge(self) -> CampaignResult:
        return judge_campaign(self._store, complete=False)

    def _start_what_can_be(self, result: CampaignResult) -> None:
        """Give a launch to every idle host that may have one."""
        for host in self._crew.idle:
            if self._interrupt.requested:
                return
            launch = self._for_host(host, result) if host in self._crew.left else None
            if launch is not None:
                self._launch(launch, host)
        if not self._crew.left and not self._interrupt.requested and self._next(result) is not None:
            lost = "; ".join(f"{host}: {reason}" for host, reason in (self._crew.lost | self._crew.apart).items())
            raise PlaceError(f"no host is left to go on with ({lost}); run the same command again to resume")

    def _for_host(self, host: str, result: CampaignResult) -> NextLaunch | None:
        """What ``host`` is to launch now: the reference until it is proven equal, then whatever is next.

        While the reference is not measured anywhere, the first host alone is at work.
        """
        reference = result.campaign.reference
        where = self._crew.measured_on(self._store.trials(), reference) if reference is not None else {}
        proven = {name for name in where if name in self._crew.left} or {self._crew.left[0]}
        if host in proven:
            if self._again:
                return NextLaunch(self._again.pop(), "again")
            return self._next(result)
        if not where or reference is None or self._next(result) is None:
            return None
        record = self._store.candidate(reference)
        return NextLaunch(record, "reference") if record is not None else None

    def _next(self, result: CampaignResult) -> NextLaunch | None:
        launches_left = self._pace.launches_left(self._store)
        running = [launch.record.candidate.id for launch in self._under_way.values()]
        probe = seek(self._spec, self._engine, self._store)
        if probe is not None and launches_left != 0 and probe.record.candidate.id not in running:
            if probe.is_new:
                self._announce.added(probe.record, probe.parent, f"without {probe.without}")
            return NextLaunch(probe.record, "find_culprit")
        return self._strategys_next(result, launches_left)

    def _strategys_next(self, result: CampaignResult, launches_left: int | None) -> NextLaunch | None:
        return next_launch(
            self._spec,
            self._strategy,
            self._store.candidates(),
            pooled_trials(self._store),
            result,
            has_reference=(self._store.folder / REFERENCE_FILE).exists(),
            launches_left=launches_left,
            running=[launch.record.candidate.id for launch in self._under_way.values()],
        )

    def _wants_more(self, result: CampaignResult) -> bool:
        """Whether something more would be launched if the budget allowed it."""
        return self._pace.budget_left_s(self._store) is not None and self._strategys_next(result, None) is not None

    def _measure_step_cost(self, result: CampaignResult) -> None:
        """Launch the best speculation twice more with acceptance made up, unless that was done or time is out."""
        left = self._pace.launches_left(self._store)
        if FORCED in self._store.facts() or not self._crew.left or (left is not None and left < 2):
            return
        candidates = {record.candidate.id: record.candidate for record in self._store.candidates()}
        launches, points = forced_launches(self._spec, self._engine, candidates, result), forced_points(self._spec)
        runs = []
        for launch in launches if points else []:
            self._tell(
                f"{launch.label}: {launch.draft_tokens} tokens drafted a step, acceptance made up: what a step costs"
            )
            run = run_forced(
                self._place,
                launch,
                host=self._crew.left[0],
                folder=self._store.folder / FORCED / f"{launch.draft_tokens}-tokens",
                points=points,
                limits=limits_of(self._spec),
                follow=self._stoppable,
            )
            self._interrupt.on_stop = self._on_stop
            if self._interrupt.requested:
                return
            runs += [run] if run is not None else []
        if runs:
            self._store.put_fact(FORCED, {"runs": [run.model_dump(mode="json") for run in runs]})

    def _stoppable(self, running: RunningTrial) -> None:
        self._interrupt.on_stop = running.interrupt
        if self._interrupt.requested:
            running.interrupt()

    def _launch(self, launch: NextLaunch, host: str) -> None:
        record = launch.record
        trial_id = self._store.begin_trial(record.candidate.id)
        begun_ns = now_ns()
        request = trial_request(
            self._spec,
            record,
            folder=self._store.folder,
            trial_folder=self._store.trial_folder(trial_id),
            race=launch.race,
            time_left_s=self._pace.budget_left_s(self._store),
        )
        self._crew.begin(trial_id, host)
        try:
            running = self._place.start(request, host=host)
        except PlaceError as error:
            self._store.mark_broken(trial_id)
            self._crew.end(host, lost=str(error), gone=True)
            self._tell(f"{host} is given up: {error}")
            return
        self._follow(trial_id, record, host, running)
        self._under_way[trial_id].begun_ns = begun_ns

    def _follow(self, trial_id: str, record: CandidateRecord, host: str, running: RunningTrial) -> None:
        index, of = self._pace.position(self._store)
        self._crew.begin(trial_id, host)
        self._under_way[trial_id] = _UnderWay(record, host)
        self._announce.trial_began(trial_id, record, index=index, of=of, host=self._crew.shown(host))
        self._trials.add(trial_id, running)
        if self._interrupt.requested:  # while it was started
            self._on_stop()

    def _end(self, over: Over, launch: _UnderWay) -> None:
        """Draw the conclusions of a trial that has ended."""
        if over.error is not None:
            raise over.error
        lost = over.running.lost()
        self._crew.end(launch.host, lost=lost.reason if lost else None, gone=lost is not None and lost.host_gone)
        if over.left:
            return
        if launch.begun_ns is not None:
            self._pace.note(over.trial_id, (now_ns() - launch.begun_ns) / 1e9)
        finished = launch.finished
        if lost is not None and not finished:
            self._tell(f"{launch.host}: {launch.record.candidate.label}: {lost.reason}; it is run again")
        elif not finished and not self._interrupt.requested and not self._pace.is_over(self._store):
            finished = self._trial_process_died(launch.record.candidate.id, over.trial_id, over.running.ending())
        if not finished:
            self._store.mark_broken(over.trial_id)
            return
        if not self._host_counts(launch, over.trial_id):
            return
        if not self._apply_remedy(over.trial_id):
            self._learn()

    def _apply_remedy(self, trial_id: str) -> bool:
        """Add the candidate that a remedy makes of a failed launch, or have the launch made again; whether one did."""
        mended = mend(self._spec, self._engine, self._store, trial_id)
        if mended is None:
            return False
        if mended.is_new:
            self._announce.added(mended.record, mended.failed, mended.change)
        elif mended.record.candidate.id not in {record.candidate.id for record in self._again}:
            self._again.append(mended.record)
        return True

    def _learn(self) -> None:
        if not self._spec.campaign.launch_pruned:
            learn(self._engine, self._store)
            mend_beforehand(self._spec, self._engine, self._store)

    def _host_counts(self, launch: _UnderWay, trial_id: str) -> bool:
        """Whether the trial's host is equal to the first one; the first trial there shows it, or sets it apart.

        Later trials do not: of many comparisons one is always far out.
        """
        trials = self._store.trials()
        here = [trial for trial in trials if trial.state == "finished" and self._crew.host_of(trial.id) == launch.host]
        where = self._crew.measured_on(trials, launch.record.candidate.id)
        theirs = {host: found for host, found in where.items() if host in self._crew.left and host != launch.host}
        if not theirs or [trial.id for trial in here] != [trial_id]:
            return True
        first, measure = next(iter(theirs.items()))
        reason = difference(self._spec, first, measure, launch.host, here)
        if reason is not None:
            self._crew.set_apart(launch.host, reason)
            self._tell(f"{launch.host} is set apart: {reason}; nothing measured there counts")
        return reason is None

    def _trial_process_died(self, candidate_id: str, trial_id: str, ending: str | None) -> bool:
        """Decide about a trial process that ended without a verdict: bad luck, or over and over its own fault."""
        self._deaths[candidate_id] += 1
        if self._deaths[candidate_id] < MAX_DEATHS:
            return False
        reason = ending or "the trial process ended without a verdict"
        failure = Failure(category=None, signature=None, stage=Stage.LAUNCH, root_line=None, title=reason)
        event = TrialFinished(at=wall_time(), verdict=Verdict.FAILED, reason=reason, failure=failure)
        self._store.append(trial_id, event)
        self._announce.event(trial_id, event)
        return True


@dataclass(slots=True)
class _UnderWay:
    """A launch whose trial runs."""

    record: CandidateRecord
    host: str
    finished: bool = False
    begun_ns: int | None = None
    """By the monotonic clock; None for a trial that an earlier process began."""


def _candidate(result: CampaignResult, candidate_id: str) -> CandidateResult:
    return next(candidate for candidate in result.candidates if candidate.id == candidate_id)
