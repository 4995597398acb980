"""What ``compare`` says of two results, told by its result alone."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.judge.campaigns import point

from shakedown.domain.errors import UserError
from shakedown.domain.failure import Failure
from shakedown.domain.metric import PointSummary
from shakedown.domain.result import CampaignInfo, CampaignResult, CandidateResult, DecisionRule, Winner
from shakedown.domain.words import ComparisonStatus, Objective, Stage, Verdict
from shakedown.judge.compare import CompareOptions, compare, split_launches

Points = tuple[PointSummary, ...]


def launches(speed: float, *, count: int = 3, noise: float = 0.005, seed: int = 0, **changes: object) -> Points:
    rng = random.Random(seed)
    return tuple(
        point(concurrency=concurrency, tokens_per_s=speed * concurrency * rng.gauss(1, noise), **changes)
        for _ in range(count)
        for concurrency in (1, 4)
    )


def candidate(label: str, points: Points = (), **changes: object) -> CandidateResult:
    content: dict[str, object] = {
        "id": f"{label}-id", "label": label, "args": {}, "env": {}, "verdict": Verdict.QUALIFIED, "reason": "",
        "points": points, "effective": {"threads": 2, "model_name": "m"}, **changes,
    }  # fmt: skip
    return CandidateResult.model_validate(content)


def result(*candidates: CandidateResult, measured_by: str | None = None, **changes: object) -> CampaignResult:
    decision = DecisionRule(
        objective="output_tokens_per_s", margin=0.05, confidence=0.95, launches=3, repeats=1,
        launch_variance_measured=True,
    )  # fmt: skip
    info = CampaignInfo(
        name="c", folder="f", shakedown_version="0", complete=True, decision=decision, measured_by=measured_by
    )
    content: dict[str, object] = {
        "campaign": info, "machine": {"cpu": "x", "cores": 2, "gpus": []}, "model": {"architecture": "llama"},
        "engine": {"kind": "llama.cpp", "version": "1"}, "candidates": candidates, **changes,
    }  # fmt: skip
    return CampaignResult.model_validate(content)


PLAIN = CompareOptions()


def statuses(compared) -> dict[tuple[str, int | None], str]:
    return {(level.candidate, level.concurrency): level.status.value for level in compared.levels}


def test_the_same_twice_is_equivalent_everywhere() -> None:
    compared = compare(
        result(candidate("a", launches(100, seed=1))), result(candidate("a", launches(100, seed=2))), PLAIN
    )
    assert set(statuses(compared).values()) == {"equivalent"}
    assert compared.status is ComparisonStatus.EQUIVALENT
    assert compared.regressions == ()


def test_half_the_speed_is_worse_as_a_whole_and_at_each_level() -> None:
    compared = compare(
        result(candidate("a", launches(100, seed=1))), result(candidate("a", launches(50, seed=2))), PLAIN
    )
    assert statuses(compared) == {("a", None): "worse", ("a", 1): "worse", ("a", 4): "worse"}
    whole = compared.levels[0]
    assert whole.ratio == pytest.approx(0.5, rel=0.02)
    assert whole.interval is not None
    assert whole.interval[0] < 0.5 < whole.interval[1]
    assert len(compared.regressions) == 3


def test_one_level_alone_can_be_the_regression() -> None:
    slow = tuple(
        one if one.concurrency == 1 else one.model_copy(update={"output_tokens_per_s": one.output_tokens_per_s * 0.8})
        for one in launches(100, seed=2)
    )
    compared = compare(result(candidate("a", launches(100, seed=1))), result(candidate("a", slow)), PLAIN)
    assert statuses(compared)[("a", 1)] == "equivalent"
    assert statuses(compared)[("a", 4)] == "worse"
    assert compared.status is ComparisonStatus.WORSE


def test_without_repeats_nothing_is_claimed() -> None:
    compared = compare(
        result(candidate("a", launches(100, count=1))), result(candidate("a", launches(50, count=1))), PLAIN
    )
    assert set(statuses(compared).values()) == {"inconclusive"}
    assert compared.status is ComparisonStatus.INCONCLUSIVE


@settings(max_examples=20)
@given(st.floats(0.2, 5), st.integers(0, 1000))
def test_swapping_the_sides_turns_the_answer_round(factor: float, seed: int) -> None:
    a, b = (
        result(candidate("a", launches(100, seed=seed))),
        result(candidate("a", launches(100 * factor, seed=seed + 1))),
    )
    turned = {"better": "worse", "worse": "better", "equivalent": "equivalent", "inconclusive": "inconclusive"}
    there, back = compare(a, b, PLAIN), compare(b, a, PLAIN)
    assert {key: turned[status] for key, status in statuses(there).items()} == statuses(back)
    for one, other in zip(there.levels, back.levels, strict=True):
        assert one.ratio * other.ratio == pytest.approx(1)


def test_many_candidates_that_are_the_same_seldom_alarm() -> None:
    alarms = 0
    for seed in range(20):
        sides = [
            result(*(candidate(str(n), launches(100, noise=0.03, seed=seed * 1000 + side * 100 + n)) for n in range(8)))
            for side in (0, 1)
        ]
        alarms += bool(compare(*sides, CompareOptions(margin=0.001)).regressions)
    assert alarms <= 4  # 5 % of 20 is 1; one-sided 99 % limit of that


def test_a_candidate_that_fails_now_is_a_regression_with_its_root_line() -> None:
    failure = Failure(category=None, signature=None, stage=Stage.BOOT, root_line="CUDA error: no kernel image")
    compared = compare(
        result(candidate("a", launches(100)), candidate("b", launches(90))),
        result(
            candidate("a", launches(100)), candidate("b", verdict=Verdict.FAILED, reason="no kernel", failure=failure)
        ),
        PLAIN,
    )
    assert [change.newly_failing for change in compared.candidates] == [False, True]
    assert compared.candidates[1].root_line == "CUDA error: no kernel image"
    assert compared.regressions == ("b qualified before and is failed now: no kernel",)


def test_what_failed_before_is_no_regression() -> None:
    failed = candidate("b", verdict=Verdict.FAILED)
    good = candidate("a", launches(100))
    assert compare(result(good, failed), result(good, failed), PLAIN).regressions == ()


def test_changed_effective_settings_are_told() -> None:
    compared = compare(
        result(candidate("a", launches(100))),
        result(candidate("a", launches(100), effective={"threads": 1, "model_name": "m", "new": 5})),
        PLAIN,
    )
    (setting,) = compared.candidates[0].settings
    assert (setting.key, setting.before, setting.after) == ("threads", 2, 1)


def test_other_machines_and_models_are_refused_unless_told() -> None:
    here = result(candidate("a", launches(100)))
    for there, flag in (
        (result(candidate("a", launches(100)), machine={"cpu": "y", "cores": 2}), "other_machine"),
        (result(candidate("a", launches(100)), model={"architecture": "qwen3"}), "other_model"),
    ):
        with pytest.raises(UserError, match=f"--{flag.replace('_', '-')}"):
            compare(here, there, PLAIN)
        assert compare(here, there, CompareOptions(**{flag: True})).levels  # type: ignore[arg-type]


def test_a_machine_that_was_not_seen_is_not_another_one() -> None:
    unseen = result(candidate("a", launches(100)), machine={"cpu": "x", "cores": None, "gpus": None})
    assert compare(result(candidate("a", launches(100))), unseen, PLAIN).levels


def test_a_workload_that_is_other_work_now_is_left_out() -> None:
    def declared(tokens: int) -> CampaignResult:
        made = result(candidate("a", launches(100)))
        info = made.campaign.model_copy(update={"workloads": ({"name": "text", "input_tokens": tokens},)})
        return made.model_copy(update={"campaign": info})

    compared = compare(declared(64), declared(128), PLAIN)
    assert compared.levels == ()
    assert compared.status is None
    assert any("input_tokens 64 before, 128 after" in note for note in compared.notes)


def test_longer_prompts_of_a_load_generator_are_other_work() -> None:
    a = result(candidate("x", launches(100, input_tokens=512)), measured_by="a tool")
    b = result(candidate("y", launches(100, input_tokens=1024)), measured_by="a tool")
    assert compare(a, b, PLAIN).levels == ()
    assert compare(a, a, PLAIN).levels


def test_a_load_generators_result_answers_to_the_winner() -> None:
    won = result(
        candidate("slow", launches(50)), candidate("fast", launches(100)),
        winner=Winner(id="fast-id", label="fast", command="run", why=""),
    )  # fmt: skip
    bench = result(candidate("bench", launches(100, seed=5)), measured_by="shakedown bench")
    assert {level.candidate for level in compare(won, bench, PLAIN).levels} == {"fast"}
    only = compare(won, bench, CompareOptions(candidate="slow"))
    assert only.status is ComparisonStatus.BETTER
    with pytest.raises(UserError, match="it has slow, fast"):
        compare(won, bench, CompareOptions(candidate="other"))


def test_another_objective_can_be_asked_for() -> None:
    later = launches(100, seed=1, ttft_s={"mean": 1, "p50": 1, "p90": 1, "p99": 1, "max": 1, "samples": 8})
    compared = compare(
        result(candidate("a", launches(100))), result(candidate("a", later)), CompareOptions(objective=Objective.TTFT)
    )
    assert compared.levels[0].ratio == pytest.approx(0.05)
    assert compared.levels[1].ttft_p50_s == pytest.approx((0.05, 1))


def test_launches_are_told_apart_by_points_that_come_again() -> None:
    points = [point(concurrency=c, repeat=r) for _ in range(3) for r in (0, 1) for c in (1, 4)]
    assert [len(launch) for launch in split_launches(points)] == [4, 4, 4]
    assert split_launches([]) == []
