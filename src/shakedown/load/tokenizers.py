"""Counting tokens as the server does: its own ``/tokenize``, a tokenizer file, or an estimate that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError, UserError

if TYPE_CHECKING:
    import tokenizers

CHARACTERS_PER_TOKEN = 4.0
"""English prose with a vocabulary of 32k to 256k has 3.8 to 4.8; only used where nothing better is known."""

Source = Literal["server", "file", "estimate"]


class Tokenizer(Protocol):
    """Counts tokens of a completions prompt, special tokens that the server adds included."""

    source: Source

    @property
    def exact(self) -> bool:
        """Whether counts are the server's (a file is taken at its word)."""
        ...

    def count(self, text: str) -> int:
        """Tokens of ``text``."""
        ...

    def encode(self, text: str) -> list[int] | None:
        """Token ids of ``text`` without added special tokens; None where this cannot be had."""
        ...

    def decode(self, token_ids: Sequence[int]) -> str | None:
        """Text of token ids; None where ``encode`` gives none."""
        ...


class EstimatingTokenizer:
    """Four characters a token."""

    source: Source = "estimate"
    exact = False

    def count(self, text: str) -> int:
        """Tokens of ``text``, about."""
        return round(len(text) / CHARACTERS_PER_TOKEN)

    def encode(self, text: str) -> list[int] | None:
        """No ids."""
        del text
        return None

    def decode(self, token_ids: Sequence[int]) -> str | None:
        """No text."""
        del token_ids
        return None


class FileTokenizer:
    """A Hugging Face ``tokenizer.json``, or the folder that holds it.

    Raises:
        UserError: if the file is missing or not readable as a tokenizer.
    """

    source: Source = "file"
    exact = True

    def __init__(self, path: str) -> None:
        import tokenizers

        file = Path(path)
        if file.is_dir():
            file /= "tokenizer.json"
        if not file.is_file():
            raise UserError(f"--tokenizer {path}: no such file; give a tokenizer.json or the folder that holds it")
        try:
            self._tokenizer: tokenizers.Tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises bare Exception for anything unreadable
            raise UserError(f"--tokenizer {file}: not a tokenizer.json: {error}") from error

    def count(self, text: str) -> int:
        """Tokens of ``text`` with the special tokens that the tokenizer adds."""
        return len(self._tokenizer.encode(text).ids)

    def encode(self, text: str) -> list[int]:
        """Token ids."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text."""
        return self._tokenizer.decode(list(token_ids), skip_special_tokens=False)


