"""The real llama.cpp server from the wheel, under supervision and through its adapter."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from shakedown.client.control import ControlClient
from shakedown.domain.events import PhaseReached, ServerReady
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.launch.server import Ended

pytestmark = pytest.mark.live

ENGINE = engine_for(EngineKind.LLAMA_CPP)
MODULE = [sys.executable, "-m", "shakedown.launch.llama_server"]


def test_boot_settings_tokens_counters_and_a_clean_stop(launch):
    events = []
    args = {"parallel": 2, "flash-attn": "off", "cache-type-k": "q8_0", "spec-type": "ngram-map-k"}
    sizes = {"spec-ngram-map-k-size-n": 2, "spec-ngram-map-k-size-m": 4}
    server = launch({**args, **sizes}, events=events)
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    phases = [event.phase for event in events if isinstance(event, PhaseReached)]
    assert phases == ["starting", "loading weights", "allocating KV cache", "making slots", "listening"]
    expected = {
        "model_name": "demo",
        "max_running_requests": 2,
        "context_tokens": 256,
        "kv_cache_tokens": 512,
        "kv_cache_dtype_k": "q8_0",
        "kv_cache_dtype_v": "f16",
        "flash_attention": "off",
        "threads": 1,
        "speculative_algorithm": "ngram-map-k",
    }
    assert {key: ready.effective[key] for key in expected} == expected
    with ControlClient(server.base_url) as control:
        before = ENGINE.counters(control.text(ENGINE.metrics_path))
        body = {"prompt": "one two three " * 20, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
        usage = control.json("POST", "/v1/completions", body)["usage"]
        after = ENGINE.counters(control.text(ENGINE.metrics_path))
    assert after.generated_tokens - before.generated_tokens == usage["completion_tokens"] == 24
    assert after.drafted_tokens >= after.accepted_tokens > before.accepted_tokens == 0
    stopped = server.stop()
    assert (stopped.exit_code, stopped.forced) == (0, False)
    assert not psutil.pid_exists(ready.pid)


def test_log_probabilities_are_the_same_when_asked_again_and_sum_to_at_most_one(launch):
    server = launch({})
    assert isinstance(server.wait_ready(), ServerReady)
    probe = ENGINE.logprobs.next_token_request([504, 2365, 6354, 16438], 5, "demo")
    with ControlClient(server.base_url) as control:
        first, again = (
            ENGINE.logprobs.parse_next_token(control.json(probe.method, probe.path, probe.body)) for _ in "ab"
        )
    assert first == again
    assert len(first.top) == 5
    assert max(first.top, key=first.top.__getitem__) == first.token_id
    assert first.logprob == first.top[first.token_id] < 0


def test_a_quantised_v_cache_without_flash_attention_refuses_in_its_own_words(launch):
    server = launch({"flash-attn": "off", "cache-type-v": "q8_0"})
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.evidence.exit_code == 1
    assert any("quantized V cache requires flash_attn to be enabled" in line for line in server.log_lines())


def test_a_model_cut_in_half_refuses_with_a_reason(launch, model_file, tmp_path):
    half = tmp_path / "half.gguf"
    with Path(model_file).open("rb") as whole:
        half.write_bytes(whole.read(49_000_000))
    server = launch({}, path=str(half))
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.evidence.exit_code == 1
    assert any("error loading model" in line for line in server.log_lines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bogus"], "error: invalid argument: --bogus"),
        (["-ctk", "q9"], "Unsupported cache type: q9"),
        (["-fa", "maybe"], "unknown value for --flash-attn: 'maybe'"),
        (["--port"], "expected value for argument"),
        (["--draft-max", "3"], "the argument has been removed"),
    ],
)
def test_bad_arguments_are_refused_as_llama_server_refuses_them(words, said):
    pytest.importorskip("xllamacpp")
    done = subprocess.run([*MODULE, *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_help_lists_llama_servers_flags():
    pytest.importorskip("xllamacpp")
    done = subprocess.run([*MODULE, "--help"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0
    for flag in ("--cache-type-k", "--spec-type", "--slots", "--rope-freq-base", "--cache-reuse", "--metrics"):
        assert flag in done.stdout


def test_sigterm_while_loading_ends_it(launch):
    server = launch({})
    time.sleep(0.2)
    assert server.stop().seconds < 8
    assert not any("Traceback" in line for line in server.log_lines())


def test_the_engine_does_not_outlive_a_killed_trial(model_file, tmp_path):
    """At three random moments of a real boot."""
    code = (
        "import sys; sys.argv = ['', *sys.argv[1:]]\n"
        "from pathlib import Path\n"
        "from shakedown.domain.candidate import *\n"
        "from shakedown.domain.trial import Limits\n"
        "from shakedown.engines.registry import engine_for\n"
        "from shakedown.launch.server import Server\n"
        "from shakedown.launch.port import free_port\n"
        "engine, port = engine_for('llama.cpp'), free_port('127.0.0.1')\n"
        "candidate = Candidate(engine=EngineRef(kind='llama.cpp', python=sys.executable),\n"
        "    model=ModelRef(path=sys.argv[1], name='demo'), args={'ctx-size': 512, 'threads': 1})\n"
        "server = Server.start(engine.launch_plan(candidate, host='127.0.0.1', port=port), engine,\n"
        "    folder=Path(sys.argv[2]), host='127.0.0.1', port=port, limits=Limits(), model_name='demo',\n"
        "    on_event=lambda event: print(getattr(event, 'pid', ''), flush=True))\n"
        "server.wait_ready(); import time; time.sleep(100)\n"
    )
    moments = random.Random(5)
    for index in range(3):
        trial = subprocess.Popen(
            [sys.executable, "-c", code, model_file, str(tmp_path / str(index))], stdout=subprocess.PIPE, text=True
        )
        with trial:
            assert trial.stdout is not None
            engine_pid = int(trial.stdout.readline())
            time.sleep(moments.uniform(0, 0.8))
            os.kill(trial.pid, signal.SIGKILL)
        deadline = time.monotonic() + 5
        while psutil.pid_exists(engine_pid) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not psutil.pid_exists(engine_pid)
