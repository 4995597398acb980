"""What Compose and Kubernetes share: the command as a container runs it, and the memory it must be given."""

from __future__ import annotations

from collections.abc import Sequence

from shakedown.domain.words import EngineKind
from shakedown.export.secrets import Word
from shakedown.export.service import Service

EVERYWHERE = "0.0.0.0"  # noqa: S104 - inside a container; what reaches it, the port mapping or the Service decides

SHM_GIB_PER_GPU = 4
"""Shared memory for NCCL and the engine's worker processes; containers get 64 MB of it unless told."""


def in_container(argv: Sequence[Word]) -> list[Word]:
    """The command listening on every interface of its container."""
    words: list[Word] = []
    for word in argv:
        if words and words[-1].text == "--host":
            words.append(Word(EVERYWHERE))
        elif word.text.startswith("--host="):
            words.append(Word(f"--host={EVERYWHERE}"))
        else:
            words.append(word)
    if not any(word.text.partition("=")[0] == "--host" for word in words):
        words += [Word("--host"), Word(EVERYWHERE)]
    return words


def shm_gib(service: Service) -> int | None:
    """GiB of shared memory; None where the engine is one process and needs none."""
    if service.engine is EngineKind.LLAMA_CPP or service.gpus == 0:
        return None
    return SHM_GIB_PER_GPU * service.gpus
