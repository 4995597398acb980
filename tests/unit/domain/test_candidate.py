from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef, argument_name
from shakedown.domain.words import EngineKind

ENGINE = EngineRef(kind=EngineKind.LLAMA_CPP, python="python3")
MODEL = ModelRef(path="m.gguf", name="m")
args = st.dictionaries(
    st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), st.integers() | st.text(max_size=5), max_size=6
)


def candidate(**changes: object) -> Candidate:
    return Candidate.model_validate({"engine": ENGINE, "model": MODEL, **changes})


@given(args)
def test_id_ignores_key_order_and_labels(values: dict[str, int | str]) -> None:
    one = candidate(args=values, label="a")
    other = candidate(args=dict(reversed(list(values.items()))), label="b", derived_from="0" * 12)
    assert one.id == other.id


@given(args, args)
def test_different_arguments_give_different_ids(a: dict[str, int | str], b: dict[str, int | str]) -> None:
    assert (candidate(args=a).id == candidate(args=b).id) == (a == b)


def test_a_flag_taken_away_is_a_flag_not_given() -> None:
    assert candidate(args={"metrics": False}).id == candidate().id


def test_json_round_trip() -> None:
    one = candidate(args={"ctx-size": 4096, "metrics": True, "spec": ["a", 1]}, env={"A": "1"})
    assert Candidate.model_validate_json(one.model_dump_json()) == one


def test_argument_names_lose_dashes_and_underscores() -> None:
    assert argument_name("--cache_type_k") == "cache-type-k"
