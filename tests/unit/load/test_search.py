import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.metric import ClientProof, Distribution, PointSummary
from shakedown.domain.workload import LoadLevel
from shakedown.load.knee import knee
from shakedown.load.search import Counts, search, wilson
from shakedown.load.stopping import IntervalNarrow, PointView, Saturated

NEEDED = {"ttft_p99": 0.99}


def server(breaks_at: float, samples: int = 1000) -> Callable[[float], Counts]:
    """All requests are within the limit below ``breaks_at``, half of them from there on."""
    return lambda load: {"ttft_p99": (samples if load < breaks_at else samples // 2, samples)}


@given(st.integers(2, 1000))
def test_a_concurrency_search_ends_beside_the_break(breaks_at: int) -> None:
    found = search(server(breaks_at), kind="concurrency", start=1, limit=1024, needed=NEEDED, resolution=0)
    assert found.highest == breaks_at - 1
    assert found.lowest_broken == breaks_at
    assert found.certain


@given(st.floats(0.6, 500))
def test_a_rate_search_ends_within_its_resolution(breaks_at: float) -> None:
    found = search(server(breaks_at), kind="request_rate", start=0.5, limit=1000, needed=NEEDED)
    assert found.highest is not None
    assert found.lowest_broken is not None
    assert found.highest < breaks_at <= found.lowest_broken <= found.highest * 1.05 * (1 + 1e-9)
    loads = [trial.load for trial in found.trials]
    assert len(set(loads)) == len(loads)


def test_nothing_keeps_and_everything_keeps() -> None:
    none = search(server(0), kind="concurrency", start=4, limit=64, needed=NEEDED)
    assert (none.highest, none.lowest_broken) == (None, 4)
    everything = search(server(math.inf), kind="concurrency", start=3, limit=64, needed=NEEDED)
    assert (everything.highest, everything.lowest_broken) == (64, None)


def test_few_samples_are_measured_again_and_then_called_uncertain() -> None:
    calls = []

    def measure(load: float) -> Counts:
        calls.append(load)
        return {"ttft_p99": (20, 20)}

    found = search(measure, kind="concurrency", start=1, limit=1, needed=NEEDED, repeats=3)
    assert calls == [1, 1, 1]
    assert found.highest == 1
    assert not found.certain
    assert found.trials[0].shares[0].samples == 60


def test_each_objective_must_hold() -> None:
    def measure(load: float) -> Counts:
        return {"ttft_p99": (1000, 1000), "itl_max": (999 if load > 4 else 1000, 1000)}

    needed = {"ttft_p99": 0.99, "itl_max": 1.0}
    found = search(measure, kind="concurrency", start=1, limit=64, needed=needed, resolution=0)
    assert found.highest == 4


def test_a_search_ends_with_what_it_has_when_the_server_is_gone() -> None:
    answers = iter([{"ttft_p99": (1000, 1000)}, None])
    found = search(lambda load: next(answers), kind="concurrency", start=1, limit=64, needed=NEEDED)
    assert (found.highest, found.lowest_broken) == (1, None)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_wilson_holds_the_estimate(samples: int, share: float) -> None:
    within = round(share * samples)
    low, high = wilson(within, samples)
    assert 0 <= low <= within / samples + 1e-12
    assert within / samples - 1e-12 <= high <= 1


def test_wilson_by_hand() -> None:
    # Newcombe 1998, table I: 81 of 263 gives 0.2553 to 0.3662.
    low, high = wilson(81, 263)
    assert (low, high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
    assert wilson(0, 0) == (0.0, 1.0)


def view(level: LoadLevel, **fields: object) -> PointView:
    values: dict[str, object] = {"elapsed_s": 1.0, "started": 0, "done": 0, "running": 0, "finished": []}
    return PointView(level=level, **(values | fields))  # type: ignore[arg-type]


def test_a_steady_latency_is_soon_known_and_a_wild_one_is_not() -> None:
    level = LoadLevel(concurrency=1)
    steady = [(k * 1000, k * 1000 + 1, k * 1000 + 1000 + k % 3) for k in range(60)]
    wild = [(k * 1000, k * 1000 + 1, k * 1000 + (100 if k < 30 else 9000)) for k in range(60)]
    assert IntervalNarrow(0.02).look(view(level, finished=steady)) == "interval"
    assert IntervalNarrow(0.02).look(view(level, finished=wild)) is None
    assert IntervalNarrow(0.02).look(view(level, finished=steady[:20])) is None
    assert IntervalNarrow(0.02).look(view(LoadLevel(concurrency=64), finished=steady)) is None


def looked(condition: Saturated, done_per_s: float, level: LoadLevel, ramp: float = 0.0) -> str | None:
    for step in range(1, 49):
        at = step / 4
        started = int(100 * at)
        done = int(max(0.0, min(started, done_per_s * (at - ramp))))
        seen = view(level, elapsed_s=at, started=started, done=done, running=started - done)
        reason = condition.look(seen)
        if reason is not None:
            return reason
    return None


def test_a_queue_that_grows_is_saturation_and_one_that_filled_is_not() -> None:
    level = LoadLevel(request_rate=100)
    assert looked(Saturated(), 60, level) == "saturation"
    assert looked(Saturated(), 100, level, ramp=1.0) is None
    assert looked(Saturated(), 60, LoadLevel(concurrency=8)) is None


def point(load: int, rate: float, latency: float) -> PointSummary:
    spread = Distribution(mean=latency, p50=latency, p90=latency, p99=latency, max=latency, samples=10)
    client = ClientProof(cpu_s=0, send_lateness_s=None, loop_lag_s=None, limited=False)
    return PointSummary(
        workload="w", concurrency=load, requests=10, ok=10, duration_s=1, output_tokens=10, output_tokens_per_s=rate,
        per_request_tokens_per_s=1, requests_per_s=1, ttft_s=None, itl_s=None, tpot_s=None, e2el_s=spread,
        client=client,
    )  # fmt: skip


def test_the_knee_is_where_throughput_stops_growing() -> None:
    curve = [point(1, 100, 1.0), point(2, 195, 1.05), point(4, 370, 1.1), point(8, 400, 2.0), point(16, 405, 4.0)]
    best = knee(curve)
    assert best is not None
    assert best.concurrency == 4


def test_a_line_has_no_knee() -> None:
    assert knee([point(1, 100, 1.0), point(2, 200, 1.01), point(4, 400, 1.02), point(8, 800, 1.04)]) is None
    assert knee([point(1, 100, 1.0), point(2, 150, 2.0)]) is None
