import pytest
from tests.fakes.checks_dialects import LLAMA, VLLM
from tests.fakes.faulty_server import FaultyServer

from shakedown.checks.base import Context
from shakedown.checks.ladder.drift_from_reference import CHECK
from shakedown.checks.reference import read_reference, write_reference
from shakedown.checks.server import Server
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict
from shakedown.domain.workload import Target

pytestmark = pytest.mark.timeout(600)  # hundreds of small requests: minutes on a busy machine
ENGINES = pytest.mark.parametrize("engine", [LLAMA, VLLM], ids=["probes", "prompt"])


def run(server, file, engine, *, level="quick", write=False, context_tokens=512, **gates):
    """Write a reference with the check alone, or compare with one."""
    target = Target(base_url=server.url, model="toy", request_timeout_s=20)
    wanted = Gates(level=level, context_tokens=context_tokens, **gates)
    with Server(target) as asked:
        context = Context(asked, engine, wanted, None if write else read_reference(file, "toy"), {} if write else None)
        outcome = CHECK.run(context)
    if write:
        write_reference(file, model="toy", level=level, context_tokens=context_tokens, parts=context.draft)
    return outcome


@ENGINES
def test_the_same_server_does_not_drift(engine, tmp_path):
    with FaultyServer() as server:
        written = run(server, tmp_path / "r.json", engine, write=True, context_tokens=128)
        result = run(server, tmp_path / "r.json", engine, context_tokens=128)
    assert written.evidence["reach_tokens"] == 128
    assert result.verdict is CheckVerdict.PASS
    assert result.evidence["mean_kl"] == pytest.approx(0, abs=1e-6)
    assert result.evidence["top1_agreement"] == 1
    assert result.evidence["decision"] == "within"


@ENGINES
def test_a_change_is_measured_the_same_by_probes_and_by_prompts(engine, tmp_path):
    with FaultyServer() as server:
        run(server, tmp_path / "r.json", engine, write=True)
    with FaultyServer(noise=0.6) as changed:
        result = run(changed, tmp_path / "r.json", engine)
    assert result.verdict is CheckVerdict.FAIL
    low, high = result.evidence["interval"]
    assert 0.1 < low < result.evidence["mean_kl"] < high


@ENGINES
def test_drift_beyond_4000_tokens_is_found_where_it_begins_and_only_when_gated_there(engine, tmp_path):
    near, far = tmp_path / "near.json", tmp_path / "far.json"
    with FaultyServer() as server:
        run(server, near, engine, write=True, context_tokens=2000)
        run(server, far, engine, level="standard", write=True, context_tokens=6000)
    with FaultyServer(fault="drift_beyond_4000") as drifting:
        short = run(drifting, near, engine, context_tokens=2000)
        long = run(drifting, far, engine, level="standard", context_tokens=6000)
    assert short.verdict is CheckVerdict.PASS
    assert long.verdict is CheckVerdict.FAIL
    assert "beyond 2,048 tokens" in long.summary
    buckets = {bucket["from"]: bucket["decision"] for bucket in long.evidence["buckets"]}
    assert buckets[2048] == "above"
    assert buckets[128] == "within"


def test_an_interval_that_holds_the_limit_is_undecided_and_says_so(tmp_path):
    with FaultyServer() as server:
        run(server, tmp_path / "r.json", LLAMA, write=True)
    with FaultyServer(noise=0.3) as changed:
        first = run(changed, tmp_path / "r.json", LLAMA, max_kl=5.0)
        result = run(changed, tmp_path / "r.json", LLAMA, max_kl=first.evidence["mean_kl"])
    assert result.verdict is CheckVerdict.PASS
    assert result.evidence["decision"] == "undecided"
    assert "undecided" in result.summary
