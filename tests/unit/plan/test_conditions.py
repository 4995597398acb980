from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shakedown.plan.conditions import Condition, either, every, normal, unknown_facts

truths = st.lists(st.sampled_from([True, False, None]), max_size=5)


def condition(**content: Any) -> Condition:
    return Condition.model_validate(content)


@pytest.mark.parametrize(
    ("test", "value", "holds"),
    [
        ({"is": "on"}, "ON", True),
        ({"is": 8}, "8", True),
        ({"is": True}, "true", True),
        ({"is_not": "bf16"}, "auto", True),
        ({"in": ["off", "0"]}, 0, True),
        ({"not_in": ["f16"]}, "q8_0", True),
        ({"at_least": 2}, 2, True),
        ({"at_least": 2}, "many", False),
        ({"below": 2}, 2, False),
        ({"given": True}, "x", True),
        ({"given": False}, "x", False),
    ],
)
def test_operators(test: dict[str, Any], value: Any, holds: bool) -> None:
    assert condition(fact="arg.x", **test).holds({"arg.x": value}) is holds


def test_an_argument_not_given_is_known_and_takes_the_default() -> None:
    assert condition(fact="arg.x", default="off", **{"is": "off"}).holds({}) is True
    assert condition(fact="arg.x", given=False).holds({}) is True
    assert condition(fact="env.X", given=True).holds({}) is False


def test_a_fact_that_is_not_in_the_table_is_unknown() -> None:
    one = condition(fact="machine.sm", **{"is": 120})
    assert one.holds({}) is None
    assert unknown_facts([one], {}) == ["machine.sm"]
    assert unknown_facts([one], {"machine.sm": 90}) == []


def test_divisibility_between_facts() -> None:
    one = condition(fact="model.heads", not_multiple_of="arg.tp-size")
    assert one.holds({"model.heads": 36, "arg.tp-size": 8}) is True
    assert one.holds({"model.heads": 32, "arg.tp-size": "8"}) is False
    assert one.holds({"arg.tp-size": 8}) is None


def test_any_of_several() -> None:
    one = condition(any=[{"fact": "arg.a", "given": True}, {"fact": "machine.sm", "is": 120}])
    assert one.holds({"arg.a": 1}) is True
    assert one.holds({}) is None
    assert one.holds({"machine.sm": 90}) is False


@pytest.mark.parametrize("content", [{"fact": "arg.x"}, {"given": True}, {"fact": "arg.x", "is": 1, "any": [{}]}])
def test_a_condition_that_tests_nothing_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Condition.model_validate(content)


@given(truths)
def test_de_morgan_holds_with_unknowns(values: list[bool | None]) -> None:
    def negated(truth: bool | None) -> bool | None:
        return None if truth is None else not truth

    assert negated(every(values)) == either([negated(value) for value in values])


@given(st.integers(-(10**6), 10**6))
def test_numbers_mean_the_same_as_their_text(value: int) -> None:
    assert normal(value) == normal(str(value)) == normal(float(value))
