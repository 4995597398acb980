"""Statistics, failures and gates to verdicts with reasons."""

from shakedown.judge.ceilings import planned_ceilings
from shakedown.judge.decide import judge
from shakedown.judge.evidence import CampaignEvidence, Ceiling
from shakedown.judge.reference import choose_reference
from shakedown.judge.verdicts import decide_verdict

__all__ = ["CampaignEvidence", "Ceiling", "choose_reference", "decide_verdict", "judge", "planned_ceilings"]
