"""What all places away from this machine share: asking Shakedown there, sending trials, attaching to them again."""

from __future__ import annotations

import json
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from shakedown import __version__
from shakedown.campaign.places.base import Tell
from shakedown.campaign.places.carried import CarriedTrial
from shakedown.campaign.places.errand import Errand
from shakedown.campaign.places.remote.call import ANSWER
from shakedown.campaign.places.spool_name import spool_name
from shakedown.campaign.subject import Subject
from shakedown.domain.errors import PlaceError, UserError
from shakedown.domain.spec import CampaignSpec, PlaceSection
from shakedown.domain.trial import TrialRequest
from shakedown.domain.words import PlaceKind
from shakedown.plan.outcome import Plan

RELAY = ("-P", "-m", "shakedown.campaign.places.remote.relay")
_SUBJECT = TypeAdapter(Subject)
_WORDS = 1000
_R = TypeVar("_R")


class AfarPlace(ABC):
    """Hosts on which commands can be run."""

    kind: PlaceKind

    def __init__(self, section: PlaceSection, hosts: tuple[str, ...], tell: Tell) -> None:
        self._section = section
        self._tell_one = tell
        self._lock = threading.Lock()
        self.hosts = hosts
        self._pythons: dict[str, str] = {}
        """By host: the interpreter that has this version of Shakedown."""

    @abstractmethod
    def command(self, host: str, words: Sequence[str]) -> list[str]:
        """The command here that runs ``words`` on ``host``, with its standard streams."""

    @abstractmethod
    def python_on(self, host: str) -> str:
        """The interpreter on ``host`` that has Shakedown, which is brought there if need be.

        Raises:
            PlaceError: there is none, and why.
        """

    @abstractmethod
    def why_unreachable(self, done: subprocess.CompletedProcess[str]) -> str | None:
        """What a command says if it was its carrier that failed; None otherwise."""

    def relay(self, host: str, python: str, name: str) -> list[str]:
        """The command here that reaches the relay of a trial."""
        return self.command(host, [python, *RELAY, name])

    def job(self, request: TrialRequest, host: str, python: str, name: str) -> Mapping[str, object]:  # noqa: ARG002
        """How the far side has a scheduler start the keeper; nothing: it starts it itself."""
        return {}

    def inspect(self, spec: CampaignSpec, tell: Tell) -> dict[str, Subject]:
        """Bring Shakedown to every host that answers, and look at what the campaign names there."""
        found, failed = self._on_each(lambda host: self._look(host, spec))
        for host, reason in failed.items():
            tell(f"{host} cannot be used: {reason}")
        if not found:
            raise UserError("no host can be used: " + "; ".join(f"{host}: {why}" for host, why in failed.items()))
        self.hosts = tuple(found)
        return found

    def plan(self, subject: Subject, tell: Tell) -> Plan:  # noqa: ARG002 - the far side tells on its standard error
        """Plan on the first host, where the engine can be asked."""
        question = {"subject": _SUBJECT.dump_python(subject, mode="json", by_alias=True)}
        return Plan.model_validate(self._ask(self.hosts[0], "plan", question))

    def start(self, request: TrialRequest, *, host: str) -> CarriedTrial:
        """Send a trial to ``host``."""
        folder = Path(request.folder)
        errand = Errand.of(request, on_disconnect=self._section.on_disconnect)
        name = spool_name(folder)
        python = self._python(host)
        errand.message["job"] = self.job(request, host, python, name)
        errand.write_ticket(folder, host=host, spool=name, python=python)
        return self._carried(errand, folder, host, name, python, after=None)

    def meeting_point(self, host: str) -> tuple[str, int]:
        """Address of ``host`` as the other hosts reach it, and a free port there.

        Raises:
            PlaceError: the host cannot be asked.
        """
        address = self.address_of(host)
        return address, int(self._ask(host, "port", {"address": address}))

    def address_of(self, host: str) -> str:
        """Address of ``host`` as the other hosts reach it."""
        return host

    def attach(self, folder: Path, *, after: int) -> CarriedTrial | None:
        """Ask the host that the trial went to."""
        found = Errand.from_ticket(folder)
        if found is None:
            return None
        errand, ticket = found
        return self._carried(errand, folder, ticket["host"], ticket["spool"], ticket["python"], after=after)

    def close(self) -> None:  # noqa: B027 - a whole answer, not a gap
        """Connections live as long as their trials."""

    def _carried(
        self, errand: Errand, folder: Path, host: str, name: str, python: str, *, after: int | None
    ) -> CarriedTrial:
        words = self.relay(host, python, name)
        return CarriedTrial(
            lambda: words, errand, folder=folder, host=host, patience_s=self._section.reconnect_s, after=after
        )

    def _look(self, host: str, spec: CampaignSpec) -> Subject:
        python = self._python(host)
        self.tell(f"{host}: Shakedown {__version__} in {python}")
        question = {"spec": spec.model_dump(mode="json", by_alias=True)}
        return _SUBJECT.validate_python(self._ask(host, "inspect", question))

    def _python(self, host: str) -> str:
        with self._lock:
            known = self._pythons.get(host)
        if known is None:
            known = self._section.shakedown or self.python_on(host)
            with self._lock:
                self._pythons[host] = known
        return known

    def _ask(self, host: str, name: str, question: Mapping[str, object]) -> Any:
        words = [self._python(host), "-P", "-m", "shakedown.campaign.places.remote.call", name]
        done = self.run(host, words, text=json.dumps(question))
        for line in done.stdout.splitlines():
            if line.startswith(ANSWER):
                answer = json.loads(line.removeprefix(ANSWER))
                if answer["version"] != __version__:
                    raise PlaceError(
                        f"{words[0]} has Shakedown {answer['version']}, here it is {__version__}; install the same "
                        "version there, or leave [place] shakedown away and it brings itself"
                    )
                if "error" in answer:
                    raise PlaceError(answer["error"])
                return answer["answer"]
        raise PlaceError(last_words(done.stderr) or f"no answer (exit code {done.returncode})")

    def run(
        self, host: str, words: Sequence[str], *, text: str | None = None, stdin: Any = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on ``host`` to its end.

        Raises:
            PlaceError: the host cannot be reached.
        """
        source = {"input": text} if text is not None else {"stdin": stdin or subprocess.DEVNULL}
        done = subprocess.run(self.command(host, words), capture_output=True, text=True, check=False, **source)
        why = self.why_unreachable(done)
        if why is not None:
            raise PlaceError(last_words(why))
        return done

    def tell(self, text: str) -> None:
        """Tell, from any thread."""
        with self._lock:
            self._tell_one(text)

    def _on_each(self, work: Callable[[str], _R]) -> tuple[dict[str, _R], dict[str, str]]:
        """Do something on all hosts at once; what came of it, and why it failed where it did."""
        found: dict[str, _R] = {}
        failed: dict[str, str] = {}
        with ThreadPoolExecutor(len(self.hosts)) as pool:
            futures = {host: pool.submit(work, host) for host in self.hosts}
            for host, future in futures.items():
                try:
                    found[host] = future.result()
                except PlaceError as error:
                    failed[host] = str(error)
        return found, failed


def last_words(text: str) -> str:
    """The end of what a command said, on one line."""
    return " ".join(text.split())[-_WORDS:]
