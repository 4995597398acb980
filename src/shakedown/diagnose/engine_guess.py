"""Which engine wrote a log, by what each of them prints in its first and last lines."""

from __future__ import annotations

import re

from shakedown.domain.words import EngineKind

_MARKS = {
    EngineKind.SGLANG: re.compile(
        r"sglang|sgl_kernel|ServerArgs\(|ready to roll|Decode batch|kill_process_tree|sigquit"
    ),
    EngineKind.VLLM: re.compile(r"\bvllm\b|\bvLLM\b|EngineCore|APIServer pid|VllmWorker|Worker_TP\d|WorkerProc"),
    EngineKind.TENSORRT_LLM: re.compile(r"tensorrt_llm|TensorRT-LLM|TRT-LLM|trtllm-serve|\[TRT\]"),
    EngineKind.LLAMA_CPP: re.compile(
        r"llama_model|llama_context|llama_kv|llama_init|llama-server|llama_server|llama\.cpp|ggml_|gguf_init|"
        r"\bsrv  |common_init|common_fit|\bslot +\w+: id|main: server is"
    ),
}


def engine_of(text: str) -> EngineKind | None:
    """Return the engine whose marks are most frequent in ``text``, None where there are none."""
    counts = {engine: len(marks.findall(text)) for engine, marks in _MARKS.items()}
    best = max(counts, key=lambda engine: counts[engine])
    return best if counts[best] else None
