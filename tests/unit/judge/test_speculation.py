"""Accept length and break-even from counters, against numbers worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.judge.campaigns import TEXT, campaign, candidate, counters, point, points, spread, trial

from shakedown.domain.words import FindingKind
from shakedown.judge import judge
from shakedown.judge.speculation import break_even, observe

OFF = candidate("baseline", {}, {"s": "off"})
ON = candidate("s=ngram", {"spec-type": "ngram-simple"}, {"s": "ngram"})


def test_steps_without_a_draft_count_as_steps_and_not_in_the_accept_length() -> None:
    # 100 tokens: 60 steps, 20 of them with a draft of four tokens of which two are accepted.
    seen = observe([point(counters=counters(100, 20, 80, 40))])
    assert seen is not None
    assert seen.accept_length == pytest.approx(3.0)
    assert seen.tokens_per_step == pytest.approx(100 / 60)
    assert seen.verified_share == pytest.approx(20 / 60)
    assert seen.acceptance_rate == pytest.approx(0.5)
    assert seen.most_possible == pytest.approx(5.0)


def test_without_a_count_of_drafts_every_step_had_one() -> None:
    seen = observe([point(counters=counters(100, None, 80, 40))])
    assert seen is not None
    assert seen.accept_length == pytest.approx(100 / 60)
    assert seen.verified_share == 1


def test_without_counters_the_points_own_accept_length_is_taken() -> None:
    seen = observe([point(accept_length=2.0), point(accept_length=3.0, draft_acceptance_rate=0.7)])
    assert seen is not None
    assert (seen.accept_length, seen.acceptance_rate, seen.drafted) == (2.5, 0.7, None)
    assert seen.drafting


@given(st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 10_000), st.floats(0, 1))
def test_an_accept_length_is_at_least_one(steps: int, accepted: int, rejected: int, share: float) -> None:
    drafts = share * steps
    seen = observe([point(counters=counters(steps + accepted, drafts, accepted + rejected, accepted))])
    assert seen is not None
    assert seen.accept_length >= 1
    assert seen.most_possible is None or seen.most_possible >= seen.accept_length


def test_counters_that_do_not_exist_are_none() -> None:
    assert observe([point()]) is None
    assert observe([]) is None
    assert break_even([point()], [point()]) is None


def test_the_break_even_is_the_ratio_of_step_times() -> None:
    # Two tokens a step at 10 ms a token is a step of 20 ms, against a plain one of 8 ms.
    ours = [point(counters=counters(100, 50, 60, 50), tpot_s=spread(0.010))]
    assert break_even(ours, [point(tpot_s=spread(0.008))]) == pytest.approx(2.5)


def test_plain_steps_in_between_are_taken_out_of_the_break_even() -> None:
    # 60 steps: 40 plain ones of 8 ms, 20 verifications of 20 ms: 720 ms for 100 tokens.
    ours = [point(counters=counters(100, 20, 80, 40), tpot_s=spread(0.0072))]
    assert break_even(ours, [point(tpot_s=spread(0.008))]) == pytest.approx(2.5)


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
        (101, 256, 280, "within the margin"),
        (99, 100, 1000, "within the margin"),
        (80, 100, 1000, "drafts are too poor"),
        (60, 256, 280, "verification is too dear"),
        (85, 200, 390, "costs more than the accepted drafts save"),
    ],
)
def test_the_reason_is_named(speed: float, accepted: int, drafted: int, reason: str) -> None:
    ours = points(speed, counters=counters(512, 512 - accepted, drafted, accepted))
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


def test_the_trap_is_seen_without_draft_counters_too() -> None:
    nextn = candidate("s=mtp", {"speculative-algorithm": "NEXTN"}, {"s": "mtp"})
    runs = [
        trial(OFF, points(172.2, accept_length=1.9), number=1, effective={"speculative_algorithm": "EAGLE"}),
        trial(nextn, points(172.1, accept_length=1.9), number=2, effective={"speculative_algorithm": "EAGLE"}),
    ]
    told = {finding.kind: finding.summary for finding in judge(campaign([OFF, nextn], runs)).findings}
    assert "both speculated" in told[FindingKind.SUSPICIOUS_NULL]
    assert "baseline was not asked to speculate" in told[FindingKind.NOT_IN_EFFECT]
