"""N-gram speculation on the real server: its counters against what the streams themselves say, by kind of text."""

from __future__ import annotations

import pytest

from shakedown.client.control import ControlClient
from shakedown.domain.events import ServerReady
from shakedown.domain.words import EngineKind
from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.engines.registry import engine_for
from shakedown.judge.speculation import observe
from shakedown.load.generator import PointResult, run_point
from shakedown.load.prompts import prompt_source
from shakedown.load.tokenizers import find_tokenizer

pytestmark = [pytest.mark.live, pytest.mark.slow]

ENGINE = engine_for(EngineKind.LLAMA_CPP)
NGRAM = {
    "spec-type": "ngram-map-k",
    "spec-ngram-map-k-size-n": 2,
    "spec-ngram-map-k-size-m": 4,
    "parallel": 2,
    "ctx-size": 1024,
}
SOURCES = ("repeating", "text:prose", "random-tokens")


@pytest.fixture
def measured(launch) -> dict[str, PointResult]:
    """One point of each kind of text on one server."""
    server = launch(NGRAM)
    assert isinstance(server.wait_ready(), ServerReady)
    found = {}
    with ControlClient(server.base_url) as control:
        tokenizer = find_tokenizer(control, "demo", None)
        for source in SOURCES:
            workload = Workload(name=source, prompts=(source,), input_tokens=96, output_tokens=64, concurrency=(2,))
            found[source] = run_point(
                Target(base_url=server.base_url, model="demo"),
                PointPlan(workload=workload, level=LoadLevel(concurrency=2), requests=6),
                prompt_source(workload, tokenizer, salt=source),
                tokenizer=tokenizer,
                sample_server=lambda: ENGINE.counters(control.text(ENGINE.metrics_path)),
            )
    return found


def test_counters_agree_with_the_streams_on_every_kind_of_text(measured: dict[str, PointResult]) -> None:
    for source, result in measured.items():
        records, counters = result.records, result.summary.counters
        drafted = sum(record.drafted_tokens or 0 for record in records)
        accepted = sum(record.accepted_tokens or 0 for record in records)
        generated = sum(record.output_tokens or 0 for record in records)
        assert (counters.drafted_tokens, counters.accepted_tokens, counters.generated_tokens) == (
            drafted,
            accepted,
            generated,
        ), source
        seen = observe([result.summary])
        assert seen is not None
        assert seen.tokens_per_step == pytest.approx(generated / (generated - accepted)), source
        # What a prompt promises is not what comes of it: a small model repeats itself after random tokens too.
        print(f"{source}: accept length {seen.accept_length:.2f}, {seen.tokens_per_step:.2f} tokens a step")
