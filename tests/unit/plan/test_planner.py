import json
from pathlib import Path

import pytest
from tests.fakes.campaigns import PlainNames, campaign
from tests.fakes.machines import H200
from tests.fakes.shapes import SHAPES

from shakedown.domain.facts import EngineAnswer, EngineFacts, FlagFacts
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.inspect.checkpoint import inspect_model
from shakedown.plan.planner import make_plan

NEEDS_FLASH = "llamacpp-quantised-v-needs-flash-attention"
LLAMA = EngineFacts(kind=EngineKind.LLAMA_CPP, version="0.6.0", python="/p", packages={"xllamacpp": "1"})
DEMO = """
[engine]
kind = "llama.cpp"
args = { flash-attn = "off" }

[[vary]]
name = "kv"
options = [
  { label = "f16" },
  { label = "k", args = { cache-type-k = "q8_0" } },
  { label = "kv", args = { cache-type-k = "q8_0", cache-type-v = "q8_0" } },
]
"""


def flags(**choices: tuple[str, ...] | None) -> dict[str, FlagFacts]:
    named = {name.replace("_", "-"): values for name, values in choices.items()}
    return {
        name: FlagFacts(name=name, spellings=(f"--{name}",), choices=values, takes_value=True)
        for name, values in named.items()
    }


def test_a_candidate_the_engine_would_refuse_is_pruned_and_completed() -> None:
    plan = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA)
    assert [candidate.label for candidate in plan.candidates] == ["baseline", "kv=k", "kv=kv + flash-attn on"]
    (pruned,) = plan.pruned
    derived = plan.candidates[2]
    assert pruned.candidate.label == "kv=kv"
    assert pruned.rule == NEEDS_FLASH
    assert "q8_0" in pruned.reason
    assert pruned.completed == derived.id
    assert derived.derived_from == pruned.candidate.id
    assert derived.remedy == NEEDS_FLASH
    assert derived.args["flash-attn"] == "on"
    assert derived.settings == pruned.candidate.settings


def test_the_installed_engine_and_its_versions_are_in_the_candidates() -> None:
    plan = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA)
    assert plan.candidates[0].engine.python == "/p"
    assert plan.candidates[0].engine.versions == {"llama.cpp": "0.6.0", "xllamacpp": "1"}


def test_a_completed_candidate_that_exists_already_is_not_run_twice() -> None:
    text = DEMO + '[[vary]]\nname = "fa"\narg = "flash-attn"\nvalues = ["off", "on"]\n'
    plan = make_plan(campaign(text), PlainNames(), None, None, LLAMA)
    ids = [candidate.id for candidate in plan.candidates]
    assert len(ids) == len(set(ids)) == 5
    (pruned,) = plan.pruned
    assert pruned.completed in ids


def test_flags_that_the_installation_lacks_are_pruned_with_the_nearest_word() -> None:
    engine = LLAMA.model_copy(update={"flags": flags(flash_attn=("on", "off"), cache_type_k=("f16", "q8_0"))})
    text = """
[engine]
kind = "llama.cpp"
[[vary]]
name = "x"
options = [
  { label = "good", args = { flash-attn = "on" } },
  { label = "typo", args = { flash-atn = "on" } },
  { label = "value", args = { cache-type-k = "q8_1" } },
]
"""
    plan = make_plan(campaign(text), PlainNames(), None, None, engine)
    assert [candidate.label for candidate in plan.candidates] == ["baseline"]
    typo, value = plan.pruned
    assert typo.rule == "engine-has-no-such-flag"
    assert "--flash-attn?" in typo.reason
    assert value.rule == "engine-refuses-the-value"
    assert "q8_0?" in value.reason


def test_a_help_text_does_not_prove_that_a_hidden_flag_is_missing() -> None:
    engine = LLAMA.model_copy(update={"flags": flags(other=None), "flags_complete": False})
    plan = make_plan(campaign(DEMO), PlainNames(), None, None, engine)
    assert len(plan.candidates) == 3


def test_what_the_engine_itself_rejects_is_pruned_in_its_own_words() -> None:
    baseline = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA).candidates[0]
    answers = {baseline.id: EngineAnswer(accepted=False, message="ValueError: no such thing")}
    plan = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA, answers=answers)
    assert plan.pruned[0].rule == "engine-rejects"
    assert plan.pruned[0].reason == "ValueError: no such thing"
    assert baseline.id not in {candidate.id for candidate in plan.candidates}


def test_what_the_engine_resolves_is_expected_of_it() -> None:
    baseline = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA).candidates[0]
    answers = {
        baseline.id: EngineAnswer(accepted=True, resolved={"page-size": 64}),
        "gone": EngineAnswer(accepted=True),
    }
    plan = make_plan(campaign(DEMO), PlainNames(), None, None, LLAMA, answers=answers)
    assert plan.expected == {baseline.id: {"page-size": 64}}


def test_what_fits_is_reckoned_with_the_share_of_memory_that_the_engine_resolves(tmp_path: Path) -> None:
    text = """
[engine]
kind = "sglang"
[[vary]]
name = "x"
options = [{ label = "plain" }, { label = "named", args = { mem-fraction-static = 0.5 } }]
"""
    (tmp_path / "config.json").write_text(json.dumps(SHAPES["qwen3.5-35b-a3b"].config))
    model = inspect_model(tmp_path).model_copy(update={"weight_bytes": 30 << 30})
    sglang, facts = engine_for(EngineKind.SGLANG), EngineFacts(kind=EngineKind.SGLANG, version="0.5.17", flags=None)
    before = make_plan(campaign(text), sglang, model, H200, facts)
    resolved = {"mem-fraction-static": 0.838, "chunked-prefill-size": None}
    answers = {candidate.id: EngineAnswer(accepted=True, resolved=resolved) for candidate in before.candidates}
    plan = make_plan(campaign(text), sglang, model, H200, facts, answers=answers)
    shares = [(held.usable_bytes or 0) / (held.memory_bytes or 1) for held in plan.capacity]
    assert shares == pytest.approx([0.838, 0.5], rel=1e-6)


def test_argparse_takes_unambiguous_beginnings_of_flags() -> None:
    text = """
[engine]
kind = "vllm"
[[vary]]
name = "x"
options = [
  { label = "whole", args = { kv-cache-dtype = "fp8" } },
  { label = "beginning", args = { kv-cache = "fp8" } },
  { label = "ambiguous", args = { max = 1 } },
]
"""
    known = flags(kv_cache_dtype=("auto", "fp8"), max_num_seqs=None, max_model_len=None)
    engine = EngineFacts(kind=EngineKind.VLLM, version="0.26.0", flags=known)
    plan = make_plan(campaign(text), PlainNames(), None, None, engine)
    assert [candidate.label for candidate in plan.candidates] == ["baseline", "x=beginning"]
