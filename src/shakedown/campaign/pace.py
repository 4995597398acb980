"""How long launches take, what the budget still allows, and when it will be over."""

from __future__ import annotations

from shakedown.campaign.requests import point_plans
from shakedown.domain.result import CampaignResult
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.words import Verdict
from shakedown.store.reader import CampaignReader


class Pace:
    """Predicts from the launches of this campaign; before the first one it knows nothing and says so."""

    def __init__(self, spec: CampaignSpec) -> None:
        self._spec = spec
        self.points_per_launch = len(point_plans(spec.workloads()))

    def launch_s(self, store: CampaignReader) -> float | None:
        """Mean wall time of a launch that was measured to its end, else of any launch."""
        finished = [trial for trial in store.trials() if trial.state == "finished" and trial.ended_at is not None]
        whole = [trial for trial in finished if len(trial.points) == self.points_per_launch] or finished
        if not whole:
            return None
        return sum((trial.ended_at or trial.begun_at) - trial.begun_at for trial in whole) / len(whole)

    def left_s(self, store: CampaignReader, result: CampaignResult) -> float | None:
        """Predicted seconds until every candidate has been launched once, within the budget."""
        each = self.launch_s(store)
        if each is None:
            return None
        left = each * sum(candidate.verdict is Verdict.NOT_RUN for candidate in result.candidates)
        budget = self._budget_left_s(store)
        return left if budget is None else min(left, budget)

    def launches_left(self, store: CampaignReader) -> int | None:
        """Launches that the budget still pays for; None without a budget or before anything is known."""
        budget, each = self._budget_left_s(store), self.launch_s(store)
        if budget is None:
            return None
        if budget <= 0:
            return 0
        return None if each is None else int(budget // each)

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

    def _budget_left_s(self, store: CampaignReader) -> float | None:
        budget = self._spec.campaign.budget_s
        return None if budget is None else budget - store.wall_s()
