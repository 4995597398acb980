import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, units.MISSING),
        (0, "0"),
        (98.432, "98.4"),
        (0.01234, "0.0123"),
        (1571234, "1,571,234"),
        (9.999, "10.0"),
        (-3.14159, "-3.14"),
    ],
)
def test_number_keeps_three_significant_digits(value: float | None, text: str) -> None:
    assert units.number(value) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_number_reads_back_within_its_digits(value: float) -> None:
    assert float(units.number(value).replace(",", "")) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, units.MISSING), (0.0000421, "42.1 µs"), (0.01234, "12.3 ms"), (2.5, "2.50 s"), (0.0, "0 µs")],
)
def test_latency_chooses_its_unit(seconds: float | None, text: str) -> None:
    assert units.latency(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, units.MISSING),
        (0.84, "0.84 s"),
        (59.4, "59 s"),
        (200, "3 min 20 s"),
        (25500, "7 h 05 min"),
        (59.7, "1 min 00 s"),
    ],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert units.duration(seconds) == text


def test_ratio_and_change() -> None:
    assert units.ratio(1.0841, (1.051, 1.1192)) == "1.084 [1.051, 1.119]"
    assert units.ratio(None) == units.MISSING
    assert units.change(1.084) == "8.4\u00a0% faster"
    assert units.change(0.69) == "31\u00a0% slower"
    assert units.change(1.0001) == "the same speed"


@given(st.text())
def test_printable_text_holds_nothing_that_steers_a_terminal(text: str) -> None:
    shown = units.printable(text)
    steering = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert all(character in "\n\t" or unicodedata.category(character) not in steering for character in shown)
    assert units.printable(shown) == shown


def test_printable_keeps_text_and_writes_out_what_steers() -> None:
    assert units.printable("30\u00a0% µs\n") == "30\u00a0% µs\n"
    assert units.printable("\x1b[31mred\u202e") == r"\x1b[31mred\u202e"
