"""The server under test as the checks see it: one thread-safe HTTP client that reads answers without mending them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

import httpx

from shakedown.checks.answer import Answer, read_answer, read_stream
from shakedown.client.transport import Transport
from shakedown.domain.errors import ClientError
from shakedown.domain.workload import Target
from shakedown.engines.base import Probe


class RefusedError(ClientError):
    """The server answered with a status of 400 to 499: it does not know the request, or will not do it."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class StoppedError(Exception):
    """The caller asked to stop; nothing is known about the server."""


class Server:
    """Sends requests to ``target``; every method raises ClientError when no usable answer comes.

    Args:
        target: where, which model, how long to wait.
        should_stop: asked before every request; True raises StoppedError.
    """

    def __init__(self, target: Target, should_stop: Callable[[], bool] | None = None) -> None:
        headers = {"Authorization": f"Bearer {target.api_key}"} if target.api_key else {}
        self.target = target
        self._completes = target.endpoint == "completions"
        self._should_stop = should_stop or (lambda: False)
        self._http = httpx.Client(
            base_url=target.base_url.rstrip("/"),
            headers=headers | target.headers,
            timeout=target.request_timeout_s,
            transport=Transport(verify_tls=target.verify_tls),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._http.close()

    def completion(self, prompt: Sequence[int], **fields: object) -> Answer:
        """Ask ``/v1/completions`` for one answer to token ids."""
        return self.post("/v1/completions", {"prompt": list(prompt), **fields})

    def chat(self, messages: Sequence[Mapping[str, object]], **fields: object) -> Answer:
        """Ask ``/v1/chat/completions`` for one answer."""
        return self.post("/v1/chat/completions", {"messages": list(messages), **fields})

    def generate(self, prompt: str, **fields: object) -> Answer:
        """Continue ``prompt``: as text where the server completes text, else as a chat with one message.

        ``logprobs`` is a number of alternatives, whichever of the two it becomes.
        """
        return self._either(prompt, fields, self.post)

    def generate_within(self, timeout_s: float, prompt: str, **fields: object) -> Answer:
        """As ``generate``, with its own time limit."""
        return self._either(prompt, fields, lambda path, body: self.post(path, body, timeout_s=timeout_s))

    def stream_text(
        self, prompt: str, *, stop_after: int | None = None, timeout_s: float | None = None, **fields: object
    ) -> Answer:
        """As ``generate``, streamed."""
        return self._either(
            prompt, fields, lambda path, body: self.stream(path, body, stop_after=stop_after, timeout_s=timeout_s)
        )

    def _either(
        self, prompt: str, fields: Mapping[str, object], send: Callable[[str, Mapping[str, object]], Answer]
    ) -> Answer:
        if self._completes:
            try:
                return send("/v1/completions", {"prompt": prompt, **fields})
            except RefusedError as error:
                if error.status not in (404, 405, 501):
                    raise
                self._completes = False
        body = {"messages": [{"role": "user", "content": prompt}], **fields}
        if "logprobs" in fields:
            body |= {"top_logprobs": fields["logprobs"], "logprobs": True}
        return send("/v1/chat/completions", body)

    def stream(
        self,
        path: str,
        fields: Mapping[str, object],
        *,
        stop_after: int | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Ask for a stream and join it; with ``stop_after`` the connection is dropped after that many events."""
        body = self._body({"stream": True, "stream_options": {"include_usage": True}} | dict(fields))
        self._guard()
        try:
            with self._http.stream("POST", path, json=body, timeout=self._limit(timeout_s)) as response:
                if response.is_error:
                    response.read()
                    raise _refusal("POST", path, response)
                return read_stream(response.iter_bytes(), stop_after)
        except httpx.HTTPError as error:
            raise ClientError(f"POST {path}: {type(error).__name__}: {error}") from error

    def probe(self, probe: Probe) -> dict[str, object]:
        """Send a request that an engine adapter built."""
        raw = self._post(probe.path, probe.body, None) if probe.method == "POST" else self._get(probe.path)
        return _object(raw, probe.path)

    def get(self, path: str) -> dict[str, object] | None:
        """JSON object of a GET, or None when there is no such thing here."""
        try:
            return _object(self._get(path), path)
        except ClientError:
            return None

    def list_models(self) -> list[tuple[str, str]]:
        """Name and owner of every model in ``/v1/models``; empty where the server has no such list.

        Raises:
            ClientError: if nobody answers.
        """
        try:
            listed = _object(self._get("/v1/models"), "/v1/models").get("data")
        except RefusedError:
            return []
        models = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
        return [(str(item.get("id", "")), str(item.get("owned_by", ""))) for item in models]

    def text(self, path: str) -> str:
        """Body of a GET as text."""
        return self._get(path).decode("utf-8", "replace")

    def flush(self, probe: Probe) -> None:
        """Send a request whose answer is of no interest."""
        self._send(probe.method, probe.path, probe.body, None)

    def tokenize(self, text: str, *, special: bool) -> list[int] | None:
        """Token ids of ``text``, or None where the server has no tokenizer endpoint.

        One body serves all engines: llama.cpp reads ``content`` and ``add_special``; vLLM and SGLang read ``model``,
        ``prompt`` and ``add_special_tokens``. With ``special`` the model's own first token is put in front, as it is
        before a prompt given as text.
        """
        body = {
            "content": text,
            "prompt": text,
            "model": self.target.model,
            "add_special": special,
            "add_special_tokens": special,
        }
        try:
            ids = _object(self._post("/tokenize", body, None), "/tokenize").get("tokens")
        except RefusedError:
            return None
        if not isinstance(ids, list) or not all(isinstance(token, int) for token in ids):
            return None
        return ids

    def post(self, path: str, fields: Mapping[str, object], *, timeout_s: float | None = None) -> Answer:
        """Ask any generation endpoint, with its own time limit."""
        return read_answer(self._post(path, self._body(fields), timeout_s))

    def _body(self, fields: Mapping[str, object]) -> dict[str, object]:
        return {"model": self.target.model} | self.target.extra_body | dict(fields)

    def _get(self, path: str) -> bytes:
        return self._send("GET", path, None, None)

    def _post(self, path: str, body: Mapping[str, object] | None, timeout_s: float | None) -> bytes:
        return self._send("POST", path, body, timeout_s)

    def _limit(self, timeout_s: float | None) -> float:
        return self.target.request_timeout_s if timeout_s is None else timeout_s

    def _guard(self) -> None:
        if self._should_stop():
            raise StoppedError

    def _send(self, method: str, path: str, body: Mapping[str, object] | None, timeout_s: float | None) -> bytes:
        self._guard()
        try:
            response = self._http.request(method, path, json=body, timeout=self._limit(timeout_s))
        except httpx.HTTPError as error:
            raise ClientError(f"{method} {path}: {type(error).__name__}: {error}") from error
        if response.is_error:
            raise _refusal(method, path, response)
        return response.content


def _refusal(method: str, path: str, response: httpx.Response) -> ClientError:
    message = f"{method} {path}: HTTP {response.status_code}: {response.text[:300]}"
    return RefusedError(message, response.status_code) if response.is_client_error else ClientError(message)


def _object(raw: bytes, path: str) -> dict[str, object]:
    try:
        answer = json.loads(raw.decode("utf-8", "replace"))
    except ValueError as error:
        raise ClientError(f"{path}: not JSON: {raw[:200]!r}") from error
    if not isinstance(answer, dict):
        raise ClientError(f"{path}: expected a JSON object, got {type(answer).__name__}")
    return answer
