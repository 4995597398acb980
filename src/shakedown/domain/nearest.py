"""The valid word that a wrong one was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, valid: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Return the word of ``valid`` that is most like ``word``; None where none is like it enough.

    Args:
        word: what was given.
        valid: the words that are known.
        likeness: least share of letters in common, 0 to 1 (the ratio of Python's ``difflib``).
    """
    return next(iter(difflib.get_close_matches(word, list(valid), n=1, cutoff=likeness)), None)
