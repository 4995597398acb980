"""One request of the OpenAI endpoints, from its body to its last byte, in the shapes that SGLang and vLLM share."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import Any

from tests.fakes.toy_model import BANG, FIRST_WORD, example_of, known_answer
from tests.rehearsal.batch import Batch, Job
from tests.rehearsal.httpd import Connection
from tests.rehearsal.mind import Mind, decode, encode, logprob_of, piece, reads_like_text, top_of


@dataclass(frozen=True)
class Voice:
    """What speaks: the model, its name, and whether its logits are NaN, so that it says ``!!!!``."""

    mind: Mind
    name: str
    garbage: bool = False
    token_ids_as_text: bool = False
    """vLLM's ``return_tokens_as_token_ids``."""


class Answering:
    """Takes tokens from the batch and writes the answer."""

    def __init__(self, voice: Voice, batch: Batch, connection: Connection, path: str, body: dict[str, Any]) -> None:
        self._voice = voice
        self._connection = connection
        self._body = body
        self.chat = path.endswith("/chat/completions")
        prompt = body["prompt"] if not self.chat else _render(body["messages"])
        self.prompt: list[int] = encode(prompt) if isinstance(prompt, str) else prompt
        self._context = self.prompt[-8:]
        self._said = _forced(body, self.chat)
        self._wanted = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        self._finish = "length"
        if self._said is not None and len(self._said) <= self._wanted:
            self._wanted, self._finish = len(self._said), "tool_calls" if body.get("tools") else "stop"
        self._dice = random.Random(f"{body.get('seed')} {self.prompt[-8:]}")
        self._greedy = float(body.get("temperature", 1.0)) == 0
        self._top = int(body.get("top_logprobs") or body.get("logprobs") or 0)
        self._ids: list[int] = []
        self._rows: list[Any] = []
        self._stream = bool(body.get("stream"))
        self._begun = self._named = False
        chances = batch.speed.chances(text=reads_like_text(self.prompt))
        self.job = Job(len(self.prompt), self._wanted, self.emit, chances, phase=self._dice.random())
        connection.closed = lambda: batch.drop(self.job)
        batch.submit(self.job)

    def emit(self, new: int, last: bool) -> None:
        if not self._begun and self._stream:
            self._connection.begin_stream()
        self._begun = True
        text = "".join([self._next() for _ in range(new)])
        if self._stream:
            self._send(text)
        if last:
            self._connection.closed = None
            self._end()

    def _next(self) -> str:
        """Choose the next token; return its text."""
        if self._said is not None:
            self._ids.append(FIRST_WORD)
            return self._said[len(self._ids) - 1]
        length = len(self.prompt) + len(self._ids)
        mind = self._voice.mind
        if self._voice.garbage:
            token, row = BANG, None
        elif self._greedy and not self._top:
            token, row = mind.best(self._context, length), None
        else:
            row = mind.row(self._context, length)
            token = int(row.argmax()) + FIRST_WORD if self._greedy else mind.draw(row, self._dice)
        self._ids.append(token)
        self._rows.append(row)
        self._context = [*self._context[-7:], token]
        return piece(token)

    # --- streamed ---

    def _send(self, text: str, finish: str | None = None) -> None:
        if self.chat and self._body.get("tools"):
            self._send_call(text, finish)
        elif self.chat:
            delta = {"role": "assistant", "content": text} if text else {}
            self._event({"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})
        else:
            choice = f'{{"index":0,"text":{json.dumps(text, ensure_ascii=False)},"logprobs":null,"finish_reason":'
            told = "null" if finish is None else f'"{finish}"'
            event = f'{{"id":"cmpl","object":"text_completion","choices":[{choice}{told}}}],"usage":null}}'
            self._connection.send(event.encode())

    def _send_call(self, text: str, finish: str | None) -> None:
        delta: dict[str, Any] = {}
        if text:
            call: dict[str, Any] = {"index": 0, "function": {"arguments": text}}
            if not self._named:
                call |= {"id": "call_0", "type": "function"}
                call["function"]["name"] = self._body["tools"][0]["function"]["name"]
                self._named = True
            delta["tool_calls"] = [call]
        self._event({"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    def _event(self, content: dict[str, Any]) -> None:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        whole = {"id": "cmpl", "object": kind, "model": self._voice.name, **content}
        self._connection.send(json.dumps(whole, ensure_ascii=False).encode())

    def _end(self) -> None:
        if not self._stream:
            self._connection.reply(self._whole())
            return
        self._send("", self._finish)
        options = self._body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage"):
            self._event({"choices": [], "usage": self._usage()})
        self._connection.end_stream()

    # --- whole ---

    def _usage(self) -> dict[str, Any]:
        made = len(self._ids)
        return {
            "prompt_tokens": len(self.prompt),
            "total_tokens": len(self.prompt) + made,
            "completion_tokens": made,
            "prompt_tokens_details": None,
        }

    def _whole(self) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": 0, "finish_reason": self._finish, "logprobs": self._logprobs()}
        text = "".join(self._said[: self._wanted]) if self._said is not None else decode(self._ids)
        if not self.chat:
            choice["text"] = text
        elif self._body.get("tools"):
            function = {"name": self._body["tools"][0]["function"]["name"], "arguments": text}
            call = {"id": "call_0", "index": 0, "type": "function", "function": function}
            choice["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            choice["message"] = {"role": "assistant", "content": text, "reasoning_content": None, "tool_calls": None}
        kind = "chat.completion" if self.chat else "text_completion"
        whole = {"id": "cmpl", "object": kind, "model": self._voice.name, "choices": [choice], "usage": self._usage()}
        if "prompt_logprobs" in self._body:
            choice |= self._prompt_logprobs(int(self._body["prompt_logprobs"]))
        return whole

    def _logprobs(self) -> dict[str, Any] | None:
        if not self._top or self._said is not None:
            return None
        by_id = self._voice.token_ids_as_text and self._body.get("return_tokens_as_token_ids")
        name = (lambda token: f"token_id:{token}") if by_id else piece
        own = [
            None if row is None else logprob_of(row, token) for token, row in zip(self._ids, self._rows, strict=True)
        ]
        tops = [{} if row is None else top_of(row, self._top) for row in self._rows]
        if self.chat:
            content = [
                {
                    "token": name(token),
                    "logprob": value,
                    "top_logprobs": [{"token": name(other), "logprob": number} for other, number in top.items()],
                }
                for token, value, top in zip(self._ids, own, tops, strict=True)
            ]
            return {"content": content}
        return {
            "tokens": [name(token) for token in self._ids],
            "token_logprobs": own,
            "top_logprobs": [{name(other): number for other, number in top.items()} for top in tops],
        }

    def _prompt_logprobs(self, top: int) -> dict[str, Any]:
        """vLLM's: by position, token id as text to its log-probability."""
        rows: list[Any] = [None]
        for place in range(1, len(self.prompt)):
            row = self._voice.mind.row(self.prompt[max(place - 6, 0) : place], place)
            told = top_of(row, top)
            own = self.prompt[place]
            told.setdefault(own, logprob_of(row, own))
            rows.append({str(token): {"logprob": value} for token, value in told.items()})
        return {"prompt_token_ids": self.prompt, "prompt_logprobs": rows}


def _render(messages: list[dict[str, Any]]) -> str:
    return "".join(f"<{message['role'][0]}>{message['content']}" for message in messages) + "<a>"


def _forced(body: dict[str, Any], chat: bool) -> list[str] | None:
    """What the model must say whatever it thinks: a tool call, JSON under a schema, an answer it knows by heart."""
    if body.get("tools"):
        text = json.dumps(example_of(body["tools"][0]["function"]["parameters"]))
    elif body.get("response_format"):
        text = json.dumps(example_of(body["response_format"]["json_schema"]["schema"]))
    elif chat and (known := known_answer(str(body["messages"][-1]["content"]))) is not None:
        text = known
    else:
        return None
    return [text[place : place + 4] for place in range(0, len(text), 4)]
