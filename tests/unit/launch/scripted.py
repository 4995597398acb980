"""Starts the scripted child under supervision, and looks for what is left of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil

from shakedown.domain.events import Event
from shakedown.domain.trial import Limits
from shakedown.engines.base import BootPhase, LaunchPlan, Probe
from shakedown.launch.port import free_port
from shakedown.launch.server import Server

CHILD = str(Path(__file__).with_name("scripted_child.py"))
TOKEN_VARIABLE = "SHAKEDOWN_TEST_TOKEN"


class ScriptedEngine:
    """The part of an adapter that supervision uses."""

    boot_phases = (BootPhase("loading", "^loading"), BootPhase("listening", "^listening"))
    health_path = "/health"
    info_probes = (Probe("GET", "/info"),)

    def effective_settings(self, answers, log_lines):
        return {"answers": len(answers), "authorization": answers[0]["authorization"]}


def child_plan(port: int, *modes: str, env: dict[str, str] | None = None) -> LaunchPlan:
    return LaunchPlan(argv=(sys.executable, "-S", "-E", CHILD, str(port), *modes), env=env or {})


def start(
    folder: Path, *modes: str, limits: Limits | None = None, events: list[Event] | None = None, **other
) -> Server:
    port = free_port("127.0.0.1")
    seen = events if events is not None else []
    return Server.start(
        child_plan(port, *modes, env=other.pop("env", None)),
        ScriptedEngine(),
        folder=folder,
        host="127.0.0.1",
        port=port,
        limits=limits or Limits(boot_stall_s=20, term_grace_s=1),
        model_name="m",
        on_event=seen.append,
        **other,
    )


def processes_with(token: str) -> list[psutil.Process]:
    """Live processes whose environment carries the token."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(TOKEN_VARIABLE) == token and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def survivors(token: str, patience_s: float = 5.0) -> list[psutil.Process]:
    """What of them is left when none should be."""
    deadline = time.monotonic() + patience_s
    while (left := processes_with(token)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
