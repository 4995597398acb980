"""What candidates ask for, and in what they differ."""

import pytest
from tests.unit.judge.campaigns import candidate

from shakedown.domain.base import ArgValue
from shakedown.judge.settings import (
    alters_the_step,
    asks_for_speculation,
    difference,
    dimension,
    on_off_flags_only,
    option,
    speculation_only,
)


def test_a_difference_names_both_values() -> None:
    a = candidate("a", {"x": 1, "same": True}, env={"E": "1"})
    b = candidate("b", {"x": 2, "same": True, "y": [1, 2]})
    assert difference(a, b) == {"x": ("1", "2"), "y": (None, "1,2"), "env:E": ("1", None)}


def test_the_dimension_is_the_one_that_differs() -> None:
    a, b = candidate("a", {}, {"kv": "f16", "t": "1"}), candidate("b", {"t": 2}, {"kv": "f16", "t": "2"})
    c = candidate("c", {"t": 2, "kv": 8}, {"kv": "q8", "t": "2"})
    assert dimension(a, b) == "t"
    assert dimension(a, c) is None
    assert option(b, "t") == "2"


def test_without_a_space_the_argument_is_the_dimension() -> None:
    a, b = candidate("a", {"x": 1}), candidate("b", {"x": 1, "y": True})
    assert dimension(a, b) == "y"
    assert (option(a, "y"), option(b, "y")) == ("not given", "on")


@pytest.mark.parametrize(
    ("args", "asked"),
    [
        ({"speculative-algorithm": "NEXTN"}, True),
        ({"speculative-config": '{"method": "mtp"}'}, True),
        ({"spec-type": "ngram-simple"}, True),
        ({"spec-type": "none"}, False),
        ({"spec-draft-model": "draft.gguf"}, True),
        ({"speculative-config.decoding-type": "MTP"}, True),
        ({"speculative-num-steps": 3}, False),
        ({}, False),
    ],
)
def test_speculation_is_asked_for_by_its_switch(args: dict[str, ArgValue], asked: bool) -> None:
    assert asks_for_speculation(candidate("a", args)) is asked


@pytest.mark.parametrize(
    "name",
    [
        "speculative-algorithm",
        "spec-type",
        "draft-max",
        "model-draft",
        "tp",
        "tp-size",
        "tensor-parallel-size",
        "quantization",
        "dtype",
    ],
)
def test_speculation_parallelism_and_quantisation_alter_the_step(name: str) -> None:
    assert alters_the_step({name: ("a", "b")})


@pytest.mark.parametrize("name", ["kv-cache-dtype", "cache-type-k", "threads", "enable-mscclpp", "env:SPEC", "top-p"])
def test_other_settings_do_not(name: str) -> None:
    assert not alters_the_step({name: ("a", "b")})


def test_flags_are_on_on_one_side_only() -> None:
    assert on_off_flags_only({"m": ("on", None), "env:N": (None, "1")})
    assert on_off_flags_only({"flash-attn": ("off", "on")})
    assert not on_off_flags_only({"m": ("on", None), "gemm": ("a", "b")})
    assert not on_off_flags_only({"threads": ("2", None)})
    assert not on_off_flags_only({})


def test_an_environment_variable_may_come_with_speculation() -> None:
    assert speculation_only({"speculative-algorithm": (None, "NEXTN"), "env:SPEC_V2": (None, "1")})
    assert not speculation_only({"env:SPEC_V2": (None, "1")})
    assert not speculation_only({"speculative-algorithm": (None, "NEXTN"), "threads": ("1", "2")})
