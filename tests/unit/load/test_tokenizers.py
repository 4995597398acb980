import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.scripted_server import Request, ScriptedServer

from shakedown.client.control import ControlClient
from shakedown.domain.errors import UserError
from shakedown.load.tokenizers import EstimatingTokenizer, cut_to, find_tokenizer


class BytePairs:
    """Counts pairs of characters and one special token; what a cut must cope with: counts that grow in steps."""

    source = "file"
    exact = True

    def count(self, text: str) -> int:
        return 1 + (len(text) + 1) // 2

    def encode(self, text: str) -> list[int]:
        return list(range((len(text) + 1) // 2))

    def decode(self, token_ids: object) -> str:
        raise AssertionError


@given(st.text(min_size=0, max_size=2000), st.integers(2, 500))
def test_a_cut_has_exactly_the_tokens_or_the_text_is_too_short(text: str, tokens: int) -> None:
    cut = cut_to(text, tokens, BytePairs())  # type: ignore[arg-type]
    assert text.startswith(cut)
    assert BytePairs().count(cut) == min(tokens, BytePairs().count(text))


def answering(path: str, dialect: str):  # type: ignore[no-untyped-def]
    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        content = {}
        if request.path == path:
            words = str(request.json.get(dialect, "")).split()
            special = request.json.get("add_special") or request.json.get("add_special_tokens")
            content = {"tokens": [0] * bool(special) + list(range(len(words)))}
        if request.path == "/detokenize":
            content = {"content" if dialect == "content" else "prompt": "back"}
        body = json.dumps(content).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)

    return reply


@pytest.mark.parametrize("dialect", ["content", "prompt"])
def test_the_servers_own_tokenizer_is_found_in_either_dialect(dialect: str) -> None:
    with ScriptedServer(answering("/tokenize", dialect)) as server, ControlClient(server.url) as client:
        tokenizer = find_tokenizer(client, "m", None)
        assert tokenizer.source == "server"
        assert tokenizer.count("one two three") == 4
        assert tokenizer.encode("one two three") == [0, 1, 2]
        assert tokenizer.decode([1, 2]) == "back"


def test_without_any_the_estimate_says_so() -> None:
    with ScriptedServer(answering("/none", "content")) as server, ControlClient(server.url) as client:
        tokenizer = find_tokenizer(client, "m", None)
    assert (tokenizer.source, tokenizer.exact) == ("estimate", False)
    assert EstimatingTokenizer().encode("a") is None


def test_a_file_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with ControlClient("http://127.0.0.1:9") as client:
        for path in (tmp_path / "no.json", tmp_path):
            with pytest.raises(UserError, match="--tokenizer"):
                find_tokenizer(client, "m", str(path))
