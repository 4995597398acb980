import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.units import format_bytes, parse_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"), [("8h", 28800), ("1h30m", 5400), ("50ms", 0.05), ("2s", 2), (90, 90), ("1 min 30 s", 90)]
)
def test_durations_are_read_as_people_write_them(text: str | float, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "8", "h", "-1s", "0s", 0, -3, True, "1s or so", "inf", float("inf")])
def test_what_is_no_duration_is_refused(text: str | float) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration_s(text)


@given(st.integers(1, 10**6))
def test_whole_seconds_round_trip(seconds: int) -> None:
    assert parse_duration_s(f"{seconds}s") == seconds


def test_sizes_are_binary() -> None:
    assert [format_bytes(count) for count in (12, 1536, 98_362_432, 3 * 2**40)] == [
        "12 B",
        "1.5 KiB",
        "93.8 MiB",
        "3.0 TiB",
    ]
