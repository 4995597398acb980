import pytest

from shakedown.checks.ladder.structured_output import SCHEMA
from shakedown.checks.ladder.tool_calls import ROUTE
from shakedown.checks.schema import faults

GOOD = {"colour": "red", "fresh": True, "sizes": ["small"]}


def test_what_obeys_has_no_faults():
    assert faults(GOOD, SCHEMA) == []
    assert faults({"stops": [{"city": "Oslo", "overnight": False}]}, ROUTE) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("text", "no object"),
        ({"colour": "red", "fresh": True}, "sizes is missing"),
        (GOOD | {"colour": "pink"}, "colour is none of"),
        (GOOD | {"fresh": 1}, "fresh is no boolean"),
        (GOOD | {"sizes": []}, "fewer than 1"),
        (GOOD | {"sizes": ["small"] * 3}, "more than 2"),
        (GOOD | {"sizes": ["huge"]}, r"sizes\[0\]"),
        (GOOD | {"extra": 1}, "extra is not in the schema"),
    ],
)
def test_each_fault_names_its_place(value, told):
    with pytest.raises(AssertionError, match=told):
        assert not faults(value, SCHEMA), faults(value, SCHEMA)


def test_faults_deep_inside_are_found():
    assert faults({"stops": [{"city": "Rome", "overnight": False}]}, ROUTE) != []
