"""The closed vocabularies: engines, verdicts, stages, categories, findings. Values are the contract of ``--json``."""

from __future__ import annotations

from enum import StrEnum


class EngineKind(StrEnum):
    """An inference engine that Shakedown can drive."""

    LLAMA_CPP = "llama.cpp"
    SGLANG = "sglang"
    VLLM = "vllm"
    TENSORRT_LLM = "tensorrt-llm"


class Verdict(StrEnum):
    """What the campaign says of one candidate."""

    PRUNED = "pruned"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"
    GARBAGE = "garbage"
    INACCURATE = "inaccurate"
    QUALIFIED = "qualified"
    NOT_RUN = "not_run"


class Standing(StrEnum):
    """Where a qualified candidate stands against the best."""

    BEST = "best"
    EQUIVALENT = "equivalent"
    SLOWER = "slower"
    INCONCLUSIVE = "inconclusive"


class ComparisonStatus(StrEnum):
    """Outcome of comparing ``a`` with ``b`` on the objective: is ``a`` better than ``b``?"""

    BETTER = "better"
    EQUIVALENT = "equivalent"
    WORSE = "worse"
    INCONCLUSIVE = "inconclusive"


class Stage(StrEnum):
    """The stage of a trial in which something happened."""

    PLAN = "plan"
    LAUNCH = "launch"
    BOOT = "boot"
    CHECK = "check"
    LOAD = "load"
    SHUTDOWN = "shutdown"


class Category(StrEnum):
    """Kinds of failure that ``diagnose`` tells apart."""

    ARCH_MISMATCH = "arch_mismatch"
    JIT_TOOLCHAIN = "jit_toolchain"
    ENVIRONMENT_MISMATCH = "environment_mismatch"
    GPU_BUSY = "gpu_busy"
    PORT_IN_USE = "port_in_use"
    DEVICE_OUT_OF_MEMORY = "device_out_of_memory"
    HOST_OUT_OF_MEMORY = "host_out_of_memory"
    CAPACITY_TOO_SMALL = "capacity_too_small"
    BAD_ARGUMENTS = "bad_arguments"
    MODEL_FILES = "model_files"
    QUANTIZATION = "quantization"
    SPECULATION = "speculation"
    COMMUNICATION = "communication"
    KERNEL_FAULT = "kernel_fault"
    HANG = "hang"
    SYMPTOM_ONLY = "symptom_only"
    WRONG_OUTPUT = "wrong_output"
    ACCURACY_RISK = "accuracy_risk"
    NETWORK_PROXY = "network_proxy"


class CheckVerdict(StrEnum):
    """Outcome of one check."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    SKIPPED = "skipped"


class GateLevel(StrEnum):
    """How thorough the gates are; each level contains the one before."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


class Objective(StrEnum):
    """What is maximised (``ttft``: minimised)."""

    OUTPUT_TOKENS_PER_S = "output_tokens_per_s"
    PER_REQUEST_TOKENS_PER_S = "per_request_tokens_per_s"
    GOODPUT = "goodput"
    TTFT = "ttft"


class StrategyKind(StrEnum):
    """How candidates are chosen."""

    STAGED = "staged"
    GRID = "grid"
    RANDOM = "random"
    TPE = "tpe"


class PlaceKind(StrEnum):
    """Where trials run."""

    LOCAL = "local"
    SSH = "ssh"
    RAY = "ray"
    SLURM = "slurm"


class OnDisconnect(StrEnum):
    """What a trial does that has heard nothing of its campaign for half a minute."""

    STOP = "stop"
    CONTINUE = "continue"


class FindingKind(StrEnum):
    """Kinds of sentence that a campaign ends in."""

    INERT_FLAG = "inert_flag"
    SUSPICIOUS_NULL = "suspicious_null"
    UNEXPLAINED_DIFFERENCE = "unexplained_difference"
    NOT_IN_EFFECT = "not_in_effect"
    SILENT_CAP = "silent_cap"
    CLIENT_LIMITED = "client_limited"
    PROMPTS_REPEATED = "prompts_repeated"
    EARLY_STOPS = "early_stops"
    NOISE_TOO_LARGE = "noise_too_large"
    STALE_PROCESS = "stale_process"
    THERMAL_OR_POWER_LIMITED = "thermal_or_power_limited"
    LOSSY_SETTING = "lossy_setting"
    ACCURACY_DOUBT = "accuracy_doubt"
    BEYOND_CEILING = "beyond_ceiling"
    SPECULATION = "speculation"
    EQUIVALENT = "equivalent"
    REFERENCE_CHANGED = "reference_changed"
    RULE_CONFIRMED = "rule_confirmed"
    RULE_CONTRADICTED = "rule_contradicted"
    LAUNCH_VARIANCE_UNKNOWN = "launch_variance_unknown"
    WORKLOADS_DISAGREE = "workloads_disagree"
    BUDGET_EXHAUSTED = "budget_exhausted"
    ERRORS_UNDER_LOAD = "errors_under_load"
    SAME_CHECK_FAILS = "same_check_fails"
    SATURATED = "saturated"
    HOST_SET_APART = "host_set_apart"
    HOST_LOST = "host_lost"
    BOTTLENECK = "bottleneck"
