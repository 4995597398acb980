"""A server that plays known faults of inference engines, one at a time, over real HTTP; without a fault it is clean.

It speaks the OpenAI endpoints, llama.cpp's ``/completion`` and ``/tokenize``, and vLLM's ``prompt_logprobs``.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from tests.fakes.toy_model import BANG, FIRST_BYTE, FIRST_WORD, ToyModel, example_of, known_answer

FAULTS = (
    "exclamation",
    "empty",
    "nan_logprobs",
    "nan_after_prefix_hit",
    "wrong_in_mixed_batch",
    "crash_with_two",
    "drift_beyond_4000",
    "one_answer",
    "tool_json_with_several_tokens",
    "schema_ignored",
    "cut_utf8",
    "raw_utf8",
    "usage_off_by_one",
    "slot_leak",
    "wrong_stop_reason",
    "stream_drops_pieces",
    "reasoning_in_text",
    "other_template",
    "stale_state_while_decoding",
    "short_context",
    "forgot_its_tasks",
    "one_word",
)
BATCHING = ("wrong_in_mixed_batch", "crash_with_two")
"""Faults that depend on how many requests the server computes together."""
BATCH_S = 0.1
"""A batch that forms is closed when no request has come for this long, however slow the machine: never by a clock."""


@dataclass
class FaultyServer:
    """``with FaultyServer(fault="cut_utf8") as server: server.url``."""

    fault: str | None = None
    slots: int = 64
    context_tokens: int = 100_000
    noise: float = 0.0
    reasons: bool = False
    owner: str = "toy"
    props: bool = True
    port: int = 0
    pause_s: float = 0.001
    """Between two events of a stream."""
    running: int = 0
    peak: int = 0
    joined: int = 0
    seen: set[tuple[int, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        assert self.fault is None or self.fault in FAULTS, self.fault
        self.model = ToyModel(self.noise, 4000 if self.fault == "drift_beyond_4000" else None)
        self.free = threading.Semaphore(self.slots)
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self), bind_and_activate=False)
        self.http.request_queue_size = 128
        self.http.daemon_threads = True
        self.http.block_on_close = False
        self.http.server_bind()
        self.http.server_activate()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def __enter__(self) -> Self:
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    @contextlib.contextmanager
    def slot(self) -> Iterator[int]:
        """Hold a slot; give the most requests that ran while the batch formed."""
        self.free.acquire()
        with self.lock:
            self.running += 1
            self.joined += 1
            self.peak = max(self.peak, self.running)
        leaked = False
        try:
            if self.fault in BATCHING:
                self.await_batch()
            yield self.peak if self.fault in BATCHING else self.running
        except OSError:
            leaked = self.fault == "slot_leak"
            raise
        finally:
            if not leaked:
                with self.lock:
                    self.running -= 1
                    self.peak = self.peak if self.running else 0
                self.free.release()

    def await_batch(self) -> None:
        """Wait until no further request joins."""
        known = 0
        while known != self.joined:
            known = self.joined
            time.sleep(BATCH_S)


@dataclass
class Generated:
    ids: list[int]
    logprobs: list[float]
    tops: list[dict[int, float]]


def generate(server: FaultyServer, prompt: list[int], body: dict[str, object], together: int) -> Generated:
    model, fault = server.model, server.fault
    top = int(body.get("top_logprobs") or body.get("logprobs") or body.get("n_probs") or 0)
    count = int(body.get("max_tokens") or body.get("n_predict") or 16)
    draw = random.Random(f"{body.get('seed')} {prompt[-8:]}")
    prefix = tuple(prompt[:16])
    hit = prefix in server.seen
    server.seen.add(prefix)
    broken = fault == "exclamation" or (fault == "nan_after_prefix_hit" and hit)
    not_a_number = fault == "nan_logprobs" or (fault == "nan_after_prefix_hit" and hit)
    made = Generated([], [], [])
    text = list(model.encode("always the same")) if fault == "one_answer" else list(prompt)
    if fault == "one_answer":
        draw = random.Random(1)
    wide = any(token > 128 + FIRST_BYTE for token in prompt[-80:] if token < FIRST_WORD)
    salt = 1 if fault == "wrong_in_mixed_batch" and together > 32 else 0
    for step in range(0 if fault == "empty" else count):
        logprobs = model.next_logprobs(text, 2 if fault == "stale_state_while_decoding" and step else salt, wide=wide)
        token = BANG if broken else model.choose(logprobs, float(body.get("temperature", 1.0)), draw)
        if fault == "one_word":
            token = made.ids[0] if made.ids else token
        tops = model.top(logprobs, max(top, 1))
        text.append(token)
        made.ids.append(token)
        made.logprobs.append(math.nan if not_a_number else float(logprobs[token - FIRST_WORD]) if token else -0.01)
        made.tops.append(dict.fromkeys(tops, math.nan) if not_a_number else tops)
    return made


def _handler(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
    model, fault = server.model, server.fault

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with contextlib.suppress(OSError):  # a client that has gone away
                super().handle()

        def reply(self, document: object, status: int = 200) -> None:
            data = json.dumps(document, ensure_ascii=False).encode()
            if fault == "raw_utf8":
                data = data.replace("本".encode(), "本".encode()[:2])
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            if self.path == "/health":
                self.reply({"status": "ok"})
            elif self.path == "/v1/models":
                self.reply({"data": [{"id": "toy", "owned_by": server.owner}]})
            elif self.path == "/props" and server.props:
                length = 64 if fault == "short_context" else server.context_tokens
                self.reply({"total_slots": server.slots, "default_generation_settings": {"n_ctx": length}})
            elif self.path == "/metrics":
                data = f"llamacpp:requests_processing {server.running}\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            else:
                self.reply({"error": "not found"}, 404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/tokenize":
                self.reply({"tokens": model.encode(body["content"])})
                return
            if self.path not in ("/completion", "/v1/completions", "/v1/chat/completions"):
                self.reply({"error": "not found"}, 404)
                return
            with server.slot() as together:
                if fault == "crash_with_two" and together == 2:
                    self.reply({"error": "assertion failed: batch size"}, 500)
                elif self.path == "/completion":
                    self.llama(body, generate(server, body["prompt"], body, together))
                else:
                    self.openai(body, together)

        def llama(self, body: dict[str, object], made: Generated) -> None:
            top = [{"id": token, "logprob": value} for token, value in made.tops[0].items()]
            row = {"id": made.ids[0], "logprob": made.logprobs[0], "top_logprobs": top}
            self.reply({"completion_probabilities": [row]})

        def openai(self, body: dict[str, object], together: int) -> None:
            chat = self.path.endswith("chat/completions")
            prompt = render(body["messages"], fault) if chat else body["prompt"]
            ids = model.encode(prompt) if isinstance(prompt, str) else prompt
            made = generate(server, ids, body, together)
            said = self.pieces(body, made, chat)
            finish = "stop" if said.forced or fault == "wrong_stop_reason" else "length"
            usage = {"prompt_tokens": len(ids), "completion_tokens": len(made.ids) + (fault == "usage_off_by_one")}
            if body.get("stream"):
                self.stream(said, chat, finish, usage)
                return
            choice: dict[str, object] = {"index": 0, "finish_reason": finish}
            text = b"".join(said.text).decode("utf-8", "replace")
            if chat:
                choice["message"] = {"role": "assistant", "content": text, "reasoning_content": said.reasoning}
                if said.call:
                    choice["message"]["tool_calls"] = [
                        {"function": {"name": said.tool, "arguments": "".join(said.call)}}
                    ]
            else:
                choice["text"] = text
            if body.get("logprobs"):
                choice["logprobs"] = legacy(made) if body.get("return_tokens_as_token_ids") else listed(made, model)
            if "prompt_logprobs" in body:
                choice |= self.prompt_logprobs(ids, int(body["prompt_logprobs"]))
            self.reply({"object": "x", "choices": [choice], "usage": usage})

        def prompt_logprobs(self, ids: list[int], top: int) -> dict[str, object]:
            rows: list[object] = [None]
            for place in range(1, len(ids)):
                logprobs = model.next_logprobs(ids[:place] if place < 8 else _Tail(ids, place))
                tops = model.top(logprobs, top)
                own = ids[place] - FIRST_WORD
                tops.setdefault(ids[place], float(logprobs[own]) if own >= 0 else -20.0)
                rows.append({str(token): {"logprob": value} for token, value in tops.items()})
            return {"prompt_token_ids": ids, "prompt_logprobs": rows}

        def pieces(self, body: dict[str, object], made: Generated, chat: bool) -> Said:
            said = Said([model.piece(token) for token in made.ids])
            last = body["messages"][-1]["content"] if chat else ""
            known = known_answer(last) if fault != "forgot_its_tasks" else None
            if body.get("tools"):
                function = body["tools"][0]["function"]
                text = json.dumps(example_of(function["parameters"]))
                said = Said([], [text[i : i + 4] for i in range(0, len(text), 4)], function["name"], forced=True)
            elif body.get("response_format") and fault != "schema_ignored":
                text = json.dumps(example_of(body["response_format"]["json_schema"]["schema"]))
                said = Said([text.encode()], forced=True)
            elif known is not None:
                said = Said([known.encode()], forced=True)
            if chat and server.reasons:
                if fault == "reasoning_in_text":
                    said.text.insert(0, b"</think>")
                said.reasoning = "Let me think."
            return said

        def stream(self, said: Said, chat: bool, finish: str, usage: dict[str, object]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            if said.reasoning:
                self.event({"delta": {"reasoning_content": said.reasoning}})
            for start in range(0, len(said.call), 3):
                several = said.call[start : start + 3]
                arguments = several[0] if fault == "tool_json_with_several_tokens" else "".join(several)
                function = {"arguments": arguments} | ({} if start else {"name": said.tool})
                self.event({"delta": {"tool_calls": [{"index": 0, "function": function}]}})
            for number, text in enumerate(streamed_text(said.text, cut=fault == "cut_utf8")):
                if fault == "stream_drops_pieces" and number % 4 == 3:
                    continue
                self.event({"delta": {"content": text}} if chat else {"text": text})
                time.sleep(server.pause_s)
            self.event({"delta": {}, "finish_reason": finish})
            self.event(None, usage)
            self.wfile.write(b"data: [DONE]\n\n")

        def event(self, choice: dict[str, object] | None, usage: dict[str, object] | None = None) -> None:
            document = {"choices": [] if choice is None else [{"index": 0, **choice}], "usage": usage}
            self.wfile.write(f"data: {json.dumps(document, ensure_ascii=False)}\n\n".encode())
            self.wfile.flush()

    return Handler


@dataclass
class Said:
    text: list[bytes]
    call: list[str] = field(default_factory=list)
    tool: str = ""
    forced: bool = False
    """Ended by itself, not by the token limit."""
    reasoning: str = ""


class _Tail(list):
    """The end of a long prefix, which is all the model reads, with the length of the whole."""

    def __init__(self, ids: list[int], length: int) -> None:
        super().__init__(ids[length - 6 : length])
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: object) -> object:
        return list(self) if isinstance(place, slice) else super().__getitem__(place)


def render(messages: list[dict[str, str]], fault: str | None) -> str:
    if fault == "other_template":
        return "".join(f"[{m['role']}] {m['content']} [/{m['role']}]\n" for m in messages)
    return "".join(f"<{m['role'][0]}>{m['content']}" for m in messages) + "<a>"


def streamed_text(pieces: list[bytes], *, cut: bool) -> list[str]:
    """Whole characters per event, as an engine must; or each four bytes decoded alone, as a faulty one does."""
    if not cut:
        return [piece.decode("utf-8", "replace") for piece in pieces]
    data = b"".join(pieces)
    return [data[i : i + 4].decode("utf-8", "replace") for i in range(0, len(data), 4)]


def listed(made: Generated, model: ToyModel) -> dict[str, object]:
    """The chat shape, with llama.cpp's ids."""
    rows = zip(made.ids, made.logprobs, made.tops, strict=True)
    return {
        "content": [
            {
                "id": token,
                "token": model.piece(token).decode("utf-8", "replace"),
                "logprob": value,
                "top_logprobs": [
                    {"id": other, "token": str(other), "logprob": alternative} for other, alternative in top.items()
                ],
            }
            for token, value, top in rows
        ]
    }


def legacy(made: Generated) -> dict[str, object]:
    """The completions shape, with vLLM's ``token_id:`` names."""
    return {
        "tokens": [f"token_id:{token}" for token in made.ids],
        "token_logprobs": made.logprobs,
        "top_logprobs": [{f"token_id:{token}": value for token, value in top.items()} for top in made.tops],
    }
