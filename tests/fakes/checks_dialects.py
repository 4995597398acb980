"""Minimal log-probability dialects and engines for tests: what the checks ask of an adapter, and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from shakedown.domain.base import Scalar
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.engines.base import LogprobDialect, Probe, TokenLogprobs


class OneTokenProbes:
    """llama.cpp's own ``/completion``: one generated token with its alternatives."""

    prompt = None

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = {"prompt": list(token_ids), "n_predict": 1, "n_probs": top, "temperature": 0.0, "cache_prompt": True}
        return Probe("POST", "/completion", body)

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        token = answer["completion_probabilities"][0]
        top = {item["id"]: item["logprob"] for item in token["top_logprobs"]}
        return TokenLogprobs(token["id"], token["logprob"], top)


class WholePrompt:
    """vLLM's ``prompt_logprobs`` on ``/v1/completions``."""

    def request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = {"model": model, "prompt": list(token_ids), "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": top}
        return Probe("POST", "/v1/completions", body)

    def parse(self, answer: Mapping[str, object]) -> list[TokenLogprobs]:
        choice = answer["choices"][0]
        told = []
        for token, row in zip(choice["prompt_token_ids"][1:], choice["prompt_logprobs"][1:], strict=True):
            top = {int(token_id): value["logprob"] for token_id, value in row.items()}
            told.append(TokenLogprobs(token, top.get(token), top))
        return told


class PromptLogprobs:
    """vLLM's ``/v1/completions``."""

    prompt = WholePrompt()

    def next_token_request(self, token_ids: Sequence[int], top: int, model: str) -> Probe:
        body = {"model": model, "prompt": list(token_ids), "max_tokens": 1, "temperature": 0.0, "logprobs": top}
        return Probe("POST", "/v1/completions", body | {"return_tokens_as_token_ids": True})

    def parse_next_token(self, answer: Mapping[str, object]) -> TokenLogprobs:
        logprobs = answer["choices"][0]["logprobs"]
        top = {int(name.removeprefix("token_id:")): value for name, value in logprobs["top_logprobs"][0].items()}
        token = int(logprobs["tokens"][0].removeprefix("token_id:"))
        return TokenLogprobs(token, logprobs["token_logprobs"][0], top)


class FakeEngine:
    """An adapter reduced to what the checks use."""

    boot_phases = ()
    health_path = "/health"
    metrics_path: str | None = "/metrics"
    aliases: Mapping[str, str] = {}
    supports_ignore_eos = True
    cache_flush = None

    def __init__(self, kind: EngineKind, logprobs: LogprobDialect, info_path: str) -> None:
        self.kind = kind
        self.logprobs = logprobs
        self.info_probes = (Probe("GET", info_path),)

    def effective_settings(
        self, answers: Sequence[Mapping[str, object] | None], log_lines: Iterable[str]
    ) -> dict[str, Scalar | None]:
        told = answers[0] or {}
        settings = told.get("default_generation_settings") or {}
        return {"max_running_requests": told.get("total_slots"), "context_tokens": settings.get("n_ctx")}

    def counters(self, metrics_text: str) -> CounterWindow:
        values = dict(line.rsplit(" ", 1) for line in metrics_text.splitlines() if line and not line.startswith("#"))
        running = values.get("llamacpp:requests_processing")
        return CounterWindow(running_max=None if running is None else float(running))


LLAMA = FakeEngine(EngineKind.LLAMA_CPP, OneTokenProbes(), "/props")
VLLM = FakeEngine(EngineKind.VLLM, PromptLogprobs(), "/props")
