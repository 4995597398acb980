"""Finds llama.cpp when a campaign file names neither ``python`` nor ``command``."""

from __future__ import annotations

import importlib.util
import shutil
import sys

from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.words import EngineKind


def resolve_engine(engine: EngineRef) -> EngineRef:
    """Return ``engine`` with the program to start: a ``llama-server`` on the PATH as it is, else the embedded server.

    An engine that names its interpreter or command, and any engine but llama.cpp, is returned unchanged.

    Raises:
        EngineNotFoundError: if neither is installed.
    """
    if engine.kind != EngineKind.LLAMA_CPP or engine.python is not None or engine.command is not None:
        return engine
    if binary := shutil.which("llama-server"):
        return engine.model_copy(update={"command": (binary,)})
    if importlib.util.find_spec("xllamacpp") is not None:
        return engine.model_copy(update={"python": sys.executable})
    raise EngineNotFoundError(
        "llama.cpp is not installed: there is no llama-server on the PATH and no xllamacpp in this Python; "
        f"install it: {sys.executable} -m pip install 'llm-shakedown[demo]'"
    )
