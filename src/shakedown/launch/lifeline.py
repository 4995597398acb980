"""Ties between processes that hold even when one of them is killed with SIGKILL (Linux).

Standard library only: the guardian imports this, and it must start in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36

PARENT_VARIABLE = "SHAKEDOWN_PARENT_PID"
"""Set by whoever starts a trial to its own process id, so that ``die_with_parent`` can see a parent already gone."""


def die_with_parent() -> None:
    """Have the kernel kill this process with SIGKILL when its parent dies; a trial calls it first of all.

    The kernel watches the *thread* that forked this process: start trials from a thread that lives as long as the
    campaign (the main thread). If the parent named by ``SHAKEDOWN_PARENT_PID`` is gone already, this exits at once.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    expected = os.environ.get(PARENT_VARIABLE)
    if expected is not None and os.getppid() != int(expected):
        os._exit(128 + signal.SIGKILL)


def kill_when_parent_dies(parent_pid: int) -> None:
    """Between fork and exec: SIGKILL this process when ``parent_pid``, which forked it, dies or has died."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(128 + signal.SIGKILL)


def adopt_orphans() -> None:
    """Make this process the new parent of every descendant that loses its own (a child subreaper).

    Nothing started below it can then leave its tree, whatever it does with sessions and double forks.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, argument: int) -> None:
    if _LIBC.prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


_LIBC = ctypes.CDLL(None, use_errno=True)
