import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.stats.point_records import CLIENT, MS, record

from shakedown.domain.metric import CounterWindow, PointSummary
from shakedown.domain.request import RequestRecord, TokenCount
from shakedown.stats.summary import PointFacts, distribution, summarize


def summary(*records: RequestRecord, **facts: object) -> PointSummary:
    return summarize(records, PointFacts(workload="w", client=CLIENT, **facts))  # type: ignore[arg-type]


def test_one_request_by_hand() -> None:
    point = summary(record(sent_ms=1000, arrivals_ms=(1100, 1120, 1150), tokens=3))
    assert point.ttft_s is not None
    assert point.itl_s is not None
    assert point.tpot_s is not None
    assert point.e2el_s is not None
    assert point.ttft_s.mean == pytest.approx(0.100)
    assert point.itl_s.mean == pytest.approx(0.025)
    assert point.itl_s.max == pytest.approx(0.030)
    assert point.tpot_s.mean == pytest.approx(0.025)
    assert point.e2el_s.mean == pytest.approx(0.150)
    assert point.output_tokens_per_s == pytest.approx(3 / 0.150)
    assert point.per_request_tokens_per_s == pytest.approx(3 / 0.150)
    assert point.duration_s == pytest.approx(0.150)


def test_what_was_not_measured_is_none() -> None:
    point = summary(record(error="timeout", arrivals_ms=()), record(1, error="http_503", arrivals_ms=()))
    assert (point.requests, point.ok) == (2, 0)
    assert point.errors == {"http_503": 1, "timeout": 1}
    assert point.output_tokens == 0
    for value in (point.ttft_s, point.itl_s, point.tpot_s, point.e2el_s, point.output_tokens_per_s):
        assert value is None
    assert point.per_request_tokens_per_s is None
    assert point.requests_per_s is None
    assert summary().ok == 0


def test_one_token_has_no_tpot_and_one_event_no_gap() -> None:
    assert summary(record(arrivals_ms=(100,))).tpot_s is None
    together = summary(record(arrivals_ms=(100,), tokens=64))
    assert together.tpot_s is None
    assert together.itl_s is None
    assert together.output_tokens == 64


def test_failures_are_in_no_latency() -> None:
    good = record(0, arrivals_ms=(100, 110))
    bad = record(1, arrivals_ms=(9000, 9900), error="broken_stream")
    assert summary(good, bad).ttft_s == summary(good).ttft_s


def test_gaps_are_shared_among_tokens_where_the_server_counts_them() -> None:
    point = summary(record(arrivals_ms=(100, 130), tokens=4, event_tokens=(1, 3)))
    assert point.itl_s is not None
    assert (point.itl_s.samples, point.itl_unit) == (3, "token")
    assert point.itl_s.max == pytest.approx(0.010)
    as_it_came = summary(record(arrivals_ms=(100, 130), tokens=4))
    assert as_it_came.itl_s is not None
    assert (as_it_came.itl_s.samples, as_it_came.itl_unit) == (1, "event")


def test_an_answer_in_one_body_says_nothing_of_its_first_token() -> None:
    point = summary(record(arrivals_ms=(500,), tokens=10, streamed=False))
    assert point.ttft_s is None
    assert point.e2el_s is not None
    assert point.output_tokens_per_s == pytest.approx(20)


def test_sources_of_counts_are_named() -> None:
    usage = record(0)
    events = record(1, token_count=TokenCount.EVENTS)
    assert summary(usage).token_count == "usage"
    assert summary(events).token_count == "events"
    assert summary(usage, events).token_count == "mixed"


def test_early_stops_are_counted() -> None:
    assert summary(record(requested_tokens=10), record(1, requested_tokens=3)).early_stops == 1


def test_goodput_counts_requests_that_keep_every_limit() -> None:
    slow = record(0, sent_ms=1, arrivals_ms=(501, 510))
    fast = record(1, sent_ms=1, arrivals_ms=(101, 1001))
    point = summary(slow, fast, slo={"ttft_p99": 0.2, "tpot_p99": 2.0})
    assert point.goodput_requests_per_s == pytest.approx(1 / 1.0)
    assert summary(slow, fast, slo={"ttft_p99": 0.2, "tpot_p99": 0.5}).goodput_requests_per_s is None
    assert summary(slow, fast).goodput_requests_per_s is None


def test_speculation_by_counters_then_by_answers() -> None:
    counters = CounterWindow(drafts=10.0, drafted_tokens=30.0, accepted_tokens=15.0)
    point = summary(record(), counters=counters)
    assert point.accept_length == pytest.approx(2.5)
    assert point.draft_acceptance_rate == pytest.approx(0.5)
    told = summary(record(tokens=10, drafted_tokens=12, accepted_tokens=6))
    assert told.accept_length == pytest.approx(10 / 4)
    assert told.draft_acceptance_rate == pytest.approx(0.5)
    assert summary(record()).accept_length is None


def closed_loop(slots: int, rounds: int, *, latency_ms: int = 100, tokens: int = 5) -> list[RequestRecord]:
    """A lockstep closed loop, the last slot one round longer than the others."""
    out = []
    for slot in range(slots):
        for turn in range(rounds + (slot == 0)):
            start = 1 + turn * latency_ms
            arrivals = tuple(start + latency_ms * (k + 1) / tokens for k in range(tokens))
            out.append(record(len(out), sent_ms=start, arrivals_ms=arrivals))
    return out


def test_drain_is_cut_off_the_steady_state() -> None:
    point = summary(*closed_loop(4, 6), concurrency=4)
    assert point.window == "steady"
    assert point.output_tokens_per_s == pytest.approx(4 * 5 / 0.1, rel=0.02)
    assert point.whole_window_output_tokens_per_s == pytest.approx((4 * 6 + 1) * 5 / 0.7, rel=0.01)


def test_too_short_for_a_steady_state() -> None:
    point = summary(*closed_loop(4, 1), concurrency=4)
    assert point.window == "whole"
    assert point.output_tokens_per_s == point.whole_window_output_tokens_per_s


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_distributions_are_ordered(values: list[float]) -> None:
    found = distribution(values)
    assert found is not None
    assert min(values) <= found.p50 <= found.p90 <= found.p99 <= found.max == max(values)
    assert found.samples == len(values)
    assert distribution([]) is None


@given(st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=20), min_size=1, max_size=20))
def test_tokens_and_gaps_add_up(gaps: list[list[int]]) -> None:
    records = []
    for index, steps in enumerate(gaps):
        arrivals = [float(sum(steps[: k + 1])) for k in range(len(steps))]
        records.append(record(index, arrivals_ms=tuple(arrivals)))
    point = summary(*records)
    assert point.output_tokens == sum(len(steps) for steps in gaps)
    samples = 0 if point.itl_s is None else point.itl_s.samples
    assert samples == sum(len(steps) - 1 for steps in gaps)
    if point.itl_s is not None:
        total = sum(sum(steps[1:]) for steps in gaps)
        assert point.itl_s.mean * samples == pytest.approx(total * MS / 1e9)
