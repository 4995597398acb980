"""Answers that say the same again and again: what has to be counted, as no pattern can refer back to what it matched.

Only the last lines of a log that tells of no failure are looked at.
"""

from __future__ import annotations

from itertools import groupby

from shakedown.diagnose.textline import Line

_PUNCTUATION = ".,;:!?()[]{}<>\"'`*\\|-=+/"
_LONGEST_RUN = 10
"""Real text and tables of real logs hold no word so often in succession."""
_LONGEST_UNIT = 40
_LONGEST_STRETCH = 24
"""Characters that are one unit again and again; a unit comes at least eight times."""
_TELLING_CHARACTERS = "!?@"
"""What an answer is made of when it goes wrong, and no rule, border or progress bar is drawn with."""
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
    return run >= _LONGEST_RUN or (few and len(words) >= _MOSTLY_WORDS * len(tokens)) or _has_a_stretch(line.body)


def _has_a_stretch(text: str) -> bool:
    """Whether some characters follow themselves again and again, as ``<|token_7|><|token_7|>`` does."""
    for size in range(1, _LONGEST_UNIT + 1):
        needed = max(_LONGEST_STRETCH, 8 * size) - size
        length = 0
        for place in range(size, len(text)):
            length = length + 1 if text[place] == text[place - size] else 0
            if length >= needed and _is_telling(text[place - size + 1 : place + 1]):
                return True
    return False


def _is_telling(unit: str) -> bool:
    """Whether a unit is part of a text: it has a small letter or a character that nothing is drawn with."""
    if " " in unit or any(value in unit + unit for value in _VALUES):
        return False
    return any(character.islower() or character in _TELLING_CHARACTERS for character in unit)


def _is_word(token: str) -> bool:
    """Whether a token is a word or a symbol that text is made of: no number, value, column mark or drawing."""
    if token.isupper() or token.lower() in _VALUES:
        return False
    symbol = len(token) == 1 and not token.isascii() and not _DRAWN[0] <= token <= _DRAWN[1]
    return token.isalpha() or symbol
