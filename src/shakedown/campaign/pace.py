"""How long launches take, what the budget still allows, and when it will be over."""

from __future__ import annotations

from statistics import median_low

from shakedown.campaign.library import REUSED
from shakedown.campaign.requests import point_plans
from shakedown.domain.record import TrialRecord
from shakedown.domain.result import CampaignResult
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.words import Verdict
from shakedown.store.reader import CampaignReader


class Pace:
    """Predicts from the launches of this campaign; before the first one it knows nothing and says so."""

    def __init__(self, spec: CampaignSpec) -> None:
        self._spec = spec
        self.points_per_launch = len(point_plans(spec.workloads()))
        self._rounds = max(workload.repeats or 1 for workload in spec.workloads())
        self._took: dict[str, float] = {}

    def note(self, trial_id: str, seconds: float) -> None:
        """Remember how long a launch of this session took, by a clock that nobody sets."""
        self._took[trial_id] = seconds

    def launch_s(self, store: CampaignReader, *, whole: bool) -> float | None:
        """Median time of the launches so far; ``whole``: of those measured to their end, where there are any.

        Earlier sessions left wall times only; a clock that was set spoils a few of them, and the median bears that. Of
        two launches the shorter counts: the first of an installation compiles kernels, which no later one does.
        """
        return self._median_s(self._finished(store, whole=whole))

    def _median_s(self, launches: list[TrialRecord]) -> float | None:
        took = [self._time_of(trial) for trial in launches]
        return max(0.0, median_low(took)) if took else None

    def _finished(self, store: CampaignReader, *, whole: bool) -> list[TrialRecord]:
        reused = store.fact(REUSED) or {}
        finished = [
            trial
            for trial in store.trials()
            if trial.state == "finished" and trial.ended_at is not None and trial.id not in reused
        ]
        if whole:
            finished = [trial for trial in finished if len(trial.points) == self.points_per_launch] or finished
        return finished

    def _time_of(self, trial: TrialRecord) -> float:
        return self._took.get(trial.id, (trial.ended_at or trial.begun_at) - trial.begun_at)

    def left_s(self, store: CampaignReader, result: CampaignResult) -> float | None:
        """Predicted seconds until every candidate has been launched once, within the budget.

        From what launches really took, those that failed early or were cut short included.
        """
        each = self.launch_s(store, whole=False)
        if each is None:
            return None
        left = each * sum(candidate.verdict is Verdict.NOT_RUN for candidate in result.candidates)
        budget = self.budget_left_s(store)
        return left if budget is None else min(left, max(0.0, budget))

    def launches_left(self, store: CampaignReader) -> int | None:
        """Launches that the budget still pays for; None without one or if nothing is known.

        All but the last measured to their end, the last at least through one round of its load points: a launch that is
        cut short there still decides something, and time that is left over decides nothing.
        """
        budget = self.budget_left_s(store)
        if budget is None:
            return None
        if budget <= 0:
            return 0
        known = self._finished(store, whole=True)
        each = self._median_s(known)
        if not each:
            return None
        one_round = median_low([self._time_of(trial) - trial.load_s * (1 - 1 / self._rounds) for trial in known])
        return 0 if budget < one_round else 1 + int((budget - one_round) // each)

    def position(self, store: CampaignReader) -> tuple[int, int]:
        """Number of the launch that just began, and of launches planned so far."""
        begun = [trial for trial in store.trials() if trial.state != "broken"]
        launched = {trial.candidate_id for trial in begun}
        waiting = [
            record
            for record in store.candidates()
            if record.candidate.id not in launched
            and (record.verdict is not Verdict.PRUNED or self._spec.campaign.launch_pruned)
        ]
        return len(begun), len(begun) + len(waiting)

    def is_over(self, store: CampaignReader) -> bool:
        """Whether the budget is spent."""
        left = self.budget_left_s(store)
        return left is not None and left <= 0

    def budget_left_s(self, store: CampaignReader) -> float | None:
        """Seconds of the budget that are left, negative when overdrawn; None without a budget."""
        budget = self._spec.campaign.budget_s
        return None if budget is None else budget - store.wall_s()
