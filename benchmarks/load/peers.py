"""The other clients: where they are installed, how each is started, what each reports.

Each gets an environment of its own under the temporary folder, made here on first use: AIPerf 0.13.0, vLLM 0.32.0 with
its ``bench`` extra, GuideLLM 0.8.1. They bring about 15 GB, most of it PyTorch.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(tempfile.gettempdir()) / "shakedown-peers"


@dataclass(frozen=True)
class Load:
    """What every client is asked to do; ``prompts`` is a file of JSON lines with ``prompt``."""

    url: str
    model: str
    concurrency: int
    requests: int
    output_tokens: int
    prompts: Path
    tokenizer: Path
    folder: Path


@dataclass(frozen=True)
class Reported:
    """What a client says, milliseconds; None where it does not."""

    ttft_mean_ms: float
    ttft_p99_ms: float
    itl_mean_ms: float | None
    itl_p50_ms: float | None
    output_tokens_per_s: float | None


@dataclass(frozen=True)
class Peer:
    """One client: its requirement, its command line, its report."""

    name: str
    requirement: str
    command: Callable[[Load], list[str]]
    read: Callable[[Load], Reported]

    def environment(self) -> Path:
        """The folder with its programs; installed on first use."""
        home = ROOT / self.name.split()[0].lower()
        if not (home / "installed").exists():
            subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
            subprocess.run([str(home / "bin/pip"), "install", "--quiet", self.requirement], check=True)
            (home / "installed").touch()
        return home / "bin"


def _aiperf(load: Load) -> list[str]:
    return [
        "aiperf", "profile", "--model", load.model, "--url", load.url, "--endpoint-type", "completions", "--streaming",
        "--concurrency", str(load.concurrency), "--request-count", str(load.requests),
        "--tokenizer", str(load.tokenizer),
        "--input-file", str(load.prompts), "--custom-dataset-type", "single_turn",
        "--output-tokens-mean", str(load.output_tokens), "--extra-inputs", "ignore_eos:true",
        "--use-server-token-count", "--artifact-dir", str(load.folder / "aiperf"), "--ui", "none",
    ]  # fmt: skip


def _read_aiperf(load: Load) -> Reported:
    said = json.loads((load.folder / "aiperf/profile_export_aiperf.json").read_text())
    ttft, itl = said["time_to_first_token"], said["inter_token_latency"]
    rate = said.get("output_token_throughput", {}).get("avg")
    return Reported(ttft["avg"], ttft["p99"], itl["avg"], itl["p50"], rate)


def _vllm(load: Load) -> list[str]:
    return [
        "vllm", "bench", "serve", "--backend", "openai", "--base-url", load.url, "--endpoint", "/v1/completions",
        "--model", load.model, "--tokenizer", str(load.tokenizer), "--dataset-name", "custom",
        "--dataset-path", str(load.prompts), "--custom-output-len", str(load.output_tokens),
        "--num-prompts", str(load.requests), "--max-concurrency", str(load.concurrency), "--ignore-eos",
        "--temperature", "0", "--save-result", "--result-filename", str(load.folder / "vllm.json"),
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--disable-tqdm", "--skip-chat-template",
    ]  # fmt: skip


def _read_vllm(load: Load) -> Reported:
    said = json.loads((load.folder / "vllm.json").read_text())
    return Reported(
        said["mean_ttft_ms"], said["p99_ttft_ms"], said["mean_itl_ms"], said["median_itl_ms"], said["output_throughput"]
    )


def _guidellm(load: Load) -> list[str]:
    backend = f"kind=openai_http,target={load.url},model={load.model},request_format=/v1/completions"
    return [
        "guidellm", "run", "--backend", backend, "--profile", f"kind=concurrent,streams={load.concurrency}",
        "--constraint", f"kind=max_requests,count={load.requests}", "--data", f"kind=json_file,path={load.prompts}",
        "--tokenizer", f"kind=hf_auto,model={load.tokenizer}",
        "--output", f"kind=json,path={load.folder / 'guidellm.json'}", "--disable-console",
    ]  # fmt: skip


def _read_guidellm(load: Load) -> Reported:
    said = json.loads((load.folder / "guidellm.json").read_text())["benchmarks"][0]["metrics"]
    ttft, itl = said["time_to_first_token_ms"]["successful"], said["inter_token_latency_ms"]["successful"]
    rate = said["output_tokens_per_second"]["successful"]["mean"]
    return Reported(ttft["mean"], ttft["percentiles"]["p99"], itl["mean"], itl["median"], rate)


PEERS = (
    Peer("AIPerf 0.13.0", "aiperf==0.13.0", _aiperf, _read_aiperf),
    Peer("vLLM bench serve 0.32.0", "vllm[bench]==0.32.0", _vllm, _read_vllm),
    Peer("GuideLLM 0.8.1", "guidellm==0.8.1", _guidellm, _read_guidellm),
)


def shakedown_command(load: Load) -> list[str]:
    """Our own command on the same prompts."""
    return [
        sys.executable, "-c", "import sys, typer; from shakedown.cli.bench import command; typer.run(command)",
        "--base-url", load.url, "--model", load.model, "--prompts", f"jsonl:{load.prompts}",
        "--concurrency", str(load.concurrency), "--requests", str(load.requests), "--warmup", "0",
        "--output-tokens", str(load.output_tokens), "--out", str(load.folder / "shakedown"),
    ]  # fmt: skip


def read_shakedown(load: Load) -> Reported:
    """Our own report."""
    (point,) = json.loads((load.folder / "shakedown/result.json").read_text())["points"]
    ttft, itl = point["ttft_s"], point["itl_s"]
    rate = point["whole_window_output_tokens_per_s"]
    return Reported(ttft["mean"] * 1e3, ttft["p99"] * 1e3, itl["mean"] * 1e3, itl["p50"] * 1e3, rate)
