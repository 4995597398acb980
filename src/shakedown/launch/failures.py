"""Failures that supervision sees by itself, without a line of the engine's log."""

from __future__ import annotations

from shakedown.domain.failure import Failure, Remedy
from shakedown.domain.words import Category, Stage
from shakedown.launch.port import Listener


def port_taken(host: str, port: int, holders: list[Listener]) -> Failure:
    """Somebody else listens on our port."""
    who = ", ".join(map(str, holders)) or "a process that cannot be seen from here"
    return Failure(
        category=Category.PORT_IN_USE,
        signature="port-in-use",
        stage=Stage.LAUNCH,
        root_line=f"port {port} of {host} is held by {who}",
        title="The port is taken",
        cause=f"{who} listens on port {port}; another server's answers must never be taken for this one's.",
        remedy=Remedy(advice="Stop that process, or let Shakedown choose a free port.", retry_unchanged=True),
    )


def cannot_listen(host: str, port: int, error: OSError) -> Failure:
    """The address is not this machine's, or the port needs rights that we do not have."""
    return Failure(
        category=Category.BAD_ARGUMENTS,
        signature=None,
        stage=Stage.LAUNCH,
        root_line=f"cannot listen on {host}:{port}: {error.strerror}",
        title="The server cannot listen there",
        cause=f"{host}:{port}: {error.strerror}",
        remedy=Remedy(advice="Use an address of this machine and a port above 1023."),
    )


def not_startable(program: str, error: OSError) -> Failure:
    """The program of the launch line cannot be executed."""
    return Failure(
        category=Category.ENVIRONMENT_MISMATCH,
        signature=None,
        stage=Stage.LAUNCH,
        root_line=f"cannot start {program}: {error.filename}: {error.strerror}",
        title="The engine cannot be started",
        cause=f"{error.filename}: {error.strerror}",
        remedy=Remedy(advice="Install the engine, or correct [engine] python or command in the campaign file."),
    )


def stalled_boot(silent_s: float) -> Failure:
    """A boot that made no progress for as long as the stall limit allows."""
    return _hang(
        f"For {silent_s:.0f} s it wrote no line, used no CPU, read nothing and did not grow in memory.",
        "Read the end of the log; raise boot_stall under [limits] if the engine is known to be silent for longer.",
    )


def spinning_boot(silent_s: float) -> Failure:
    """A boot that uses CPU and does nothing else."""
    return _hang(
        f"For {silent_s:.0f} s it used CPU and did nothing else: no line, no file read, no process started, no growth.",
        "Read the end of the log: a collective that waits for a rank spins like this. Raise boot_stall under [limits] "
        "if the engine is known to compute in silence for longer.",
    )


def endless_boot(elapsed_s: float) -> Failure:
    """A boot that goes on and never gets ready."""
    return _hang(
        f"It still worked after {elapsed_s:.0f} s and was not ready.",
        "Read the end of the log; raise boot_total under [limits] if the model is known to need longer.",
    )


def _hang(cause: str, advice: str) -> Failure:
    return Failure(
        category=Category.HANG,
        signature=None,
        stage=Stage.BOOT,
        root_line=None,
        title="The server hung while booting",
        cause=cause,
        remedy=Remedy(advice=advice),
    )


def cannot_generate(refusal: str) -> Failure:
    """Healthy by its own account, and no token comes out."""
    return Failure(
        category=None,
        signature=None,
        stage=Stage.BOOT,
        root_line=None,
        title="The server is healthy and cannot generate",
        cause=f"The health endpoint answers 200; a request for one token is refused: {refusal}",
        remedy=None,
    )
