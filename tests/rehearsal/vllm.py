"""A scripted vLLM: its flags, log, endpoints and counters, with the scenes of the story in its own words."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import sys
from functools import cached_property
from typing import Any

from tests.rehearsal.answering import Answering, Voice
from tests.rehearsal.batch import Batch, Speed, faster
from tests.rehearsal.httpd import Connection, serve
from tests.rehearsal.mind import Mind, decode, encode
from tests.rehearsal.real_logs import picked

VERSION = "0.26.0"
READY_LOG, DIED_LOG = "vllm-0.26.0-h200-ready", "vllm-0.26.0-h200-no-flashinfer"
BEGINNING = (r"non-default args:", r"Resolved architecture", r"Initializing a V1 LLM engine", r"Starting to load model")
LOADING = (r"attention backend out of potential backends", r"Model loading took", r"Available KV cache memory",
           r"GPU KV cache size", r"Maximum concurrency for")  # fmt: skip
CAPTURE, CAPTURED = r"Profiling CUDA graph memory", (r"Graph capturing finished", r"init engine \(profile")
SERVING = (r"Starting vLLM server on", r"Started server process", r"Waiting for application startup",
           r"Application startup complete")  # fmt: skip
STOPPING = (r"\[shutdown\] API server: shutdown triggered", r"trigger received signal=SIGTERM")
DEFAULT_CAP = 256
"""``--max-num-seqs`` of the API server when none is given."""
DEADLY_REQUESTS = 200
KV_TOKENS = "1,570,000"
LINE_S = 0.02
LOG_EVERY = 200

FROM_SOURCE = {
    "NvFp# MoE backend 'FLASHINFER_TRTLLM' does not support the deployment configuration":
        "vllm/model_executor/layers/fused_moe/oracle/nvfp4.py (_make_log_unsupported)",
    "Using KV cache scaling factor": "vllm/model_executor/layers/quantization/kv_cache.py",
    "SpecDecoding metrics: Mean acceptance length": "vllm/v1/spec_decode/metrics.py (SpecDecodingLogging.log)",
    "EngineCore encountered a fatal error": "vllm/v1/engine/core.py (run_engine_core)",
    "speculative_config=SpeculativeConfig": "vllm/config/speculative.py (SpeculativeConfig.__repr__)",
    "EngineDeadError: EngineCore encountered an issue": "vllm/v1/engine/exceptions.py",
    "Using FLASHINFER attention backend out of": "vllm/platforms/cuda.py, where the log at hand has FLASH_ATTN",
    "Using TRITON_ATTN attention backend out of": "the same",
    "torch.OutOfMemoryError: CUDA out of memory": "c10/cuda/CUDACachingAllocator.cpp",
}  # fmt: skip
NO_KERNELS = ("ValueError: NvFp4 MoE backend 'FLASHINFER_TRTLLM' does not support the deployment configuration since "
              "kernel does not support current device cuda.")  # fmt: skip
OUT_OF_MEMORY = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a total capacity "
                 "of 95.00 GiB of which 100.00 MiB is free.")  # fmt: skip
SCALE_WARNING = (
    "(EngineCore pid=7232) WARNING 11-29 18:46:03 [kv_cache.py:109] Using KV cache scaling factor 1.0 for fp8_e4m3. If "
    "this is unintended, verify that k/v_scale scaling factors are properly set in the checkpoint."
)
DEAD = (
    "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root "
    "cause."
)


def parser() -> argparse.ArgumentParser:
    """The flags of ``vllm serve`` that the story needs."""
    parse = argparse.ArgumentParser(prog="vllm serve")
    parse.add_argument("model_tag")
    for name in ("served-model-name", "quantization", "speculative-config", "reasoning-parser", "tool-call-parser"):
        parse.add_argument(f"--{name}")
    parse.add_argument("--host", default="127.0.0.1")
    parse.add_argument("--port", type=int, default=8000)
    parse.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    for name in ("max-num-seqs", "max-model-len", "max-num-batched-tokens"):
        parse.add_argument(f"--{name}", type=int)
    parse.add_argument("--gpu-memory-utilization", type=float, default=0.92)
    for name in ("trust-remote-code", "disable-custom-all-reduce", "enforce-eager", "enable-auto-tool-choice"):
        parse.add_argument(f"--{name}", action="store_true")
    moe = "auto triton cutlass flashinfer_trtllm flashinfer_cutlass flashinfer_cutedsl marlin"
    parse.add_argument("--moe-backend", choices=moe.split(), default="auto")
    kv = "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2"
    parse.add_argument("--kv-cache-dtype", choices=kv.split(), default="auto")
    parse.add_argument("--attention-backend", choices=["FLASH_ATTN", "FLASHINFER", "TRITON_ATTN"])
    return parse


class Server:
    """One launch from its first line to its death."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.name = args.served_model_name or args.model_tag
        mind = Mind(drift=0.35, beyond=384) if self.quantized_cache else Mind()
        garbage = args.moe_backend == "flashinfer_cutedsl"
        self.voice = Voice(mind, self.name, garbage=garbage, token_ids_as_text=True)
        factor = faster() * (1.03 if self.quantized_cache else 1.0)
        forced = self.speculation.get("synthetic_acceptance_length")
        synthetic = self.speculation.get("rejection_sample_method") == "synthetic"
        self.batch = Batch(Speed(factor, self.drafted, forced if synthetic else None), args.max_num_seqs or DEFAULT_CAP)
        self.batch.on_prefill, self.batch.on_step = self._prefilled, self._stepped
        self._steps = 0

    @cached_property
    def speculation(self) -> dict[str, Any]:
        return json.loads(self.args.speculative_config or "{}")

    @property
    def drafted(self) -> int:
        return int(self.speculation.get("num_speculative_tokens", 0))

    @property
    def quantized_cache(self) -> bool:
        return self.args.kv_cache_dtype.startswith("fp8")

    # --- the log ---

    async def replay(self, *patterns: str) -> None:
        for line in picked(READY_LOG, patterns):
            print(self._own(line), flush=True)
            await asyncio.sleep(LINE_S)

    def _own(self, line: str) -> str:
        args = self.args
        line = re.sub(r"KV cache size: [\d,]+ tokens", f"KV cache size: {KV_TOKENS} tokens", line)
        line = line.replace("Using FLASH_ATTN attention", f"Using {args.attention_backend or 'FLASH_ATTN'} attention")
        line = line.replace("kv_cache_dtype=auto", f"kv_cache_dtype={args.kv_cache_dtype}")
        if self.drafted:
            told = f"speculative_config=SpeculativeConfig(method='mtp', model=None, num_spec_tokens={self.drafted})"
            line = line.replace("speculative_config=None", told)
        return re.sub(r"http://127.0.0.1:\d+", f"http://{args.host}:{args.port}", line)

    def _prefilled(self, _jobs: list[Any]) -> None:
        if self.args.gpu_memory_utilization >= 0.97 and len(self.batch.running) >= DEADLY_REQUESTS:
            self._die(OUT_OF_MEMORY, booting=False)

    def _stepped(self) -> None:
        self._steps += 1
        if self._steps % LOG_EVERY:
            return
        line = picked(READY_LOG, (r"Engine 000: Avg prompt throughput",))[0]
        line = re.sub(r"Running: \d+ reqs", f"Running: {len(self.batch.running)} reqs", line)
        print(re.sub(r"Waiting: \d+ reqs", f"Waiting: {len(self.batch.waiting)} reqs", line), flush=True)
        totals = self.batch.totals
        if self.drafted and totals.steps:
            accepted = sum(totals.accepted_at)
            said = f"Accepted: {accepted} tokens, Drafted: {totals.steps * self.drafted} tokens"
            length = f"{1 + accepted / totals.steps:.2f}"
            prefix = "(APIServer pid=7089) INFO [metrics.py:101] SpecDecoding metrics: Mean acceptance length:"
            print(f"{prefix} {length}, {said}")

    # --- its life ---

    async def run(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        await self.replay(*BEGINNING)
        if self.args.moe_backend == "flashinfer_trtllm":
            self._die(NO_KERNELS, booting=True)
        if self.quantized_cache:
            print(SCALE_WARNING)
        await self.replay(*LOADING[:2])
        await self.replay(CAPTURE)
        if self.args.attention_backend == "FLASHINFER":
            await asyncio.Event().wait()
        await self.replay(*LOADING[2:], *CAPTURED)
        listening = await serve(self.handle, self.args.host, self.args.port)
        await self.replay(*SERVING)
        await asyncio.gather(self.batch.run(), listening.serve_forever())

    def _die(self, error: str, *, booting: bool) -> None:
        """The engine core's exception, and what the API server makes of it."""
        head, trace = picked(DIED_LOG, (r"EngineCore failed to start", r"Traceback"))
        prefix = head[: head.index("EngineCore failed")]
        print(head if booting else prefix + "EngineCore encountered a fatal error.", trace, prefix + error, sep="\n")
        end = picked(DIED_LOG, (r"\(APIServer .*Traceback", r"RuntimeError: Engine core initialization failed"))
        print(end[0], end[1] if booting else f"(APIServer pid=3072) {DEAD}", sep="\n", flush=True)
        os._exit(1)

    def _stop(self) -> None:
        print(*picked(READY_LOG, STOPPING), sep="\n", flush=True)
        os._exit(0)

    # --- HTTP ---

    def handle(self, connection: Connection, method: str, path: str, body: bytes) -> None:
        content = json.loads(body) if body else {}
        status = 200
        if path in ("/v1/completions", "/v1/chat/completions"):
            Answering(self.voice, self.batch, connection, path, content)
        elif path == "/tokenize" and "prompt" in content:
            connection.reply({"tokens": encode(content["prompt"]), "count": len(content["prompt"])})
        elif path == "/detokenize":
            connection.reply({"prompt": decode(content["tokens"])})
        else:
            answer = self._told(path)
            status = 200 if answer is not None else 404
            connection.reply(answer if answer is not None else {"detail": "Not Found"}, status)
        words = "OK" if status == 200 else "Not Found"
        print(
            f'(APIServer pid=7089) INFO:     {connection.peer} - "{method} {path} HTTP/1.1" {status} {words}',
            flush=True,
        )

    def _told(self, path: str) -> Any:
        if path == "/health":
            return ""
        if path == "/version":
            return {"version": VERSION}
        if path == "/v1/models":
            model = {"id": self.name, "object": "model", "owned_by": "vllm", "root": self.args.model_tag}
            return {"object": "list", "data": [{**model, "max_model_len": self.args.max_model_len or 262144}]}
        return self._metrics() if path == "/metrics" else None

    def _metrics(self) -> str:
        totals, label = self.batch.totals, f'engine="0",model_name="{self.name}"'
        values = {
            "num_requests_running": len(self.batch.running),
            "num_requests_waiting": len(self.batch.waiting),
            "kv_cache_usage_perc": 0.01,
            "num_preemptions_total": 0,
            "prompt_tokens_total": totals.prompt_tokens,
            "generation_tokens_total": totals.generated,
        }
        if self.drafted:
            values |= {
                "spec_decode_num_drafts_total": totals.steps,
                "spec_decode_num_draft_tokens_total": totals.steps * self.drafted,
                "spec_decode_num_accepted_tokens_total": sum(totals.accepted_at),
            }
        lines = [f"vllm:{name}{{{label}}} {float(value)}" for name, value in values.items()]
        lines.append(f'vllm:request_success_total{{{label},finished_reason="length"}} {float(totals.finished)}')
        if self.drafted:
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{label},position="{place}"}} {float(count)}'
                for place, count in enumerate(totals.accepted_at[: self.drafted])
            ]
        return "\n".join(lines) + "\n"


def main(words: list[str]) -> None:
    """Play one launch; ``--help=all`` is vLLM's way to ask for every flag."""
    words = ["--help" if word == "--help=all" else word for word in words]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    asyncio.run(Server(parser().parse_args(words)).run())
