"""The gates on the real engine: true to itself, KV caches in order, and each wrong launch caught by its own rung."""

from __future__ import annotations

import pytest

from shakedown.checks.base import Context
from shakedown.checks.ladder.drift_from_reference import CHECK as DRIFT
from shakedown.checks.reference import read_reference
from shakedown.checks.runner import run_checks
from shakedown.checks.server import Server
from shakedown.domain.events import ServerReady
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict, EngineKind, GateLevel
from shakedown.domain.workload import Target
from shakedown.engines.registry import engine_for

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

ENGINE = engine_for(EngineKind.LLAMA_CPP)
CONTEXT_TOKENS = 300  # above the 256 to which llama.cpp rounds a smaller context up
ARGS = {"ctx-size": 1024, "parallel": 4, "kv-unified": True, "flash-attn": "on"}


@pytest.fixture(scope="session")
def reference_file(tmp_path_factory):
    return tmp_path_factory.mktemp("reference") / "f16.json"


@pytest.fixture
def served(launch):
    def start(**changes):
        server = launch(ARGS | changes)
        assert isinstance(server.wait_ready(), ServerReady)
        return Target(base_url=server.base_url, model="demo", request_timeout_s=60)

    return start


@pytest.fixture
def reference(served, reference_file):
    """The reference of the untouched server; written once, and that run must pass."""
    if not reference_file.exists():
        report = check(served(), reference_file, write=True)
        assert report.verdict is CheckVerdict.PASS, [result.summary for result in report.checks]
    return reference_file


def check(target, file, *, write=False):
    gates = Gates(context_tokens=CONTEXT_TOKENS, write_reference=write, reference_file=str(file))
    return run_checks(target, ENGINE, gates, on_result=lambda result: None)


def drift(target, file):
    gates = Gates(level=GateLevel.QUICK, context_tokens=CONTEXT_TOKENS)
    with Server(target) as server:
        return DRIFT.run(Context(server, ENGINE, gates, read_reference(file, "demo"))).evidence


def test_another_launch_of_the_same_line_passes(served, reference):
    report = check(served(), reference)
    assert report.verdict is CheckVerdict.PASS, report.checks[-1].summary
    assert {result.verdict for result in report.checks} == {CheckVerdict.PASS}


def test_kv_cache_types_come_out_in_order_of_their_precision(served, reference):
    mean = {
        kind: drift(served(**{"cache-type-k": kind, "cache-type-v": kind}), reference)["mean_kl"]
        for kind in ("f16", "q8_0", "q4_0")
    }
    assert mean["f16"] < mean["q8_0"] < mean["q4_0"]
    assert mean["f16"] < 2e-3  # a cached prefix was computed in other batches: the last bits differ


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"rope-freq-scale": 0.5}, "drift_from_reference"),
        ({"chat-template": "llama2"}, "chat_template"),
        ({"ctx-size": 192, "parallel": 1}, "context_length"),
    ],
    ids=["rope", "template", "context"],
)
def test_a_wrong_launch_is_caught_by_the_rung_that_should(served, reference, changes, name):
    report = check(served(**changes), reference)
    assert report.verdict is CheckVerdict.FAIL
    assert report.checks[-1].name == name, report.checks[-1].summary
