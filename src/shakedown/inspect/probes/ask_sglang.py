# mypy: disable-error-code="import-not-found,no-any-return"
"""Asks SGLang: its own parser, and its own ``ServerArgs`` with all of its resolution. No weights, no GPU memory."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

import ask_common
import sglang
from sglang.srt import server_args

PACKAGES = ("torch", "triton", "transformers", "flashinfer-python", "sglang-kernel", "sgl-kernel", "sgl-deep-gemm",
            "flash-attn-4", "nvidia-nccl-cu12", "nvidia-nccl-cu13", "nvidia-cudnn-cu12",
            "nvidia-cudnn-cu13")  # fmt: skip
LIBRARIES = ("sglang-kernel", "sgl-kernel", "flashinfer-cubin", "flashinfer-jit-cache")


def resolve(words: list[str]) -> Mapping[str, Any]:
    """Construct the arguments as the server does; newer releases resolve them in a second step."""
    args = server_args.prepare_server_args(words)
    if hasattr(args, "resolve_once"):
        args.resolve_once()
        return args.resolved_dict()
    return dataclasses.asdict(args)


def main() -> None:
    """Answer the question file."""
    parser = argparse.ArgumentParser()
    server_args.ServerArgs.add_cli_args(parser)
    about = {
        "version": sglang.__version__,
        "packages": ask_common.packages(PACKAGES),
        "libraries": ask_common.library_files(LIBRARIES),
    }
    ask_common.run(ask_common.flags_of(parser), resolve, about)


main()
