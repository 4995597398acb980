"""Where the engine is: what the campaign file names, else the PATH, else what is installed beside Shakedown."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.spec import CampaignSpec
from shakedown.domain.words import EngineKind


@dataclass(frozen=True, slots=True)
class _Distribution:
    """How an engine is found: its package, the program it puts on the PATH, and how to get it."""

    package: str
    program: str
    install: str


_DISTRIBUTIONS: Mapping[EngineKind, _Distribution] = {
    EngineKind.LLAMA_CPP: _Distribution("xllamacpp", "llama-server", "pip install 'llm-shakedown[demo]'"),
    EngineKind.SGLANG: _Distribution("sglang", "sglang", "pip install sglang"),
    EngineKind.VLLM: _Distribution("vllm", "vllm", "pip install vllm"),
    EngineKind.TENSORRT_LLM: _Distribution("tensorrt-llm", "trtllm-serve", "pip install tensorrt-llm"),
}


def resolve_engine(spec: CampaignSpec) -> EngineRef:
    """Find the engine of ``[engine]``.

    Raises:
        EngineNotFoundError: if it is neither named nor installed where Shakedown can find it.
    """
    return resolve_reference(spec.engine_ref())


def resolve_reference(reference: EngineRef) -> EngineRef:
    """Fill in where an engine is, unless the reference says so itself.

    Raises:
        EngineNotFoundError: as ``resolve_engine``.
    """
    if reference.command is not None:
        return reference
    if reference.python is not None:
        return reference.model_copy(update={"python": _interpreter(reference.python, reference.kind)})
    found = _DISTRIBUTIONS[reference.kind]
    program = shutil.which(found.program)
    if program is not None and reference.kind is EngineKind.LLAMA_CPP:
        return reference.model_copy(update={"command": (program,)})
    if program is not None and (python := _interpreter_of(Path(program))) is not None:
        return reference.model_copy(update={"python": python})
    if is_installed(found.package):
        return reference.model_copy(update={"python": sys.executable})
    raise EngineNotFoundError(
        f"{reference.kind}: no '{found.program}' on the PATH and no package '{found.package}' in {sys.executable}; "
        f"install it ({found.install}), or say where it is with [engine] python or command"
    )


def is_installed(package: str) -> bool:
    """Whether a distribution is installed beside Shakedown."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def package_of(kind: EngineKind) -> str:
    """Name of the Python distribution of an engine."""
    return _DISTRIBUTIONS[kind].package


def _interpreter(python: str, kind: EngineKind) -> str:
    path = shutil.which(python)
    if path is None:
        raise EngineNotFoundError(f"{kind}: no such interpreter: {python}; check [engine] python")
    return path


def _interpreter_of(script: Path) -> str | None:
    """Read the interpreter out of a console script's first line."""
    with script.open("rb") as stream:
        first = stream.readline(512).decode("utf-8", errors="replace").strip()
    interpreter = first.removeprefix("#!").strip().split(" ")[0] if first.startswith("#!") else ""
    return interpreter if "python" in interpreter and Path(interpreter).exists() else None
