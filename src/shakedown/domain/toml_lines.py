"""Where each key of a TOML document stands.

``tomllib`` gives values without positions and tomlkit keeps text without line numbers, so this walks the text once
more. It trusts that ``tomllib`` has accepted the document and therefore checks no syntax.
"""

from __future__ import annotations

import re
import tomllib

Path = tuple[str | int, ...]

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[Path, int]:
    """Map every key, table and array element to its 1-based line."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """Line of ``path``, or of the nearest thing around it that has one."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._elements: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while self._skip_space():
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        path: Path = ()
        keys = self._keys()
        for position, key in enumerate(keys):
            path += (key,)
            last = position == len(keys) - 1
            if last and is_array:
                self._elements[path] = self._elements.get(path, -1) + 1
            if path in self._elements:
                path += (self._elements[path],)
        self._record(path, start)
        self.at = self.text.index("]", self.at) + (2 if is_array else 1)
        return path

    def _pair(self, table: Path) -> None:
        start = self.at
        path = table + tuple(self._keys())
        self._record(path, start)
        self.at = self.text.index("=", self.at) + 1
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip_space()
        opening = self.text[self.at]
        if opening == "[":
            self._enclosed("]", path, is_array=True)
        elif opening == "{":
            self._enclosed("}", path, is_array=False)
        else:
            match = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            assert match is not None
            self.at = match.end()

    def _enclosed(self, closing: str, path: Path, *, is_array: bool) -> None:
        self.at += 1
        index = 0
        while self._skip_space() and self.text[self.at] != closing:
            if self.text[self.at] == ",":
                self.at += 1
            elif is_array:
                self._record((*path, index), self.at)
                self._value((*path, index))
                index += 1
            else:
                self._pair(path)
        self.at += 1

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip_space()
            quoted = _STRING.match(self.text, self.at)
            match = quoted or _BARE_KEY.match(self.text, self.at)
            assert match is not None
            self.at = match.end()
            keys.append(str(tomllib.loads(f"k = {match.group()}")["k"]) if quoted else match.group())
            self._skip_space()
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def _skip_space(self) -> bool:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        return self.at < len(self.text)

    def _record(self, path: Path, at: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, at) + 1)
