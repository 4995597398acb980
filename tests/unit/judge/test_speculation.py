"""Accept length and break-even from counters, against numbers worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.judge.campaigns import TEXT, campaign, candidate, counters, point, points, spread, trial

from shakedown.domain.words import FindingKind
from shakedown.judge import judge
from shakedown.judge.speculation import DraftTotals, draft_totals, step_ratio

OFF = candidate("baseline", {}, {"s": "off"})
ON = candidate("s=ngram", {"spec-type": "ngram-simple"}, {"s": "ngram"})


def test_steps_without_a_draft_count_as_steps() -> None:
    # 100 tokens: 60 steps of their own, 40 accepted drafts out of 80.
    totals = DraftTotals(generated=100, drafted=80, accepted=40)
    assert totals.accept_length == pytest.approx(100 / 60)
    assert totals.acceptance_rate == pytest.approx(0.5)
    assert totals.most_possible == pytest.approx(1 + 80 / 60)


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_an_accept_length_is_at_least_one(steps: int, accepted: int, rejected: int) -> None:
    totals = DraftTotals(generated=steps + accepted, drafted=accepted + rejected, accepted=accepted)
    assert totals.accept_length is not None
    assert totals.most_possible is not None
    assert 1 <= totals.accept_length <= totals.most_possible


def test_counters_that_do_not_exist_are_none() -> None:
    assert draft_totals([point()]) is None
    assert step_ratio([point()], [point()]) is None


def test_the_break_even_is_the_ratio_of_step_times() -> None:
    # 2 tokens a step at 10 ms a token is a step of 20 ms, against a plain one of 8 ms.
    ours = [point(counters=counters(100, 30, 60, 50), tpot_s=spread(0.010))]
    plain = [point(tpot_s=spread(0.008))]
    assert step_ratio(ours, plain) == pytest.approx(2.5)


def test_the_crossover_concurrency_is_advised() -> None:
    drafting = counters(512, 256, 280, 256)
    plain = points(100, workloads=[TEXT])
    fast = [p for p in points(150, counters=drafting) if p.concurrency == 1]
    slow = [p for p in points(80, counters=drafting) if p.concurrency == 4]
    result = judge(campaign([OFF, ON], [trial(OFF, plain, number=1), trial(ON, [*fast, *slow], number=2)]))
    (finding,) = (f for f in result.findings if f.kind is FindingKind.SPECULATION)
    assert finding.advice == "Use it up to concurrency 1 and switch it off beyond: it no longer pays at 4."
    levels = finding.evidence["by_concurrency"]
    assert [round(level["gain_measured"], 2) for level in levels] == [0.5, -0.2]
    assert [round(level["gain_predicted"], 2) for level in levels] == [0.5, -0.2]


@pytest.mark.parametrize(
    ("speed", "accepted", "drafted", "reason"),
    [
        (150, 256, 280, "it pays"),
        (80, 100, 1000, "drafts are too poor"),
        (60, 256, 280, "verification is too dear"),
        (85, 200, 390, "costs more than the accepted drafts save"),
    ],
)
def test_the_reason_is_named(speed: float, accepted: int, drafted: int, reason: str) -> None:
    ours = points(speed, counters=counters(512, 100, drafted, accepted))
    result = judge(campaign([OFF, ON], [trial(OFF, points(100), number=1), trial(ON, ours, number=2)]))
    (finding,) = (f for f in result.findings if f.kind is FindingKind.SPECULATION)
    assert reason in finding.summary


def test_the_trap_of_a_baseline_that_speculated() -> None:
    """One speculating server measured as baseline and as NEXTN: doubt, not 'no gain'."""
    nextn = candidate("s=mtp", {"speculative-algorithm": "NEXTN"}, {"s": "mtp"})
    drafting = counters(512, 256, 256, 230)
    runs = [
        trial(OFF, points(172.2, counters=drafting), number=1),
        trial(nextn, points(172.1, counters=drafting), number=2),
    ]
    kinds = {finding.kind for finding in judge(campaign([OFF, nextn], runs)).findings}
    assert {FindingKind.SUSPICIOUS_NULL, FindingKind.NOT_IN_EFFECT} <= kinds
    assert FindingKind.EQUIVALENT not in kinds
