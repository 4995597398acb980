import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.plan.versions import in_range, release_of


@pytest.mark.parametrize(
    ("version", "clauses", "inside"),
    [
        ("0.5.10", ">=0.5.10", True),
        ("0.5.9", ">=0.5.10", False),
        ("0.5.10.post1", ">=0.5.10,<0.5.23", True),
        ("0.5.23", ">=0.5.10,<0.5.23", False),
        ("1.0", "==1.0.0", True),
        ("b4321", ">4000", True),
        (None, "", True),
        (None, ">=1", None),
        ("nightly", ">=1", None),
    ],
)
def test_ranges(version: str | None, clauses: str, inside: bool | None) -> None:
    assert in_range(version, clauses) is inside


@pytest.mark.parametrize("clauses", ["~=1.0", "1.0", ">=x"])
def test_a_range_that_is_none_is_refused(clauses: str) -> None:
    with pytest.raises(ValueError, match="is not a comparison"):
        in_range("1.0", clauses)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=1, max_size=4))
def test_exactly_one_of_less_equal_greater(one: list[int], other: list[int]) -> None:
    version, limit = (".".join(map(str, parts)) for parts in (one, other))
    assert [in_range(version, f"{sign}{limit}") for sign in ("<", "==", ">")].count(True) == 1


def test_release_ignores_suffixes() -> None:
    assert release_of("0.6.0-dev") == (0, 6, 0)
    assert release_of("dev") is None
