import pytest

from shakedown.diagnose.diagnose import diagnose_lines
from shakedown.diagnose.remedies import Derived, Refused, derive
from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.failure import Adjustment, Remedy, RootCause
from shakedown.domain.words import EngineKind

V_CACHE = "0.00.500.295 E llama_init_from_model: quantized V cache requires flash_attn to be enabled"


def candidate(kind: EngineKind = EngineKind.LLAMA_CPP, version: str | None = None, **args: object) -> Candidate:
    versions = {} if version is None else {str(kind): version}
    return Candidate(
        engine=EngineRef(kind=kind, versions=versions),
        model=ModelRef(path="/m", name="m"),
        args={name.replace("_", "-"): value for name, value in args.items()},
    )


def root(*lines: str, engine: EngineKind = EngineKind.LLAMA_CPP) -> RootCause:
    found = diagnose_lines(lines, engine=engine).root
    assert found is not None
    return found


def remedy_root(remedy: Remedy, signature: str = "made-up") -> RootCause:
    return RootCause(category=None, signature=signature, line_number=1, line="x", title="x", cause="x", remedy=remedy)


def test_a_quantised_v_cache_gets_flash_attention() -> None:
    outcome = derive(candidate(cache_type_v="q8_0"), root(V_CACHE), varied={"kv": ["cache-type-v"]})
    assert isinstance(outcome, Derived)
    assert outcome.candidate.args == {"cache-type-v": "q8_0", "flash-attn": "on"}
    assert outcome.candidate.derived_from == candidate(cache_type_v="q8_0").id
    assert outcome.candidate.remedy == "llama-quantized-v-cache-without-flash-attention"
    assert outcome.changes == ("set flash-attn = 'on'",)


def test_a_remedy_that_changes_what_is_compared_is_refused_and_names_what_would_work() -> None:
    failed = candidate(cache_type_v="q8_0", flash_attn="off")
    outcome = derive(failed, root(V_CACHE), varied={"attention": ["flash-attn"]})
    assert isinstance(outcome, Refused)
    assert outcome.kind == "changes_comparison"
    assert "attention" in outcome.reason
    assert outcome.mended is not None
    assert outcome.mended.id == candidate(cache_type_v="q8_0", flash_attn="on").id


def test_aliases_are_one_argument() -> None:
    failed = candidate(ctv="q8_0", fa="off")
    outcome = derive(failed, root(V_CACHE), varied={"attention": ["fa"]}, aliases={"fa": "flash-attn"})
    assert isinstance(outcome, Refused)
    assert outcome.mended is not None
    assert outcome.mended.args == {"ctv": "q8_0", "fa": "on"}


def test_no_remedy_twice_and_no_more_than_three() -> None:
    found = root(V_CACHE)
    assert found.signature is not None
    twice = derive(candidate(), found, varied={}, history=[found.signature])
    assert isinstance(twice, Refused)
    assert twice.kind == "repeated"
    fourth = derive(candidate(), found, varied={}, history=["a", "b", "c"])
    assert isinstance(fourth, Refused)
    assert fourth.kind == "exhausted"


def test_an_unknown_failure_has_no_remedy() -> None:
    outcome = derive(candidate(), None, varied={})
    assert isinstance(outcome, Refused)
    assert outcome.kind == "no_remedy"


def test_a_taken_port_is_launched_again_once() -> None:
    found = root("E srv start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 36589")
    outcome = derive(candidate(), found, varied={})
    assert isinstance(outcome, Derived)
    assert outcome.retry
    assert outcome.candidate.id == candidate().id
    again = derive(candidate(), found, varied={}, history=[outcome.signature])
    assert isinstance(again, Refused)


