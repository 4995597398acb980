"""Keeps keys and tokens out of what is stored and shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

_HIDDEN = "***"
_SHORTEST = 8
"""A shorter value (``none``, ``true``) stands in too many places that are no secret."""
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:keys?|apikeys?|token|secrets?|password|passwd|credentials?|auth)$", re.IGNORECASE
)
"""``token`` in the singular only: names that end in ``tokens`` count tokens."""


def hide_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return ``env`` with ``***`` for every value whose name ends like a secret's (HF_TOKEN, OPENAI_API_KEY)."""
    return {name: _HIDDEN if _SECRET_NAME.search(name) else value for name, value in env.items()}


def hide_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return ``argv`` with ``***`` for the value of every flag whose name ends like a secret's (--api-key)."""
    shown: list[str] = []
    hide_next = False
    for word in argv:
        flag, equals, _ = word.partition("=")
        secret = word.startswith("-") and _SECRET_NAME.search(flag) is not None
        if hide_next and not word.startswith("-"):
            shown.append(_HIDDEN)
        elif secret and equals:
            shown.append(f"{flag}={_HIDDEN}")
        else:
            shown.append(word)
        hide_next = secret and not equals
    return tuple(shown)


def secret_values(*named: Mapping[str, object]) -> tuple[str, ...]:
    """Return the values whose names end like a secret's, longest first; words too short to be one are left out.

    Args:
        named: environments, arguments by name.
    """
    values = {
        str(value)
        for mapping in named
        for name, value in mapping.items()
        if isinstance(value, str) and _SECRET_NAME.search(name) and len(value) >= _SHORTEST
    }
    return _longest_first(values)


def argv_secrets(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the values in a command line that belong to flags named like a secret."""
    shown = hide_argv(argv)
    hidden = [word.partition("=")[2] or word for word, told in zip(argv, shown, strict=True) if word != told]
    return _longest_first({word for word in hidden if len(word) >= _SHORTEST})


def _longest_first(values: set[str]) -> tuple[str, ...]:
    """One secret may begin with another."""
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def hide_in_json(text: str, secrets: Sequence[str]) -> str:
    """Return a JSON document with ``***`` wherever one of ``secrets`` stands in a string; names stay as they are."""
    if not any(secret in text or json.dumps(secret)[1:-1] in text for secret in secrets):
        return text
    return json.dumps(_hidden(json.loads(text), secrets), separators=(",", ":"), ensure_ascii=False)


def _hidden(value: object, secrets: Sequence[str]) -> object:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, _HIDDEN)
        return value
    if isinstance(value, dict):
        return {name: _hidden(item, secrets) for name, item in value.items()}
    return [_hidden(item, secrets) for item in value] if isinstance(value, list) else value
