"""Arguments as words of a command line."""

from __future__ import annotations

from shakedown.domain.base import ArgValue


def argparse_words(name: str, value: ArgValue) -> list[str]:
    """Spell an argument for a Python ``argparse`` parser, which takes lists as several words."""
    if value is False:
        return []
    if value is True:
        return [f"--{name}"]
    values = value if isinstance(value, list) else [value]
    # A word that begins with a dash would be taken for a flag of its own.
    if len(values) == 1 and str(values[0]).startswith("-"):
        return [f"--{name}={values[0]}"]
    return [f"--{name}", *map(str, values)]