def test_flags_are_named_as_the_installed_version_names_them() -> None:
    line = "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 448.00 MiB."
    found = root(line, engine=EngineKind.SGLANG)
    assert found.signature == "sglang-graph-out-of-memory"
    args = {"cuda_graph_max_bs": 64, "cuda_graph_max_bs_decode": 64}
    old = derive(candidate(EngineKind.SGLANG, "0.5.10", **args), found, varied={})
    new = derive(candidate(EngineKind.SGLANG, "0.5.23", **args), found, varied={})
    assert isinstance(old, Derived)
    assert isinstance(new, Derived)
    assert old.candidate.args == {"cuda-graph-max-bs": 32, "cuda-graph-max-bs-decode": 64, "mem-fraction-static": 0.83}
    assert new.candidate.args == {"cuda-graph-max-bs": 64, "cuda-graph-max-bs-decode": 32, "mem-fraction-static": 0.83}


@pytest.mark.parametrize(
    ("flag", "hint", "env"),
    [
        ("mamba-scheduler-strategy", " and set SGLANG_ENABLE_SPEC_V2=1", {"SGLANG_ENABLE_SPEC_V2": "1"}),
        ("mamba-radix-cache-strategy", "", {}),
    ],
)
def test_the_line_itself_may_say_what_the_flag_is_called(flag: str, hint: str, env: dict[str, str]) -> None:
    line = (
        f"ValueError: Speculative decoding for Qwen3Next is not compatible with radix cache when using --{flag} "
        f"no_buffer. To use radix cache with speculative decoding, please use --{flag} extra_buffer{hint}."
    )
    outcome = derive(candidate(EngineKind.SGLANG), root(line, engine=EngineKind.SGLANG), varied={})
    assert isinstance(outcome, Derived)
    assert outcome.candidate.args == {flag: "extra_buffer"}
    assert outcome.candidate.env == env


def test_numbers_are_adjusted_from_what_was_asked_or_from_the_engines_default() -> None:
    lower = Remedy(advice="", adjust_args={"mem-fraction-static": Adjustment(add=-0.05, default=0.88, least=0.4)})
    given = derive(candidate(mem_fraction_static=0.9), remedy_root(lower), varied={})
    default = derive(candidate(), remedy_root(lower), varied={})
    too_low = derive(candidate(mem_fraction_static=0.42), remedy_root(lower), varied={})
    assert isinstance(given, Derived)
    assert isinstance(default, Derived)
    assert given.candidate.args == {"mem-fraction-static": 0.85}
    assert default.candidate.args == {"mem-fraction-static": 0.83}
    assert isinstance(too_low, Refused)
    assert too_low.kind == "no_change"


def test_an_avoided_value_is_taken_away_and_another_one_kept() -> None:
    avoid = Remedy(advice="", avoid_args={"attention-backend": ("trtllm_mha",)})
    avoided = derive(candidate(attention_backend="trtllm_mha", tp=8), remedy_root(avoid), varied={})
    kept = derive(candidate(attention_backend="triton"), remedy_root(avoid), varied={})
    assert isinstance(avoided, Derived)
    assert avoided.candidate.args == {"tp": 8}
    assert isinstance(kept, Refused)


def test_environment_variables_are_set_and_unset() -> None:
    remedy = Remedy(advice="", set_env={"A": "1"}, remove_env=("B",))
    failed = candidate().model_copy(update={"env": {"B": "2", "C": "3"}})
    outcome = derive(failed, remedy_root(remedy), varied={})
    assert isinstance(outcome, Derived)
    assert outcome.candidate.env == {"A": "1", "C": "3"}


def test_bare_assertion_of_speculation_without_steps_is_mended() -> None:
    log = [
        "Traceback (most recent call last):",
        '  File "/opt/sglang/srt/server_args.py", line 3057, in _handle_speculative_decoding',
        "    self.speculative_eagle_topk is None",
        "AssertionError",
    ]
    found = root(*log, engine=EngineKind.SGLANG)
    assert found.line_number == 3
    failed = candidate(EngineKind.SGLANG, speculative_algorithm="NEXTN", speculative_eagle_topk=1)
    half = failed.model_copy(update={"args": {**failed.args, "speculative-num-draft-tokens": 2}})
    outcome = derive(half, found, varied={"topk": []})
    assert isinstance(outcome, Derived)
    assert outcome.candidate.args == {"speculative-algorithm": "NEXTN"}, (
        "all three or none, as the rule of the plan says"
    )
