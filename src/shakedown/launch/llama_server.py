"""The llama.cpp server out of the ``xllamacpp`` wheel, started like ``llama-server``.

Run ``python -m shakedown.launch.llama_server`` with llama-server's own flags; ``--help`` lists them.

The wheel carries the whole of llama.cpp, llama-server's argument parser included, but gives Python only the parsed
``CommonParams``. Repeating some 250 flags here would be wrong the day after; so the wheel's own parser
(``common_params_parse``, an exported C++ symbol) fills the ``CommonParams`` object. Unknown flags, bad values,
``--help``, ``--version`` and the ``LLAMA_ARG_*`` environment variables therefore behave as in llama-server itself.
Before the parser touches the object, ``_params_address`` proves that it has the layout this module expects.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

_PARSER = "_Z19common_params_parseiPPcR13common_params13llama_examplePFviS0_E"
"""``bool common_params_parse(int, char **, common_params &, llama_example, void (*)(int, char **))``."""

_EXAMPLE_SERVER = 12
"""``LLAMA_EXAMPLE_SERVER`` in ``enum llama_example`` (llama.cpp, common/common.h)."""

_OBJECT_HEADER_BYTES = object.__basicsize__
"""A ``CommonParams`` holds its ``common_params`` in line, right behind the Python object header."""

_DEFAULT_PORT = 8080
"""llama-server's; the wheel's own default is 0."""


class _WheelError(Exception):
    """The wheel is missing, or not built as this module expects."""


def main(arguments: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT; return the exit code (1: bad arguments, or the engine refused)."""
    # While it loads, SIGTERM and Ctrl-C end the process at once: there is nothing to clean up yet.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        wheel = _import_wheel()
        params = _parse(wheel, ["llama-server", *arguments])
    except _WheelError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if params is None:
        return 1
    try:
        server = wheel.Server(params)
    except RuntimeError:
        return 1  # the engine has logged why
    _wait_for(signal.SIGTERM, signal.SIGINT)
    del server  # stops the HTTP server and frees the model
    return 0


def _wait_for(*stop_signals: signal.Signals) -> None:
    """Block until one of the signals comes; a second one ends the process at once."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    # The wake-up descriptor is written whichever of the engine's threads the kernel hands the signal to.
    signal.set_wakeup_fd(wake_write)
    for stop_signal in stop_signals:
        signal.signal(stop_signal, lambda *_: None)
    os.read(wake_read, 1)
    for stop_signal in stop_signals:
        signal.signal(stop_signal, signal.SIG_DFL)


def _import_wheel() -> Any:
    try:
        from xllamacpp import xllamacpp
    except ImportError as error:
        raise _WheelError(
            f"llama.cpp is not installed in {sys.executable} ({error}); install it: "
            f"{sys.executable} -m pip install 'llm-shakedown[demo]'"
        ) from error
    return xllamacpp


def _parse(wheel: Any, argv: Sequence[str]) -> Any | None:
    """Return the filled ``CommonParams``, or None when the parser has said on stderr what is wrong."""
    parser = getattr(ctypes.CDLL(wheel.__file__), _PARSER, None)
    if parser is None:
        raise _WheelError(f"{wheel.__file__} exports no llama-server argument parser; install the wheel of [demo]")
    parser.restype = ctypes.c_bool
    parser.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    words = [os.fsencode(word) for word in argv]
    c_argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
    params = wheel.CommonParams()
    address = _params_address(params)
    params.port = _DEFAULT_PORT
    accepted = parser(len(words), c_argv, address, _EXAMPLE_SERVER, None)
    return params if accepted else None


def _params_address(params: Any) -> int:
    """Return where the C++ struct lies, after seeing its first three members change there."""
    address = id(params) + _OBJECT_HEADER_BYTES
    before = (params.n_predict, params.n_ctx, params.n_batch)
    marks = (0x1B2C3D4E, 0x2C3D4E5F, 0x3D4E5F60)
    params.n_predict, params.n_ctx, params.n_batch = marks
    seen = tuple((ctypes.c_int32 * 3).from_address(address))
    params.n_predict, params.n_ctx, params.n_batch = before
    if type(params).__basicsize__ <= _OBJECT_HEADER_BYTES + ctypes.sizeof(ctypes.c_int32 * 3) or seen != marks:
        raise _WheelError("this build of xllamacpp keeps its parameters elsewhere; install the wheel of [demo]")
    return address


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
