"""Answers that say the same again and again: what has to be counted, as no pattern can refer back to what it matched.

Only the last lines of a log that tells of no failure are looked at.
"""

from __future__ import annotations

from itertools import groupby

from shakedown.diagnose.textline import Line

_PUNCTUATION = ".,;:!?()[]{}<>\"'`*\\|-=+/"
_LONGEST_RUN = 12
"""Real text and tables of real logs hold no word so often in succession."""
_FEWEST_WORDS = 40
_LEAST_VARIED = 0.3
"""Share of different words among so many: prose has more than twice that."""
_MOSTLY_WORDS = 0.8
_VALUES = frozenset({"none", "null", "true", "false"})
_DRAWN = ("\u2500", "\u259f")
"""First and last character of lines and blocks: progress bars and banners are drawn with them."""


def is_repetitive_answer(line: Line) -> bool:
    """Whether a line is a model's answer that repeats one word, or a few words in any order.

    What an engine logs of its own is none: not its prompts, and not the columns of a table.
    """
    if line.level or "prompt:" in line.text or "prompt=" in line.text:
        return False
    tokens = line.body.replace("\\n", " ").split()
    words = [word for token in tokens if _is_word(word := token.strip(_PUNCTUATION))]
    run = max((sum(1 for _ in same) for _, same in groupby(words)), default=0)
    few = len(words) >= _FEWEST_WORDS and len(set(words)) <= _LEAST_VARIED * len(words)
    return run >= _LONGEST_RUN or (few and len(words) >= _MOSTLY_WORDS * len(tokens))


def _is_word(token: str) -> bool:
    """Whether a token is a word or a symbol that text is made of: no number, value, column mark or drawing."""
    if token.isupper() or token.lower() in _VALUES:
        return False
    symbol = len(token) == 1 and not token.isascii() and not _DRAWN[0] <= token <= _DRAWN[1]
    return token.isalpha() or symbol
