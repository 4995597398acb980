import pytest
from tests.unit.stats.point_records import record

from shakedown.stats.client import client_proof
from shakedown.stats.goodput import good_requests, needed_share, slo_parts, within_limit


def test_keys_are_metric_and_statistic() -> None:
    assert slo_parts("ttft_p99") == ("ttft", "p99")
    assert slo_parts("itl_p99.9") == ("itl", "p99.9")
    for wrong in ("ttft", "ttft_99", "speed_p99", "ttft_p99_", "p99"):
        with pytest.raises(ValueError, match="expected ttft, itl, tpot or e2el"):
            slo_parts(wrong)


def test_needed_shares() -> None:
    assert needed_share("p99") == pytest.approx(0.99)
    assert needed_share("max") == 1.0
    with pytest.raises(ValueError, match="percentile"):
        needed_share("mean")


def test_a_failed_request_is_never_good() -> None:
    assert good_requests([record(error="timeout")], {}) == 0
    assert good_requests([record()], {}) == 1


def test_a_limit_that_a_request_cannot_break() -> None:
    assert good_requests([record(arrivals_ms=(100,))], {"tpot_p99": 0.001}) == 1


def test_within_counts_failures_as_out() -> None:
    records = [record(0, arrivals_ms=(100, 105)), record(1, arrivals_ms=(300, 350)), record(2, error="timeout")]
    assert within_limit(records, "ttft_p99", 0.2) == (1, 3)
    assert within_limit(records, "itl_p99", 0.01) == (1, 3)
    assert within_limit(records, "e2el_p50", 1.0) == (2, 3)


def test_a_late_client_is_limited() -> None:
    good = client_proof([record()], cpu_s=[0.1], wall_s=[1.0], loop_lag_ns=[100_000] * 50, starved=False)
    assert not good.limited
    assert client_proof([record()], cpu_s=[0.95], wall_s=[1.0], loop_lag_ns=[], starved=False).limited
    assert client_proof([record()], cpu_s=[0.1], wall_s=[1.0], loop_lag_ns=[50_000_000] * 50, starved=False).limited
    assert client_proof([record()], cpu_s=[0.1], wall_s=[1.0], loop_lag_ns=[], starved=True).limited
    late = record(sent_ms=50)
    late.scheduled_ns = 0
    assert client_proof([late], cpu_s=[0.1], wall_s=[1.0], loop_lag_ns=[], starved=False).limited