class ServerTokenizer:
    """The server's own ``/tokenize`` and ``/detokenize``, in the dialect that it answered to."""

    source: Source = "server"
    exact = True

    def __init__(self, client: ControlClient, dialect: _Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def count(self, text: str) -> int:
        """Tokens of ``text`` as the server counts a completions prompt.

        Raises:
            ClientError: if the server stops answering.
        """
        return len(self._tokens(text, special=True))

    def encode(self, text: str) -> list[int]:
        """Token ids.

        Raises:
            ClientError: if the server stops answering.
        """
        return self._tokens(text, special=False)

    def _tokens(self, text: str, *, special: bool) -> list[int]:
        answer = self._client.json("POST", "/tokenize", self._dialect.tokenize(text, special=special))
        return _ids(answer)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text.

        Raises:
            ClientError: if the server stops answering.
        """
        answer = self._client.json("POST", "/detokenize", self._dialect.detokenize(token_ids))
        text = next((answer[key] for key in ("content", "prompt", "text") if isinstance(answer.get(key), str)), "")
        return str(text)


class _Dialect(Protocol):
    def tokenize(self, text: str, *, special: bool) -> Mapping[str, object]: ...
    def detokenize(self, token_ids: Sequence[int]) -> Mapping[str, object]: ...


class _LlamaCpp:
    """llama.cpp: ``content`` and ``add_special`` (tools/server/README.md, POST /tokenize)."""

    def tokenize(self, text: str, *, special: bool) -> Mapping[str, object]:
        return {"content": text, "add_special": special}

    def detokenize(self, token_ids: Sequence[int]) -> Mapping[str, object]:
        return {"tokens": list(token_ids)}


class _Prompt:
    """vLLM and SGLang: ``model``, ``prompt`` and ``add_special_tokens``."""

    def __init__(self, model: str) -> None:
        self._model = model

    def tokenize(self, text: str, *, special: bool) -> Mapping[str, object]:
        return {"model": self._model, "prompt": text, "add_special_tokens": special}

    def detokenize(self, token_ids: Sequence[int]) -> Mapping[str, object]:
        return {"model": self._model, "tokens": list(token_ids)}


def _ids(answer: Mapping[str, object]) -> list[int]:
    tokens = answer.get("tokens")
    return [token for token in tokens if isinstance(token, int)] if isinstance(tokens, list) else []


def server_tokenizer(client: ControlClient, model: str) -> ServerTokenizer | None:
    """The server's own tokenizer, or None where it has none."""
    dialects: tuple[_Dialect, ...] = (_LlamaCpp(), _Prompt(model))
    for dialect in dialects:
        try:
            tokens = _ids(client.json("POST", "/tokenize", dialect.tokenize(_PROBE, special=False)))
        except ClientError:
            continue
        if tokens:
            return ServerTokenizer(client, dialect)
    return None


class ChatTokenizer:
    """Counts what a text becomes as the only message of a chat: the template's tokens are added to its own.

    Args:
        inner: counts and encodes the text itself.
        template_tokens: what the server counted for a chat beyond ``inner``'s count of its message.
    """

    exact = True

    def __init__(self, inner: Tokenizer, template_tokens: int) -> None:
        self._inner = inner
        self._template_tokens = template_tokens
        self.source: Source = inner.source

    def count(self, text: str) -> int:
        """Tokens of a chat of this one message."""
        return self._inner.count(text) + self._template_tokens

    def encode(self, text: str) -> list[int] | None:
        """Token ids of the text alone."""
        return self._inner.encode(text)

    def decode(self, token_ids: Sequence[int]) -> str | None:
        """Text of ids."""
        return self._inner.decode(token_ids)


_PROBE = "The sea is calm."


def _template_tokens(client: ControlClient, model: str, inner: Tokenizer) -> int | None:
    """Ask the server how many tokens a chat of one short message has; None where it sends no usage."""
    body = {"model": model, "messages": [{"role": "user", "content": _PROBE}], "max_tokens": 1, "temperature": 0}
    try:
        usage = client.json("POST", "/v1/chat/completions", body).get("usage")
    except ClientError:
        return None
    counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return counted - inner.count(_PROBE) if isinstance(counted, int) else None


def find_tokenizer(client: ControlClient, model: str, file: str | None, *, endpoint: str = "completions") -> Tokenizer:
    """The best there is: a file where one is given, else the server's, else an estimate.

    For a chat endpoint the tokens of the chat template are found out by one small request and counted in.

    Raises:
        UserError: if ``file`` is given and unusable.
    """
    found = FileTokenizer(file) if file is not None else server_tokenizer(client, model)
    if found is None:
        return EstimatingTokenizer()
    if endpoint == "chat":
        extra = _template_tokens(client, model, found)
        return ChatTokenizer(found, extra) if extra is not None else found
    return found


def cut_to(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The start of ``text`` that has exactly ``tokens`` tokens, or the longest that has fewer.

    The count grows with the cut almost steadily, so interpolation finds the place in a few steps; each step calls the
    tokenizer once.
    """
    low, low_count = 0, 0
    high, high_count = len(text), tokenizer.count(text)
    if high_count <= tokens:
        return text
    for step in range(64):
        if high - low <= 1:
            break
        share = (tokens - low_count + 0.5) / max(1, high_count - low_count)
        guess = low + round(share * (high - low)) if step % 4 < 3 else (low + high) // 2
        middle = min(high - 1, max(low + 1, guess))
        count = tokenizer.count(text[:middle])
        if count == tokens:
            return text[:middle]
        if count < tokens:
            low, low_count = middle, count
        else:
            high, high_count = middle, count
    return text[:low]
