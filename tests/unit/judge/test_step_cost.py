"""Throughput of draft lengths that were never tried, against numbers worked by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.judge.campaigns import TEXT, campaign, candidate, counters, point, spread, trial

from shakedown.domain.words import FindingKind
from shakedown.judge import judge
from shakedown.judge.step_cost import ForcedRun, accept_length_at, predict, step_time_s

OFF = candidate("baseline", {}, {"s": "off"})
ON = candidate("s=mtp", {"speculative-algorithm": "NEXTN"}, {"s": "mtp"})


def forced(drafted: int, step_s: float, concurrency: int = 1) -> ForcedRun:
    """Every step of 100 drafted, two tokens a step: 200 tokens."""
    window = counters(200, drafts=100, drafted=100 * drafted, accepted=100)
    of = point("text", concurrency, counters=window, tpot_s=spread(step_s / 2), ttft_s=spread(0.1))
    return ForcedRun(candidate_id=ON.id, draft_tokens=drafted, accept_length=2.0, points=(of,))


def test_a_step_between_two_that_were_measured_is_on_the_line() -> None:
    runs = [forced(1, 0.016), forced(5, 0.024)]
    assert step_time_s(runs, 1, 1) == pytest.approx(0.016)
    assert step_time_s(runs, 1, 3) == pytest.approx(0.020)
    assert step_time_s(runs, 1, 5) == pytest.approx(0.024)
    assert step_time_s(runs, 4, 3) is None
    assert step_time_s(runs[:1], 1, 3) is None


def test_positions_say_what_a_shorter_draft_would_bring() -> None:
    window = counters(270, drafts=100, drafted=300, accepted=170, accepted_per_position=(80.0, 60.0, 30.0))
    points = [point(counters=window)]
    assert accept_length_at(points, 1) == pytest.approx(1.8)
    assert accept_length_at(points, 3) == pytest.approx(2.7)


@given(st.floats(0.05, 0.95), st.integers(1, 6), st.integers(1, 6))
def test_without_positions_one_chance_explains_the_length_at_every_other(
    chance: float, drafted: int, other: int
) -> None:
    accepted = 1000 * sum(chance**place for place in range(1, drafted + 1))
    window = counters(1000 + accepted, drafts=1000, drafted=1000 * drafted, accepted=accepted)
    expected = sum(chance**place for place in range(other + 1))
    assert accept_length_at([point(counters=window)], other) == pytest.approx(expected, rel=1e-3)


def test_the_throughput_is_that_of_a_closed_loop() -> None:
    # 0.1 s to the first token, then 99 tokens in steps of 20 ms at 2 tokens each, the last step half cut short.
    real = [point(counters=counters(200, drafts=100, drafted=100, accepted=100))]
    (one,) = predict([forced(1, 0.020, concurrency=2)], real, [1], output_tokens=100)
    assert one.accept_length == pytest.approx(2.0)
    assert one.output_tokens_per_s == pytest.approx(2 * 100 / (0.1 + 49.75 * 0.020))


def test_nothing_is_predicted_from_nothing() -> None:
    assert predict([], [point()], [1, 2], 64) == []
    assert predict([forced(1, 0.02)], [point()], [1, 2], 64) == []
    assert accept_length_at([point(counters=counters(100, drafts=0, drafted=0, accepted=0))], 2) is None


def test_the_finding_names_the_best_length_at_each_concurrency_and_runs_are_no_candidates() -> None:
    runs = [forced(drafted, step, concurrency) for drafted, step, concurrency in
            ((1, 0.012, 1), (5, 0.014, 1), (1, 0.030, 4), (5, 0.300, 4))]  # fmt: skip
    window = counters(280, drafts=100, drafted=300, accepted=180)
    real = [point("text", at, repeat, 150 * at**0.5, tpot_s=spread(0.006), counters=window)
            for at in (1, 4) for repeat in range(2)]  # fmt: skip
    plain = [point("text", at, repeat, 80.0 * at) for at in (1, 4) for repeat in range(2)]
    result = judge(campaign([OFF, ON], [trial(OFF, plain, number=1), trial(ON, real, number=2)], forced_runs=runs))
    (finding,) = (one for one in result.findings if one.kind is FindingKind.SPECULATION)
    best = finding.evidence["best_draft_tokens"]
    assert best["1"]["draft_tokens"] == 5
    assert best["4"]["draft_tokens"] in (0, 1)
    assert "Tokens to draft by concurrency" in finding.advice
    assert len(finding.evidence["predicted"]) == 10
    assert [one.label for one in result.candidates] == ["baseline", "s=mtp"]
    assert TEXT.name in finding.summary


def test_the_crossover_lies_between_the_last_gain_and_the_first_loss() -> None:
    drafting = counters(280, drafts=100, drafted=300, accepted=180)
    fast, slow = point("text", 1, 0, 125.0, counters=drafting), point("text", 4, 0, 320.0, counters=drafting)
    plain = [point("text", 1, 0, 100.0), point("text", 4, 0, 400.0)]
    result = judge(campaign([OFF, ON], [trial(OFF, plain, number=1), trial(ON, [fast, slow], number=2)]))
    (finding,) = (one for one in result.findings if one.kind is FindingKind.SPECULATION)
    assert finding.evidence["crossover_concurrency"] == pytest.approx(2.0)
