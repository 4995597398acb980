import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.diagnose.bundle import MOST_DROPS, Culprit, Drop, NoCulprit, next_drop
from shakedown.diagnose.lessons import FailedLaunch, foreseen
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.words import EngineKind


def test_the_only_difference_is_the_culprit() -> None:
    assert next_drop(["moe"], {}) == Culprit("moe")


def test_suspects_are_dropped_first() -> None:
    assert next_drop(["moe", "kv", "spec"], {}, suspects=["spec"]) == Drop("spec")
    assert next_drop(["moe", "kv", "spec"], {"spec": False}, suspects=["spec"]) == Drop("moe")


def test_what_starts_without_it_names_the_culprit() -> None:
    assert next_drop(["moe", "kv"], {"moe": False, "kv": True}) == Culprit("kv")


def test_two_culprits_are_admitted() -> None:
    assert isinstance(next_drop(["moe", "kv"], {"moe": False, "kv": False}), NoCulprit)


@given(culprit=st.integers(0, 4), count=st.integers(1, 5))
def test_a_single_culprit_is_always_found_within_the_bound(culprit: int, count: int) -> None:
    varied = [f"dimension {number}" for number in range(count)]
    guilty = varied[culprit % count]
    outcomes: dict[str, bool] = {}
    for _ in range(MOST_DROPS + 1):
        step = next_drop(varied, outcomes)
        if isinstance(step, Drop):
            outcomes[step.dimension] = step.dimension == guilty
        else:
            break
    assert step == Culprit(guilty)


def test_the_search_is_bounded() -> None:
    varied = [str(number) for number in range(MOST_DROPS + 3)]
    assert isinstance(next_drop(varied, dict.fromkeys(varied[:MOST_DROPS], False)), NoCulprit)


def sglang(**args: object) -> Candidate:
    return Candidate(
        engine=EngineRef(kind=EngineKind.SGLANG),
        model=ModelRef(path="/m", name="m"),
        args={name.replace("_", "-"): value for name, value in args.items()},
    )


MHA = "sglang-trtllm-mha-prefill"


@pytest.mark.parametrize(
    ("candidate", "repeated"),
    [
        (sglang(attention_backend="trtllm_mha", tp=4), True),
        (sglang(attention_backend="triton", tp=8), False),
        (sglang(attention_backend="trtllm_mha", prefill_attention_backend="fa3"), False),
        (sglang(tp=8), False),
    ],
)
def test_a_value_that_failed_fails_again_with_anything_it_does_not_depend_on(
    candidate: Candidate, *, repeated: bool
) -> None:
    failure = FailedLaunch(sglang(attention_backend="trtllm_mha", tp=8), MHA)
    assert (foreseen(candidate, [failure]) == failure) is repeated


def test_what_may_pass_next_time_teaches_nothing() -> None:
    failed = sglang(tp=8)
    assert foreseen(failed, [FailedLaunch(failed, "port-in-use"), FailedLaunch(failed, "no-such-signature")]) is None
    other_model = failed.model_copy(update={"model": ModelRef(path="/other", name="m")})
    assert foreseen(other_model, [FailedLaunch(failed, "heads-not-divisible")]) is None
