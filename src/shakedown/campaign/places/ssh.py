"""Hosts reached with the system's OpenSSH client: its configuration, jump hosts, keys, agent and host key checks."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any

from shakedown import __version__
from shakedown.campaign.places.afar import AfarPlace, last_words
from shakedown.campaign.places.base import Tell
from shakedown.campaign.places.bundle import PROBE, UNPACK, Interpreter, bundle_for, bundle_key
from shakedown.domain.errors import PlaceError
from shakedown.domain.spec import PlaceSection
from shakedown.domain.words import PlaceKind

KIND = PlaceKind.SSH
OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),  # nobody is there to answer a question; an agent answers for a key
    *("-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
)
UNREACHABLE = 255
"""Exit code of ssh when it failed itself."""
_PYTHONS = ("python3.13", "python3.12", "python3.11", "python3")


class SshPlace(AfarPlace):
    """One or more hosts."""

    kind = KIND

    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """``ssh``, which runs the words in the login shell there."""
        config = ["-F", self._section.ssh_config] if self._section.ssh_config is not None else []
        return ["ssh", *config, *OPTIONS, host, shlex.join(words)]

    def address_of(self, host: str) -> str:
        """What ``HostName`` says of it in the configuration."""
        resolved = subprocess.run(
            [*self.command(host, [])[:-2], "-G", host], capture_output=True, text=True, check=False
        )
        names = [line.split(" ", 1)[1] for line in resolved.stdout.splitlines() if line.startswith("hostname ")]
        return names[0] if names else host

    def why_unreachable(self, done: subprocess.CompletedProcess[str]) -> str | None:
        """OpenSSH keeps one exit code for its own failures."""
        return (done.stderr or "ssh cannot reach it") if done.returncode == UNREACHABLE else None

    def python_on(self, host: str) -> str:
        """An environment of our own there, made on the first visit."""
        asked = [self._section.python] if self._section.python is not None else list(_PYTHONS)
        found = self._probe(host, asked)
        interpreter = Interpreter.model_validate({key: found[key] for key in Interpreter.model_fields})
        key = bundle_key(interpreter)
        python = f"{found['root']}/{key}/bin/python"
        if key not in found["there"]:
            self.tell(f"{host}: bringing Shakedown {__version__} there; the next time it will be there")
            with bundle_for(interpreter).open("rb") as bundle:
                done = self.run(host, [interpreter.python, "-c", UNPACK, found["root"], key], stdin=bundle)
            if "shakedown-unpacked" not in done.stdout:
                raise PlaceError(f"Shakedown cannot be unpacked there: {last_words(done.stderr)}")
        return python

    def _probe(self, host: str, pythons: Sequence[str]) -> dict[str, Any]:
        """Ask the first interpreter that is new enough what it is."""
        new_enough = "import sys; sys.exit(sys.version_info < (3, 11))"
        tries = " ".join(shlex.quote(python) for python in pythons)
        script = (
            f"for p in {tries}; do if command -v $p >/dev/null && $p -c {shlex.quote(new_enough)}; then "
            f"exec $p -c {shlex.quote(PROBE)}; fi; done; echo no-python"
        )
        done = self.run(host, ["sh", "-c", script])
        for line in done.stdout.splitlines():
            if line.startswith("shakedown-probe "):
                found: dict[str, Any] = json.loads(line.removeprefix("shakedown-probe "))
                return found
        if "no-python" in done.stdout:
            raise PlaceError(
                f"there is no Python 3.11 or newer among {', '.join(pythons)}; install one, or name one with "
                "[place] python"
            )
        raise PlaceError(last_words(done.stderr) or f"the probe said nothing (exit code {done.returncode})")


def open_place(section: PlaceSection, tell: Tell) -> SshPlace:
    """Open the hosts of a campaign file."""
    return SshPlace(section, section.hosts, tell)
