"""Diagnosis through its one public function: whole logs in, root line out."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.logs.generator import Case, cases, real_log, realistic_log

from shakedown.diagnose.diagnose import diagnose_blocks, diagnose_lines
from shakedown.domain.failure import Diagnosis, ExitEvidence
from shakedown.domain.words import Category, EngineKind, Stage

KINDS = {kind.value: kind for kind in EngineKind}
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a total capacity of 95.00 GiB"
)


def signature_of(diagnosis: Diagnosis) -> str | None:
    return diagnosis.root.signature if diagnosis.root else None


def right(case: Case, seed: int) -> tuple[bool, bool]:
    """Whether root line and category are right; a case without a root line has no category to find in its log."""
    log = realistic_log(case, seed)
    root = diagnose_lines(log.lines, engine=KINDS.get(case.engine)).root
    if log.root_number is None:
        return root is None, root is None
    return root is not None and root.line_number == log.root_number, root is not None and root.category == case.category


@pytest.mark.parametrize(
    ("name", "least_root", "least_category"),
    [
        ("cases.jsonl", 0.99, 0.99),
        ("cases-found.jsonl", 0.97, 0.97),
        ("cases-found-later.jsonl", 0.95, 0.9),
        ("cases-found-third.jsonl", 0.95, 0.9),
        ("cases-found-fourth.jsonl", 0.95, 0.9),
        ("cases-found-fifth.jsonl", 0.9, 0.9),
        ("cases-found-sixth.jsonl", 0.95, 0.85),
        ("cases-found-seventh.jsonl", 0.95, 0.8),
        ("cases-found-eighth.jsonl", 0.95, 0.9),
        ("cases-found-ninth.jsonl", 0.95, 0.9),
        ("cases-found-tenth.jsonl", 0.95, 0.9),
        ("cases-found-eleventh.jsonl", 0.95, 0.9),
        ("cases-found-twelfth.jsonl", 0.95, 0.9),
        ("cases-found-thirteenth.jsonl", 0.95, 0.85),
        ("cases-found-fourteenth.jsonl", 0.95, 0.85),
        ("cases-found-fifteenth.jsonl", 0.95, 0.9),
        ("cases-found-sixteenth.jsonl", 0.95, 0.9),
        ("cases-found-seventeenth.jsonl", 0.95, 0.9),
        ("cases-found-eighteenth.jsonl", 0.95, 0.9),
        ("cases-found-nineteenth.jsonl", 0.9, 0.9),
        ("cases-found-twentieth.jsonl", 0.95, 0.95),
        ("cases-found-twenty-first.jsonl", 0.95, 0.95),
        ("cases-found-twenty-second.jsonl", 0.95, 0.85),
        ("cases-found-twenty-third.jsonl", 0.95, 0.95),
        ("cases-found-twenty-fourth.jsonl", 0.95, 0.85),
        ("cases-found-twenty-fifth.jsonl", 0.95, 0.9),
        ("cases-found-twenty-sixth.jsonl", 0.95, 0.9),
        ("cases-found-twenty-seventh.jsonl", 0.95, 0.85),
    ],
)
def test_root_line_and_category_of_public_failures(name: str, least_root: float, least_category: float) -> None:
    failures = [case for case in cases(name) if case.kind == "failure"]
    outcomes = [right(case, seed=1) for case in failures]
    assert sum(line for line, _ in outcomes) / len(outcomes) >= least_root
    assert sum(category for _, category in outcomes) / len(outcomes) >= least_category


HARMLESS = [
    case
    for name in (
        "cases.jsonl",
        *(f"cases-found-twenty-{number}.jsonl" for number in ("fourth", "fifth", "sixth", "seventh")),
    )
    for case in cases(name)
    if case.kind == "benign"
]


@pytest.mark.parametrize("case", HARMLESS, ids=lambda case: case.id)
def test_no_root_is_claimed_for_harmless_lines(case: Case) -> None:
    diagnosis = diagnose_lines(realistic_log(case, seed=1).lines)
    assert diagnosis.root is None
    assert not diagnosis.failed


def test_a_harmless_line_is_not_the_reason_for_a_failure_without_one() -> None:
    harmless = "[2026-11-29 18:15:20] torchcodec is not installed; audio inputs will fail at request time"
    end = "[2026-11-29 18:34:06] Received sigquit from a child process. It usually means the child failed."
    unknown = "something could not be had"
    assert diagnose_lines([harmless, end]).root is None
    root = diagnose_lines([harmless, unknown, end]).root
    assert root is not None
    assert root.line == unknown


REAL_FAILURES = [
    ("llama.cpp-xllamacpp-bad-chat-template.log", "llama-chat-template", 9),
    ("llama.cpp-xllamacpp-draft-missing.log", "llama-model-file-missing", 7),
    ("llama.cpp-xllamacpp-host-memory-limit.log", "llama-host-malloc-failed", 8),
    ("llama.cpp-xllamacpp-kv-type-does-not-divide.log", "llama-kv-type-does-not-divide-head", 7),
    ("llama.cpp-xllamacpp-lora-missing.log", "llama-model-file-missing", 7),
    ("llama.cpp-xllamacpp-missing-file.log", "llama-model-file-missing", 7),
    ("llama.cpp-xllamacpp-no-mtp-layers.log", "llama-no-mtp-layers", 10),
    ("llama.cpp-xllamacpp-not-a-projector.log", "llama-clip-load-failed", 7),
    ("llama.cpp-xllamacpp-not-gguf.log", "llama-not-gguf", 7),
    ("llama.cpp-xllamacpp-port-taken.log", "llama-port-in-use", 5),
    ("llama.cpp-xllamacpp-quantized-v-cache.log", "llama-quantized-v-cache-without-flash-attention", 7),
    ("llama.cpp-xllamacpp-request-exceeds-slot.log", "llama-context-exceeded", 23),
    ("llama.cpp-xllamacpp-split-mode-tensor.log", "llama-split-mode-tensor", 8),
    ("llama.cpp-xllamacpp-truncated.log", "llama-gguf-truncated", 7),
    ("llama.cpp-xllamacpp-unknown-architecture.log", "llama-unknown-architecture", 7),
    ("sglang-0.5.17-h200-context-too-long.log", "max-length-beyond-model", 32),
    ("sglang-0.5.17-h200-drafts-without-steps.log", "sglang-spec-steps-missing", 26),
    ("sglang-0.5.17-h200-flashmla.log.gz", "sglang-mla-backend-without-mla", 78),
    ("sglang-0.5.17-h200-fp4-kv.log.gz", "renamed-value", 60),
    ("sglang-0.5.17-h200-memory-fraction-too-small.log.gz", "sglang-no-room-for-states", 65),
    ("sglang-0.5.17-h200-not-quantized-so.log.gz", "quantization-config-unreadable", 68),
    ("sglang-0.5.17-h200-one-gpu-visible.log.gz", "device-ordinal", 52),
    ("sglang-0.5.17-h200-unknown-flag.log.gz", "unrecognized-arguments", 424),
    ("sglang-0.5.17-h200-no-buffer-refused.log", "sglang-no-buffer-overlap", 25),
    ("sglang-0.5.17-h200-trtllm-mha-refused.log", "sglang-trtllm-mha-prefill", 22),
    ("sglang-0.5.17-h200-trtllm-moe-died.log.gz", "flashinfer-kernels-not-downloaded", 46),
    ("vllm-0.26.0-h200-context-too-long.log", "max-length-beyond-model", 56),
    ("vllm-0.26.0-h200-cutlass-mla.log.gz", "vllm-backend-for-mla", 85),
    ("vllm-0.26.0-h200-memory-share-too-small.log.gz", "vllm-no-cache-blocks", 55),
    ("vllm-0.26.0-h200-mtp-not-in-model.log", "speculation-refused", 60),
    ("vllm-0.26.0-h200-not-quantized-so.log", "quantization-config-unreadable", 55),
    ("vllm-0.26.0-h200-one-gpu-visible.log", "device-ordinal", 54),
    ("vllm-0.26.0-h200-no-flashinfer.log", "module-missing", 54),
    ("vllm-0.32.0-cpu-bad-argument.log.gz", "unrecognized-arguments", 307),
    ("vllm-0.32.0-cpu-max-model-len-too-large.log", "max-length-beyond-model", 56),
    ("vllm-0.32.0-cpu-missing-model.log", "model-path-not-found", 55),
    ("vllm-0.32.0-cpu-mtp-not-in-model.log", "speculation-refused", 60),
    ("vllm-0.32.0-cpu-no-package-metadata.log", "module-missing", 25),
    ("vllm-0.32.0-cpu-port-taken.log", "port-in-use", 41),
    ("vllm-0.32.0-cpu-torchaudio-library.log", "shared-library-missing", 7),
    ("vllm-0.32.0-cpu-torchvision-operator.log", "torch-operator-missing", 42),
]


@pytest.mark.parametrize(("name", "signature", "number"), REAL_FAILURES)
def test_real_failures_of_real_engines(name: str, signature: str, number: int) -> None:
    diagnosis = diagnose_lines(real_log(name))
    assert diagnosis.failed
    assert diagnosis.engine == name.split("-", maxsplit=1)[0]
    assert diagnosis.root is not None
    assert (diagnosis.root.signature, diagnosis.root.line_number) == (signature, number)
    assert diagnosis.root.line is not None
    assert diagnosis.root.line in real_log(name)[number - 1]


@pytest.mark.parametrize(
    "name",
    [
        "llama.cpp-xllamacpp-healthy.log",
        "sglang-0.5.17-h200-ready.log.gz",
        "sglang-0.5.17-h200-nextn-load.log.gz",
        "sglang-0.5.17-h200-nextn-forced-accept-3.log.gz",
        "sglang-0.5.17-h200-still-starting.log",
        "vllm-0.26.0-h200-ready.log.gz",
        "vllm-0.26.0-h200-served-and-stopped.log.gz",  # a request of it was answered with 500
        "vllm-0.26.0-h200-ngram-stopped.log.gz",  # "does not yet support ngram ...; using the V1 model runner instead"
        "sglang-0.5.17-h200-streams-cancelled.log.gz",
        "vllm-0.26.0-h200-fp8-e5m2.log",  # "Failed to connect to NVIDIA artifactory", and it went on without
    ],
)
def test_a_server_that_served_and_was_stopped_did_not_fail(name: str) -> None:
    diagnosis = diagnose_lines(real_log(name))
    assert not diagnosis.failed
    assert diagnosis.root is None
    assert diagnosis.stage is None


def test_an_empty_log_says_nothing() -> None:
    assert diagnose_lines([]) == Diagnosis(engine=None, stage=None, failed=False, root=None)


# --- whatever stands before a line, it is the same line -------------------------------------------------------------

PREFIXES = [
    "",
    "2025-07-25T07:53:08.217487082+08:00 stdout F ",
    "Nov 29 18:16:58 gpu07 sglang[4242]: ",
    "llama.cpp-gpu  | ",
    "[pod/vllm-0/server] ",
    "[1,3]<stderr>:",
    "3: ",
    "\x1b[1;36m(EngineCore_DP0 pid=12)\x1b[0;0m ERROR 11-29 18:35:25 [core.py:1330] ",
    "(Worker pid=7) (Worker_TP1 pid=7) ERROR 03-05 09:56:09 [multiproc_executor.py:880] ",
    "[2025-09-22 17:29:06 DP0 TP1] ",
    "[rank3]: ",
    "[03/07/2025-11:03:44] [TRT-LLM] [RANK 3] [E] ",
    "Loading: 12%|#         | 1/8 [00:01<00:09]\r",
]


@settings(max_examples=60, deadline=None)
@given(
    outer=st.sampled_from(PREFIXES), inner=st.sampled_from(PREFIXES), line=st.sampled_from([OOM, "KeyError: 'qwen9'"])
)
def test_prefixes_change_neither_root_nor_number(outer: str, inner: str, line: str) -> None:
    log = ["starting", outer + inner + line, "end"]
    root = diagnose_lines(log).root
    assert root is not None
    assert root.line_number == 2
    assert root.signature == ("cuda-out-of-memory" if line == OOM else "model-architecture-unknown")


@pytest.mark.parametrize("key", ["log", "message", "msg"])
def test_lines_of_json_are_read(key: str) -> None:
    log = [json.dumps({key: "starting\n", "stream": "stderr"}), json.dumps({key: OOM + "\n", "level": "error"})]
    root = diagnose_lines(log).root
    assert root is not None
    assert root.signature == "cuda-out-of-memory"
    assert root.line_number == 2


def test_text_and_bytes_with_or_without_newlines_are_the_same_log() -> None:
    log = ["one", OOM, "three"]
    expected = diagnose_lines(log)
    assert diagnose_lines([line + "\n" for line in log]) == expected
    assert diagnose_lines([line.encode() + b"\n" for line in log]) == expected
    assert diagnose_blocks(["\n".join(log).encode()]) == expected


def test_bytes_that_are_no_text_do_no_harm() -> None:
    root = diagnose_lines([b"\xff\xfe\x00garbage", b"\xc3(" + OOM.encode() + b"\xff"]).root
    assert root is not None
    assert root.signature == "cuda-out-of-memory"


# --- arbitration ----------------------------------------------------------------------------------------------------

WRAPPERS = [
    "(EngineCore pid=9) ERROR 11-29 18:35:25 [core.py:1330] EngineCore failed to start.",
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
]


def test_the_loudest_last_line_is_not_the_root() -> None:
    diagnosis = diagnose_lines([f"(Worker_TP1 pid=3) {OOM}", *WRAPPERS])
    assert signature_of(diagnosis) == "cuda-out-of-memory"
    assert [symptom.signature for symptom in diagnosis.symptoms] == ["vllm-engine-core-wrapper"] * 2


def test_wrappers_alone_are_a_failure_without_a_root() -> None:
    diagnosis = diagnose_lines(WRAPPERS)
    assert diagnosis.failed
    assert diagnosis.root is None
    assert diagnosis.tail == tuple(WRAPPERS)


def test_the_process_that_failed_first_wins_and_independent_roots_are_named() -> None:
    log = [
        "[2025-09-22 17:29:06 TP3] ModuleNotFoundError: No module named 'helion_kernels'",
        f"[2025-09-22 17:29:07 TP1] {OOM}",
        f"[2025-09-22 17:29:07 TP2] {OOM}",
        *["[2025-09-22 17:29:08] waiting"] * 80,
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use",
    ]
    diagnosis = diagnose_lines(log)
    assert signature_of(diagnosis) == "cuda-out-of-memory"  # specific before generic
    assert diagnosis.root is not None
    assert diagnosis.root.line_number == 2
    assert [root.signature for root in diagnosis.other_roots] == ["module-missing", "port-in-use"]


def test_interleaved_tracebacks_are_untangled() -> None:
    one = [
        "Traceback (most recent call last):",
        '  File "/a/one.py", line 1, in load',
        "    raise Odd",
        "OddError: first",
    ]
    two = [
        "Traceback (most recent call last):",
        '  File "/b/two.py", line 2, in join',
        "    wait()",
        "EvenError: second",
    ]
    log: list[str] = []
    for left, right_line in zip(one, two, strict=True):
        log += [f"(Worker_TP0 pid=1) ERROR 11-29 18:35:25 [a.py:1] {left}", f"(Worker_TP1 pid=2) {right_line}"]
    root = diagnose_lines(log).root
    assert root is not None
    assert root.title == "OddError: first"
    assert "load (/a/one.py)" in root.cause


def test_the_first_cause_of_a_chain_is_the_root() -> None:
    log = [
        "Traceback (most recent call last):",
        '  File "/x/cache.py", line 3, in get',
        "    return table[name]",
        "LookupFailure.Missing: tile 7",
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        "Traceback (most recent call last):",
        '  File "/x/run.py", line 9, in run',
        "    get(name)",
        "RunFailure.Stopped: cannot run",
    ]
    root = diagnose_lines(log).root
    assert root is not None
    assert root.title == "Missing: tile 7"
    assert root.line_number == 4


@pytest.mark.parametrize(
    ("exception", "category"),
    [
        ("FunnyError: nothing known", None),
        ("torch.cuda.OutOfMemoryError: x", Category.DEVICE_OUT_OF_MEMORY),
        ("ValueError: speculative widget needs gizmos", Category.SPECULATION),
        ("RuntimeError: the nvfp4 gizmo is odd", Category.QUANTIZATION),
    ],
)
def test_an_unknown_traceback_gives_its_own_exception(exception: str, category: Category | None) -> None:
    log = ["Traceback (most recent call last):", '  File "/x/gizmo.py", line 3, in turn', "    turn()", exception]
    root = diagnose_lines(log).root
    assert root is not None
    assert (root.signature, root.line_number, root.category) == (None, 4, category)
    assert "gizmo.py" in root.cause


def test_a_bare_exception_gives_the_source_line_of_its_last_frame() -> None:
    log = [
        "Traceback (most recent call last):",
        '  File "/x/gizmo.py", line 3, in turn',
        "    assert gear",
        "AssertionError",
    ]
    root = diagnose_lines(log).root
    assert root is not None
    assert root.line_number == 3
    assert root.line.strip() == "assert gear"


def test_an_exception_of_the_plainest_type_is_one() -> None:
    root = diagnose_lines(["INFO gizmo", "Exception: the gizmo library is outdated", "Killed"]).root
    assert root is not None
    assert (root.line_number, root.category) == (2, Category.ENVIRONMENT_MISMATCH)


def test_an_assert_gives_way_to_the_message_that_follows_it() -> None:
    log = ['    assert arch == 10, "only SM 10.x is supported"', "AssertionError: only SM 10.x is supported"]
    root = diagnose_lines(log).root
    assert root is not None
    assert (root.line_number, root.category) == (2, Category.ARCH_MISMATCH)


def test_a_traceback_that_the_server_survived_is_no_failure() -> None:
    log = [
        "Traceback (most recent call last):",
        '  File "/x/probe.py", line 3, in probe',
        "    probe()",
        "ProbeError: not here",
        "INFO:     Application startup complete.",
    ]
    assert not diagnose_lines(log).failed


def test_an_engines_own_error_line_is_the_last_resort() -> None:
    log = [
        "0.00.1.1 I srv init",
        "0.00.005.819 E srv  gizmo: the gizmo of the tokenizer broke",
        "E srv init: exiting due to model loading error",
    ]
    root = diagnose_lines(log, engine=EngineKind.LLAMA_CPP).root
    assert root is not None
    assert root.line_number == 2
    assert root.signature is None
    assert root.category is Category.MODEL_FILES


# --- evidence -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [ExitEvidence(signal=9), ExitEvidence(exit_code=137), ExitEvidence(exit_code=-9)])
def test_sigkill_without_a_line_only_suggests_the_memory_killer(evidence: ExitEvidence) -> None:
    diagnosis = diagnose_lines(["loading weights"], evidence=evidence)
    assert diagnosis.failed
    assert diagnosis.root is not None
    assert diagnosis.root.suggested_only
    assert diagnosis.root.category is Category.HOST_OUT_OF_MEMORY
    assert diagnosis.root.line_number is None
    assert "suggests" in diagnosis.root.cause


def test_a_line_beats_the_exit_status() -> None:
    root = diagnose_lines([OOM], evidence=ExitEvidence(signal=9)).root
    assert root is not None
    assert root.signature == "cuda-out-of-memory"
    assert not root.suggested_only


def test_a_stall_names_what_the_server_was_doing() -> None:
    evidence = ExitEvidence(stalled=True, silent_s=600.0, last_phase="capturing graphs", stage=Stage.BOOT)
    diagnosis = diagnose_lines(["capturing"], evidence=evidence)
    assert diagnosis.root is not None
    assert diagnosis.root.category is Category.HANG
    assert "capturing graphs" in diagnosis.root.title
    assert diagnosis.stage == Stage.BOOT


def test_a_failed_exit_without_anything_is_unclassified() -> None:
    diagnosis = diagnose_lines(["hello"], evidence=ExitEvidence(exit_code=1))
    assert diagnosis.failed
    assert diagnosis.root is None
    assert diagnosis.tail == ("hello",)


def test_stage_is_told_by_readiness() -> None:
    assert diagnose_lines([OOM]).stage == Stage.BOOT
    assert diagnose_lines(["[2026] The server is fired up and ready to roll!", OOM]).stage == Stage.LOAD


# --- warnings -------------------------------------------------------------------------------------------------------


def test_doubts_of_a_healthy_server_are_warnings_and_the_grave_one_is_the_root() -> None:
    log = [
        "[2026-11-29 18:15:53] Using default MoE kernel config. Performance might be sub-optimal! Config",
        "WARNING [kv_cache.py:151] Using KV cache scaling factor 1.0 for fp8_e4m3. If this is unintended, verify it.",
        "INFO:     Application startup complete.",
    ]
    diagnosis = diagnose_lines(log)
    assert not diagnosis.failed
    assert [warning.signature for warning in diagnosis.warnings] == ["moe-config-untuned", "kv-scales-missing"]
    assert signature_of(diagnosis) == "kv-scales-missing"
    with_failure = diagnose_lines([*log, OOM])
    assert signature_of(with_failure) == "cuda-out-of-memory"
    assert len(with_failure.warnings) == 2
