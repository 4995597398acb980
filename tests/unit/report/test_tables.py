import pytest
from tests.unit.report.sample_results import demo_result, point

from shakedown.domain.metric import PointSummary
from shakedown.domain.units import MISSING
from shakedown.report.tables import SWEEP_HEADERS, fastest, levels, mean_kl, ranked, sweep_rows


def test_repeats_of_a_level_are_put_together() -> None:
    [level] = levels([point("prose", 4, 0, 100.0), point("prose", 4, 1, 110.0, ok=15)])
    assert level.output_tokens_per_s == pytest.approx(105.0)
    assert level.spread == (100.0, 110.0)
    assert (level.ok, level.requests, level.repeats) == (31, 32, 2)
    assert level.output_tokens == 64 * 31


def test_levels_come_by_workload_then_load() -> None:
    points = [point("b", 1, 0, 1.0), point("a", 16, 0, 1.0), point("a", 2, 0, 1.0)]
    assert [(level.workload, level.load) for level in levels(points)] == [("a", "2"), ("a", "16"), ("b", "1")]


def test_what_was_not_measured_stays_unmeasured() -> None:
    bare = point("prose", 1, 0, 50.0).model_copy(
        update={"output_tokens_per_s": None, "per_request_tokens_per_s": None, "ttft_s": None, "tpot_s": None}
    )
    [level] = levels([bare])
    assert level.output_tokens_per_s is None
    assert level.ttft_p50_s is None
    assert level.spread is None
    assert fastest([level]) is None
    assert sweep_rows([bare])[0] == ("1", MISSING, MISSING, "1,024", "20.5", "16/16", MISSING, MISSING)


def test_request_rates_are_loads_too() -> None:
    rated = point("prose", 1, 0, 50.0).model_copy(update={"concurrency": None, "request_rate": 2.5})
    assert levels([rated])[0].load == "2.50/s"


def test_sweep_row_holds_what_its_headers_say() -> None:
    measured: PointSummary = point("prose", 4, 0, 161.0)
    row = dict(zip(SWEEP_HEADERS, sweep_rows([measured])[0], strict=True))
    assert row == {
        "C": "4", "Agg tok/s": "161", "Per-req tok/s": "37.0", "Tokens": "1,024", "Wall(s)": "6.4", "Ok": "16/16",
        "TTFT p50": "440 ms", "TPOT p50": "24.8 ms",
    }  # fmt: skip


def test_ranking_puts_the_best_first_and_the_unmeasured_last() -> None:
    order = [candidate.objective for candidate in ranked(demo_result())]
    measured = [value for value in order if value is not None]
    assert measured == sorted(measured, reverse=True)
    assert all(value is None for value in order[len(measured) :])


def test_mean_kl_comes_from_the_accuracy_gate() -> None:
    by_label = {candidate.label: candidate for candidate in demo_result().candidates}
    assert mean_kl(by_label["kv=k-q4_0"]) == 0.0871
    assert mean_kl(by_label["kv=kv-q8_0"]) is None
