"""A scripted SGLang: its flags, log, endpoints and counters, played on a timescale of seconds.

Lines of the boot are those of real logs (``real_logs``) with this launch's values put in; what no log at hand holds is
in ``FROM_SOURCE`` with the place in the engine's source that prints it.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import time
from typing import Any

from tests.rehearsal.answering import Answering, Voice
from tests.rehearsal.batch import Batch, Job
from tests.rehearsal.httpd import Connection, serve
from tests.rehearsal.mind import Mind, decode, encode, logprob_of, top_of
from tests.rehearsal.real_logs import STAMP, picked
from tests.rehearsal.sglang_scenes import Scene, parser

VERSION = "0.5.16"
PLAIN_LOG, SPECULATING_LOG = "sglang-0.5.17-h200-ready", "sglang-0.5.17-h200-nextn-load"
DIED_LOG, REFUSED_LOG = "sglang-0.5.17-h200-trtllm-moe-died", "sglang-0.5.17-h200-no-buffer-refused"
ARGUMENTS = (r"server_args=ServerArgs",)
LOADING = (r"Init torch distributed begin", r"Init torch distributed ends", r"Load weight begin", r"Load weight end",
           r"Mamba Cache is allocated", r"KV Cache is allocated", r"Memory pool end",
           r"Using hybrid linear attention backend")  # fmt: skip
CAPTURE = {
    False: (r"Capture target decode CUDA graph begin", r"Capture target decode CUDA graph end"),
    True: (r"Capture target verify CUDA graph begin", r"Capture target verify CUDA graph end"),
}
SERVING = (r"max_total_num_tokens=", r"Started server process", r"Waiting for application startup",
           r"Application startup complete", r"Uvicorn running on")  # fmt: skip
STOPPING = (r"SIGTERM received",)
LINE_S = 0.02
KV_TOKENS = 1_570_000
LOG_EVERY = 40
"""Decode steps between two lines of the scheduler (``decode_log_interval``)."""

FROM_SOURCE = {
    "KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 1, K size: 1 GB, V size: 1 GB":
        "sglang/srt/mem_cache/memory_pool.py, 0.5.17: the line that the logs have for BF16",
    "DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy degradation on "
    "Blackwell.": "sglang/srt/configs/model_config.py (_verify_quantization), 0.5.10",
    "RuntimeError: Check failed: (std::get<0>(device_props) == 10) is false: This kernel requires 10.x architecture. "
    "Current device has SM 120": "flashinfer/csrc/trtllm_fused_moe_kernel_launcher.cu (FP4BlockScaleLauncher::init)",
    "torch.OutOfMemoryError: CUDA out of memory": "c10/cuda/CUDACachingAllocator.cpp",
    "module = get_trtllm_moe_sm100_module()": "flashinfer/fused_moe/core.py",
    "ValueError: Speculative decoding for Qwen3_5MoeForConditionalGeneration is not compatible with radix cache when "
    "using --mamba-scheduler-strategy no_buffer. To use radix cache with speculative decoding, please use "
    "--mamba-scheduler-strategy extra_buffer and set SGLANG_ENABLE_SPEC_V2=1.":
        "sglang/srt/server_args.py (_handle_mamba_radix_cache), 0.5.10",
}  # fmt: skip
NO_KERNELS = "RuntimeError: Check failed: (std::get<0>(device_props) == 10) is false: This kernel requires 10.x \
architecture. Current device has SM 120"
OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 7 has a total capacity of \
95.00 GiB of which 100.00 MiB is free."
)


class Server:
    """One launch from its first line to its death."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        args = scene.args
        self.name = args.served_model_name or args.model_path
        mind = Mind(drift=0.35, beyond=384) if scene.quantized_cache else Mind()
        self.voice = Voice(mind, self.name, garbage=scene.garbage)
        self.batch = Batch(scene.speed, scene.cap)
        self.batch.on_prefill, self.batch.on_step = self._prefilled, self._stepped
        self.fired_up = False
        self._steps = 0
        self._tokens = 0
        self._logged_at = time.monotonic()

    # --- the log ---

    def say(self, line: str) -> None:
        stamp = time.strftime("[%Y-%m-%d %H:%M:%S] ")
        print(f"{stamp}{STAMP.sub('', line)}", flush=True)

    async def replay(self, patterns: tuple[str, ...]) -> None:
        """Say lines of a real log again, with this launch's values."""
        name = SPECULATING_LOG if self.scene.speculates else PLAIN_LOG
        for line in picked(name, patterns):
            self.say(self._own(line))
            await asyncio.sleep(LINE_S)

    def _own(self, line: str) -> str:
        args = self.scene.args
        line = re.sub(r"max_total_num_tokens=\d+", f"max_total_num_tokens={KV_TOKENS}", line)
        line = re.sub(
            r"max_running_requests=\d+, context_len", f"max_running_requests={self.scene.cap}, context_len", line
        )
        line = re.sub(r"#tokens: \d+", f"#tokens: {KV_TOKENS}", line)
        if self.scene.quantized_cache:
            line = line.replace("dtype: torch.bfloat16", "dtype: torch.float8_e4m3fn")
        if "server_args=" in line:
            for key, value in vars(args).items():
                line = re.sub(rf"\b{key}=('[^']*'|[\w.]+)", f"{key}={value!r}", line)
        return re.sub(r"http://127.0.0.1:\d+", f"http://{args.host}:{args.port}", line)

    def _prefilled(self, jobs: list[Job]) -> None:
        fresh = sum(job.prompt_tokens for job in jobs)
        self.say(
            f"Prefill batch, #new-seq: {len(jobs)}, #new-token: {fresh}, #cached-token: 0, full token usage: 0.00, "
            f"mamba usage: 0.03, #running-req: {len(self.batch.running) - len(jobs)}, "
            f"#queue-req: {len(self.batch.waiting)}, #pending-token: 0, cuda graph: True, "
            f"input throughput (token/s): {fresh / 0.5:.2f}"
        )
        if self.scene.dies_with(len(self.batch.running)):
            self._die(OUT_OF_MEMORY)

    def _stepped(self) -> None:
        self._steps += 1
        if self._steps % LOG_EVERY:
            return
        running, now = self.batch.running, time.monotonic()
        made = self.batch.totals.generated + sum(job.made for job in running)
        rate = (made - self._tokens) / max(now - self._logged_at, 1e-6)
        self._tokens, self._logged_at = made, now
        speculation = ""
        if self.scene.speculates:
            length = self.accept_length()
            speculation = f"accept len: {length:.2f}, accept rate: {(length - 1) / self.scene.steps:.2f}, "
        self.say(
            f"Decode batch, #running-req: {len(running)}, #full token: {550 * len(running)}, full token usage: 0.00, "
            f"mamba num: {4 * len(running)}, mamba usage: 0.03, {speculation}cuda graph: True, "
            f"gen throughput (token/s): {rate:.2f}, #queue-req: {len(self.batch.waiting)}"
        )

    def accept_length(self) -> float:
        totals = self.batch.totals
        return 1 + sum(totals.accepted_at) / totals.steps if totals.steps else 1.0

    # --- its life ---

    async def run(self) -> None:
        args, scene = self.scene.args, self.scene
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._stop)
        if scene.speculates and args.max_running_requests is None:
            self.say(picked(SPECULATING_LOG, (r"Max running requests is reset to 48",))[0])
        await self.replay(ARGUMENTS)
        if scene.refusal is not None:
            self.say("DeepGemm is enabled but the scale_fmt of checkpoint is not ue8m0. This might cause accuracy "
                     "degradation on Blackwell.")  # fmt: skip
            self._crash(scene.refusal)
        await self.replay(LOADING)
        if scene.has_no_kernels:
            self._die("module = get_trtllm_moe_sm100_module()", NO_KERNELS)
        begin, end = CAPTURE[scene.speculates]
        await self.replay((begin,))
        if scene.hangs:
            await asyncio.Event().wait()
        await self.replay((end, *SERVING))
        listening = await serve(self.handle, args.host, args.port)
        work = asyncio.create_task(self.batch.run())
        await asyncio.sleep(0.1)
        self.fired_up = True
        self.say(picked(PLAIN_LOG, (r"The server is fired up",))[0])
        await asyncio.gather(work, listening.serve_forever())

    def _crash(self, error: str) -> None:
        """An argument that is refused: the traceback of the main process."""
        frames = picked(REFUSED_LOG, (r"^Traceback", r"File .*launch_server.py", r"server_args = prepare_server_args"))
        print(*frames, error, sep="\n", flush=True)
        sys.exit(1)

    def _die(self, *error: str) -> None:
        """A scheduler's exception, and what the parent makes of it."""
        frames = picked(
            DIED_LOG, (r"Scheduler hit an exception: Traceback", r"^  File ", r"torch/nn/modules/module.py")
        )
        self.say(frames[0])
        print(*frames[1:], *error, "", sep="\n", flush=True)
        for line in picked(DIED_LOG, (r"Received sigquit from a child process", r"kill_process_tree called")):
            self.say(line)
        os.kill(os.getpid(), signal.SIGKILL)

    def _stop(self) -> None:
        self.say(picked(SPECULATING_LOG, STOPPING)[0])
        os._exit(0)

    # --- HTTP ---

    def handle(self, connection: Connection, method: str, path: str, body: bytes) -> None:
        content = json.loads(body) if body else {}
        status = 200
        if path in ("/v1/completions", "/v1/chat/completions"):
            Answering(self.voice, self.batch, connection, path, content)
        elif path == "/generate":
            connection.reply(self._generate(content))
        elif path == "/tokenize" and "prompt" in content:
            connection.reply({"tokens": encode(content["prompt"]), "count": len(content["prompt"])})
        elif path == "/detokenize":
            connection.reply({"text": decode(content["tokens"])})
        elif path in ("/health", "/health_generate"):
            status = 200 if self.fired_up else 503
            connection.reply("", status)
        else:
            answer = self._told(path)
            status = 200 if answer is not None else 404
            connection.reply(answer if answer is not None else {"detail": "Not Found"}, status)
        words = {200: "OK", 404: "Not Found", 503: "Service Unavailable"}[status]
        self.say(f'INFO:     {connection.peer} - "{method} {path} HTTP/1.1" {status} {words}')

    def _told(self, path: str) -> Any:
        args, scene = self.scene.args, self.scene
        if path == "/v1/models":
            model = {"id": self.name, "object": "model", "owned_by": "sglang", "root": self.name}
            return {"object": "list", "data": [{**model, "max_model_len": 262144}]}
        if path == "/model_info":
            return {"model_path": args.model_path, "is_generation": True}
        if path in ("/server_info", "/get_server_info"):
            algorithm = "EAGLE" if args.speculative_algorithm == "NEXTN" else args.speculative_algorithm
            limit = args.max_running_requests or (scene.cap if scene.speculates else None)
            return {**vars(args), "version": VERSION, "served_model_name": self.name, "context_length": None,
                    "max_running_requests": limit, "max_total_num_tokens": KV_TOKENS,
                    "kv_cache_dtype": args.kv_cache_dtype or "auto", "speculative_algorithm": algorithm,
                    "speculative_num_steps": scene.steps or None,
                    "speculative_num_draft_tokens": scene.steps + 1 if scene.steps else None,
                    "fp4_gemm_runner_backend": args.fp4_gemm_backend or "auto",
                    "internal_states": [{"last_gen_throughput": 0.0, "effective_max_running_requests_per_dp": scene.cap,
                                         "memory_usage": {"token_capacity": KV_TOKENS}}]}  # fmt: skip
        if path == "/flush_cache":
            return "Cache flushed.\n"
        return self._metrics() if path == "/metrics" and args.enable_metrics else None

    def _metrics(self) -> str:
        totals, label = self.batch.totals, f'model_name="{self.name}",engine_type="unified"'
        counters = {
            "prompt_tokens_total": totals.prompt_tokens,
            "generation_tokens_total": totals.generated,
            "num_requests_total": totals.finished,
        }
        gauges = {
            "num_running_reqs": len(self.batch.running),
            "num_queue_reqs": len(self.batch.waiting),
            "token_usage": 0.01,
            "num_retracted_reqs": 0,
            "max_total_num_tokens": KV_TOKENS,
        }
        if self.scene.speculates:
            counters["spec_verify_calls_total"] = totals.steps
            gauges |= {"spec_accept_length": self.accept_length(), "spec_num_draft_tokens": self.scene.steps + 1}
        lines = [f'sglang:{name}{{{label},is_streaming="true"}} {float(value)}' for name, value in counters.items()]
        lines += [f'sglang:{name}{{{label},tp_rank="0"}} {float(value)}' for name, value in gauges.items()]
        return "\n".join(lines) + "\n"

    def _generate(self, body: dict[str, Any]) -> dict[str, Any]:
        """``/generate`` with token ids: log-probabilities of every position, and of the one token that follows."""
        ids, top = body["input_ids"], int(body["top_logprobs_num"])
        mind, garbage = self.voice.mind, self.scene.garbage
        row = mind.row(ids[-6:], len(ids))
        token = int(row.argmax()) + 257
        meta: dict[str, Any] = {
            "prompt_tokens": len(ids),
            "completion_tokens": 1,
            "cached_tokens": 0,
            "output_token_logprobs": [[None if garbage else logprob_of(row, token), 0 if garbage else token, None]],
            "output_top_logprobs": [[] if garbage else _entries(top_of(row, top))],
        }
        if body["logprob_start_len"] >= 0:
            rows = [mind.row(ids[max(place - 6, 0) : place], place) for place in range(1, len(ids))]
            own = [[logprob_of(row, token), token, None] for row, token in zip(rows, ids[1:], strict=True)]
            meta["input_token_logprobs"] = [[None, ids[0], None], *own]
            meta["input_top_logprobs"] = [None, *(_entries(top_of(row, top)) for row in rows)]
        return {"text": decode([token]), "output_ids": [token], "meta_info": meta}


def _entries(top: dict[int, float]) -> list[list[Any]]:
    return [[value, token, None] for token, value in top.items()]


def main(words: list[str]) -> None:
    """Play one launch."""
    asyncio.run(Server(Scene.of(parser().parse_args(words))).run())
