"""What a step waits for, and the levers in order, worked by hand."""

import pytest
from tests.unit.judge.cases.bottleneck import APPEARS

from shakedown.domain.result import Finding
from shakedown.domain.words import FindingKind
from shakedown.judge import judge


def told(case: str) -> Finding:
    (finding,) = (one for one in judge(APPEARS[case]).findings if one.kind is FindingKind.BOTTLENECK)
    return finding


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("memory", "memory bandwidth (reading weights and caches once takes 70 % of a step"),
        ("links", "the links between the GPUs (120 all-reduces take 10 to 90 % of a step"),
        ("kernels", "kernels (a step takes 5.0 times what it needs at least: reading once 10 %"),
        ("the scheduler", "the CPU that feeds the GPU (the GPUs were busy 40 % of the time"),
        ("capacity by settings", "at concurrency 4 it is bound by capacity (2 of 4 requests ran at once"),
        ("capacity by preemptions", "capacity (21 requests were preempted"),
        ("a full cache", "capacity (the KV cache was 99 % full"),
        ("the client", "the client (the load generator was late"),
    ],
)
def test_it_names_the_bound_and_the_measurement(case: str, words: str) -> None:
    assert words in told(case).summary


def test_levers_for_the_links_begin_with_drafts_and_name_the_cheapest_way() -> None:
    advice = told("links").advice
    assert advice.index("Draft several tokens") < advice.index("one-shot: 1 ms a step") < advice.index("fewer GPUs")


def test_shares_and_bounds_are_in_the_evidence() -> None:
    first, second = told("links").evidence["by_concurrency"]
    assert first["step_s"] == pytest.approx(0.01, rel=0.01)
    assert first["links_share"] == pytest.approx([0.1, 0.9], rel=0.01)
    assert first["memory_share"] == pytest.approx(0.1, rel=0.01)
    assert (first["bound"], second["concurrency"]) == ("links", 4)
