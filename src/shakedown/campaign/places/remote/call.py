"""One question to Shakedown on the far side: ``python -m shakedown.campaign.places.remote.call NAME``.

The question is JSON on standard input; the answer is the line on standard output that begins with ``ANSWER``. What
takes time is told on standard error.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from typing import Any

ANSWER = "shakedown-answer "


def _inspect(question: dict[str, Any]) -> object:
    from pydantic import TypeAdapter

    from shakedown.campaign.subject import Subject, inspect_subject
    from shakedown.domain.spec import CampaignSpec

    subject = inspect_subject(CampaignSpec.model_validate(question["spec"]), progress=_tell)
    return TypeAdapter(Subject).dump_python(subject, mode="json", by_alias=True)


def _plan(question: dict[str, Any]) -> object:
    from pydantic import TypeAdapter

    from shakedown.campaign.subject import Subject, plan_subject

    subject = TypeAdapter(Subject).validate_python(question["subject"])
    return plan_subject(subject, progress=_tell).model_dump(mode="json")


def _port(question: dict[str, Any]) -> object:
    from shakedown.launch.port import free_port

    return free_port(question["address"])


QUESTIONS: dict[str, Callable[[dict[str, Any]], object]] = {"inspect": _inspect, "plan": _plan, "port": _port}


def _tell(text: str) -> None:
    sys.stderr.write(f"{socket.gethostname()}: {text}\n")
    sys.stderr.flush()


def main() -> None:
    """Answer one question; an error that is the user's to mend is an answer too."""
    from shakedown import __version__
    from shakedown.domain.errors import ShakedownError

    answer: dict[str, object] = {"version": __version__}
    try:
        answer["answer"] = QUESTIONS[sys.argv[1]](json.loads(sys.stdin.read()))
    except ShakedownError as error:
        answer["error"] = str(error)
    sys.stdout.write(ANSWER + json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
