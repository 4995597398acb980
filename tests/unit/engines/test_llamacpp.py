"""Reads what the real server said: data/llamacpp-* were captured from the wheel with ``--parallel 2 --flash-attn off
--cache-type-k q8_0 --threads 1 --spec-type ngram-simple,ngram-mod``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.words import EngineKind
from shakedown.engines.llamacpp import ENGINE

DATA = Path(__file__).parent / "data"
BOOT_LOG = (DATA / "llamacpp-boot.log").read_text().splitlines()
METRICS = (DATA / "llamacpp-metrics.txt").read_text()
ANSWERS = json.loads((DATA / "llamacpp-answers.json").read_text())


def argv(args, **ref):
    candidate = Candidate(
        engine=EngineRef(kind=EngineKind.LLAMA_CPP, **ref), model=ModelRef(path="m.gguf", name="m"), args=args
    )
    return list(ENGINE.launch_plan(candidate, host="127.0.0.1", port=8000).argv)


def test_a_launch_line_of_the_demo():
    args = {"c": 4096, "np": 2, "fa": "off", "ctk": "q8_0", "spec-type": ["ngram-simple", "ngram-mod"], "kvu": True}
    assert argv(args, python="/env/bin/python") == [
        *("/env/bin/python", "-m", "shakedown.launch.llama_server"),
        *("--model", "m.gguf", "--host", "127.0.0.1", "--port", "8000", "--alias", "m"),
        *("--ctx-size", "4096", "--parallel", "2", "--flash-attn", "off", "--cache-type-k", "q8_0"),
        *("--spec-type", "ngram-simple,ngram-mod", "--kv-unified", "--metrics", "--verbosity", "4"),
    ]


@pytest.mark.parametrize(("args", "words"), [({"fa": True}, ["--flash-attn", "on"]), ({"jinja": True}, ["--jinja"])])
def test_true_is_a_bare_flag_or_on_where_the_flag_takes_on_and_off(args, words):
    line = argv(args)
    start = line.index(words[0])
    assert line[start : start + len(words)] == words
    assert line[start + len(words)].startswith("--")


def test_what_the_user_says_of_alias_and_verbosity_wins():
    line = argv({"a": "other", "lv": 1})
    assert line.count("--alias") == line.count("--verbosity") == 1
    assert "other" in line
    assert line[line.index("--verbosity") + 1] == "1"
    assert "--verbosity" not in argv({"v": True})


def test_settings_come_from_props_and_the_boot_log():
    assert ENGINE.effective_settings([ANSWERS["props"], ANSWERS["models"]], BOOT_LOG) == {
        "engine_version": "b0-unknown",
        "model_name": "demo",
        "max_running_requests": 2,
        "context_tokens": 1024,
        "threads": 1,
        "threads_batch": 1,
        "n_batch": 2048,
        "n_ubatch": 512,
        "flash_attention": "off",
        "kv_cache_tokens": 2048,
        "kv_cache_mib": 34.45,
        "kv_cache_dtype": None,
        "kv_cache_dtype_k": "q8_0",
        "kv_cache_dtype_v": "f16",
        "kv_unified": False,
        "speculative_algorithm": "ngram-simple,ngram-mod",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("I llama_context: flash_attn            = auto", {}),
        ("I resolve_fused_ops: Flash Attention enabled", {"flash_attention": "on"}),
        ("I spec common_specu: no implementations specified for speculative decoding", {"speculative_algorithm": None}),
        (
            "E srv    load_model: failed to initialize speculative decoding context: draft-simple requires a draft",
            {"speculative_algorithm": None},
        ),
        (
            "I llama_kv_cache: size =   45.00 MiB (  2048 cells,  30 layers,  4/1 seqs), K (f16):  22.50 MiB, V (f16):",
            {
                "kv_cache_tokens": 2048,
                "kv_cache_mib": 45.0,
                "kv_cache_dtype": "f16",
                "kv_cache_dtype_k": "f16",
                "kv_cache_dtype_v": "f16",
            },
        ),
    ],
)
def test_single_log_lines(line, expected):
    """A unified cache has its cells once for all slots; speculation that could not start is off, whatever was asked."""
    settings = ENGINE.effective_settings([None, None], [line])
    assert {key: value for key, value in settings.items() if key in expected or value is not None} == expected


def test_a_quiet_log_leaves_settings_unknown_rather_than_off():
    settings = ENGINE.effective_settings([ANSWERS["props"], None], ["I srv init: model loaded"])
    assert "speculative_algorithm" not in settings
    assert "kv_cache_dtype" not in settings


def test_counters():
    window = ENGINE.counters(METRICS)
    assert window.generated_tokens == 48
    assert window.drafts == 2
    assert window.drafted_tokens == 2
    assert window.accepted_tokens == 2
    assert window.accepted_per_position is not None
    assert window.accepted_per_position[:2] == (2, 0)
    assert (window.running_max, window.queued_max) == (0, 0)
    assert window.kv_usage_max is None


def test_an_older_server_without_speculation_counters_has_none():
    window = ENGINE.counters("# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total 5\n")
    assert window.generated_tokens == 5
    assert window.drafts is None
    assert window.accepted_per_position is None


def test_lossy_settings_name_what_is_quantised_or_made_up():
    said = ENGINE.lossy_settings({"ctk": "q8_0", "ctv": "bf16", "spec-synth-len": 3, "spec-type": "ngram-simple"})
    assert len(said) == 2
    assert said[0].startswith("cache-type-k = q8_0")
    assert said[1].startswith("spec-synth-len")


def test_log_probabilities_of_a_next_token():
    top = [{"id": 6354, "token": " brown", "logprob": -0.0320}, {"id": 29, "token": "-", "logprob": -5.6929}]
    answer = {"completion_probabilities": [{"id": 6354, "token": " brown", "logprob": -0.0320, "top_logprobs": top}]}
    position = ENGINE.logprobs.parse_next_token(answer)
    assert position.token_id == 6354
    assert position.logprob == -0.0320
    assert position.top == {6354: -0.0320, 29: -5.6929}
