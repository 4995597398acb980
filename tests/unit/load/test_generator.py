import asyncio
import itertools
import ssl
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fakes.scripted_server import (
    DONE,
    END,
    STREAM_HEAD,
    Reply,
    Request,
    ScriptedServer,
    chunk,
    event,
    plain_stream,
    raw,
    token,
    usage,
)

from shakedown.domain.metric import CounterWindow
from shakedown.domain.workload import LoadLevel, PointPlan, Target, Workload
from shakedown.load.generator import PointResult, Progress, run_point
from shakedown.load.prompts import Prompt
from shakedown.load.stopping import PointView


class Numbered:
    """Prompts that are told apart by their number."""

    def __init__(self, output_tokens: int = 3) -> None:
        self._next = 0
        self._output_tokens = output_tokens

    def take(self, count: int) -> list[Prompt]:
        first = self._next
        self._next += count
        return [Prompt(f"prompt {number}", None, self._output_tokens) for number in range(first, self._next)]


HOOKS = ("on_progress", "should_stop", "sample_server", "workers", "stop_when")


def run(
    server: ScriptedServer,
    *,
    concurrency: int | None = 2,
    rate: float | None = None,
    requests: int = 6,
    warmup: int = 0,
    prompts: Numbered | None = None,
    **options: object,
) -> PointResult:
    settings = {key: options.pop(key) for key in ("duration_s", "ramp_to") if key in options}
    hooks = {key: options.pop(key) for key in HOOKS if key in options}
    target = Target(base_url=server.url, model="m", verify_tls=False, **options)
    plan = PointPlan(
        workload=Workload(name="w", **settings),
        level=LoadLevel(concurrency=concurrency, request_rate=rate),
        requests=requests,
        warmup_requests=warmup,
    )
    return run_point(target, plan, prompts or Numbered(), **hooks)


def test_a_good_server_is_measured_token_by_token() -> None:
    with ScriptedServer(plain_stream(3, pause_s=0.02)) as server:
        result = run(server, warmup=2)
    summary = result.summary
    assert (summary.requests, summary.ok, summary.errors) == (6, 6, {})
    assert summary.output_tokens == 18
    assert [len(record.arrivals_ns) for record in result.records] == [3] * 6
    assert all(record.sent_ns < record.arrivals_ns[0] <= record.end_ns for record in result.records)
    assert summary.itl_s is not None
    assert summary.itl_s.p50 >= 0.015
    assert [record.index for record in result.records] == sorted(record.index for record in result.records)
    assert len(server.requests) == 8


def test_warm_up_is_in_no_figure_and_prompts_are_not_sent_twice() -> None:
    with ScriptedServer(plain_stream(3)) as server:
        result = run(server, warmup=3)
    bodies = [request.body for request in server.requests]
    assert len(set(bodies)) == len(bodies) == 9
    assert result.summary.requests == 6
    assert result.summary.repeated_prompts == 0


def test_prompts_that_come_again_are_counted() -> None:
    with ScriptedServer(plain_stream(3)) as server:
        run(server, requests=4, prompts=Numbered())
        again = run(server, requests=6, prompts=Numbered())
    assert again.summary.repeated_prompts == 4


def test_no_fewer_requests_than_slots() -> None:
    with ScriptedServer(plain_stream(2)) as server:
        assert run(server, concurrency=8, requests=3).summary.requests == 8


def test_several_workers_lose_nothing() -> None:
    with ScriptedServer(plain_stream(5)) as server:
        result = run(server, concurrency=4, requests=50, workers=3)
    assert [record.index for record in result.records] == list(range(50))
    assert result.summary.output_tokens == 250
    assert result.summary.client.workers == 3


def test_open_loop_sends_when_due() -> None:
    with ScriptedServer(plain_stream(2)) as server:
        result = run(server, concurrency=None, rate=50.0, requests=20)
    records = result.records
    assert result.summary.ok == 20
    assert all(record.sent_ns >= record.scheduled_ns for record in records)
    due = [record.scheduled_ns for record in records]
    assert due == sorted(due)
    assert due[-1] > due[0]


def test_duration_ends_a_point_and_what_is_in_flight_finishes() -> None:
    with ScriptedServer(plain_stream(3, pause_s=0.02)) as server:
        result = run(server, requests=1, duration_s=0.5)
    assert result.summary.requests > 4
    assert result.summary.errors == {}
    assert 0.4 < result.summary.duration_s < 3


def test_stopping_keeps_what_was_measured() -> None:
    with ScriptedServer(plain_stream(3, pause_s=0.02)) as server:
        result = run(server, requests=10_000, should_stop=lambda: len(server.requests) > 6)
    assert result.summary.interrupted
    assert result.summary.stop_reason == "interrupted"
    assert result.summary.ok > 0
    assert result.summary.requests < 10_000


def test_a_server_that_dies_ends_the_point_early() -> None:
    def stop_later() -> None:
        while len(server.requests) < 6:
            time.sleep(0.01)
        server.stop()

    with ScriptedServer(plain_stream(3, pause_s=0.05)) as server:
        threading.Thread(target=stop_later).start()
        result = run(server, requests=10_000)
    assert result.summary.stop_reason == "server_died"
    assert result.summary.ok > 0
    assert set(result.summary.errors) <= {"connect", "broken_stream", "cancelled"}


def test_nobody_there() -> None:
    with ScriptedServer(plain_stream(1)) as server:
        pass
    result = run(server)
    assert result.summary.ok == 0
    assert result.summary.stop_reason == "server_died"
    assert result.summary.ttft_s is None
    assert result.summary.output_tokens_per_s is None


def test_progress_and_counters_are_reported() -> None:
    seen: list[Progress] = []
    readings = iter([CounterWindow(generated_tokens=100.0, running_max=1.0)])
    last = CounterWindow(generated_tokens=160.0, running_max=2.0)
    with ScriptedServer(plain_stream(10, pause_s=0.03)) as server:
        result = run(server, requests=8, on_progress=seen.append, sample_server=lambda: next(readings, last))
    assert seen[-1].done == 8
    assert result.summary.counters.generated_tokens == 60.0
    assert result.summary.counters.running_max == 2.0


def stream(*parts: bytes) -> Reply:
    """One chunk a part, each written on its own."""

    async def reply(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD)
        for part in parts:
            writer.write(chunk(part))
            await writer.drain()
            await asyncio.sleep(0.002)
        writer.write(END)

    return reply


async def _close_early(request: Request, writer: asyncio.StreamWriter) -> bool:
    writer.write(STREAM_HEAD + chunk(event(token("a"))))
    await writer.drain()
    return False


async def _stall(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(STREAM_HEAD + chunk(event(token("a"))))
    await asyncio.sleep(30)


async def _silent(request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


ERROR = b'{"error": {"message": "no room", "code": 400}}'


@pytest.mark.parametrize(
    ("reply", "error", "detail"),
    [
        (_close_early, "broken_stream", "connection lost"),
        (_stall, "timeout", "silent"),
        (_silent, "timeout", "silent"),
        (raw(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"), "http_503", "busy"),
        (raw(b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n%b" % (len(ERROR), ERROR)), "http_400", "no room"),
        (stream(event(token("a")), event({"error": {"message": "out of memory"}})), "server_error", "out of memory"),
        (stream(event(token("a")), b"data: {oops\n\n", DONE), "bad_json", "oops"),
        (stream(event(token("", "stop")), DONE), "empty", "stop"),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", keep=False), "broken_stream", "not an HTTP response"),
        (raw(STREAM_HEAD + b"zz\r\nnonsense\r\n" + b"\r\n0\r\n\r\n"), "broken_stream", "invalid literal"),
    ],
    ids=["closes", "stalls", "silent", "503", "400", "error in stream", "bad json", "empty", "not http", "bad chunk"],
)
def test_every_failure_has_its_name(reply: Reply, error: str, detail: str) -> None:
    with ScriptedServer(reply) as server:
        result = run(server, requests=2, stall_timeout_s=0.5)
    assert result.summary.errors == {error: 2}
    assert all(detail in record.error_detail for record in result.records)
    assert result.summary.ttft_s is None


def test_failures_do_not_spoil_the_others() -> None:
    good = plain_stream(3)

    async def every_third_fails(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        return await (_close_early if request.number % 3 == 0 else good)(request, writer)

    with ScriptedServer(every_third_fails) as server:
        result = run(server, requests=9, concurrency=1)
    assert result.summary.ok == 6
    assert result.summary.errors == {"broken_stream": 3}


def test_retry_after_is_kept() -> None:
    good = plain_stream(2)
    times: list[float] = []

    async def first_is_refused(request: Request, writer: asyncio.StreamWriter) -> bool | None:
        times.append(time.monotonic())
        if request.number == 0:
            writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            return None
        return await good(request, writer)

    with ScriptedServer(first_is_refused) as server:
        result = run(server, requests=2, concurrency=1)
    assert result.summary.errors == {"http_429": 1}
    assert times[1] - times[0] >= 0.95


GOOD: Sequence[tuple[str, Reply, int]] = (
    ("crlf", stream(b'data: {"choices":[{"text":"a"}]}\r\n\r\n', b"data: [DONE]\r\n\r\n"), 1),
    ("comments", stream(b": ping\n\n", event(token("a")), b": ping\n\n", event(token("b", "stop")), DONE), 2),
    ("no done", stream(event(token("a")), event(token("b", "stop"))), 2),
    ("no usage", stream(event(token("a")), event(token("b")), event(token("c", "stop")), DONE), 3),
    ("utf-8 split", stream(event(token("é"))[:42], event(token("é"))[42:], event(token("b", "stop")), DONE), 2),
    ("field split", stream(b"da", b"ta: " + event(token("a"))[6:], event(token("b", "stop")), DONE), 2),
    ("huge", stream(event(token("x" * 2_000_000)), event(token("b", "stop")), DONE), 2),
    ("several in one", stream(event(token("a")) + event(token("b")) + event(token("c", "stop")), DONE), 3),
)


@pytest.mark.parametrize(("reply", "events"), [case[1:] for case in GOOD], ids=[case[0] for case in GOOD])
def test_odd_but_valid_streams(reply: Reply, events: int) -> None:
    with ScriptedServer(reply) as server:
        result = run(server, requests=2)
    assert result.summary.errors == {}
    assert [len(record.arrivals_ns) for record in result.records] == [events] * 2
    assert result.summary.token_count == "events"


def test_trailers_end_a_stream_too() -> None:
    body = STREAM_HEAD + chunk(event(token("a", "stop"))) + chunk(DONE) + b"0\r\nX-Sum: 1\r\n\r\n"
    with ScriptedServer(raw(body)) as server:
        result = run(server, requests=2)
    assert result.summary.ok == 2


def test_http_1_0_ends_with_the_connection() -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    body = head + event(token("a")) + event(token("b", "length")) + event(usage(4, 2)) + DONE
    with ScriptedServer(raw(body, keep=False)) as server:
        result = run(server, requests=4)
    assert result.summary.ok == 4
    assert result.summary.output_tokens == 8
    assert server.connections >= 4


def test_a_kept_alive_connection_that_closes_is_replaced() -> None:
    good = plain_stream(2)

    async def closes_after_each(request: Request, writer: asyncio.StreamWriter) -> bool:
        await good(request, writer)
        return False

    with ScriptedServer(closes_after_each) as server:
        result = run(server, requests=10, concurrency=2)
    assert result.summary.errors == {}
    assert result.summary.ok == 10


def test_answers_in_one_body() -> None:
    answer = b'{"choices":[{"text":"ab","finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":7}}'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
    with ScriptedServer(raw(head + answer)) as server:
        result = run(server, requests=2, stream=False)
        assert server.requests[0].json["stream"] is False
    assert result.summary.output_tokens == 14
    assert result.summary.ttft_s is None
    assert result.summary.tpot_s is None
    assert result.summary.e2el_s is not None


def test_headers_key_body_and_prefix_reach_the_server() -> None:
    with ScriptedServer(plain_stream(1)) as server:
        target = Target(
            base_url=server.url + "/proxy/v1/",
            model="m",
            endpoint="chat",
            api_key="k",
            headers={"X-Team": "a"},
            extra_body={"top_k": 1, "temperature": None},
        )
        plan = PointPlan(workload=Workload(name="w"), level=LoadLevel(concurrency=1), requests=1)
        run_point(target, plan, Numbered())
    request = server.requests[0]
    assert request.path == "/proxy/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["x-team"] == "a"
    assert request.json["messages"] == [{"role": "user", "content": "prompt 0"}]
    assert request.json["top_k"] == 1
    assert "temperature" not in request.json
    assert request.json["ignore_eos"] is True


class Talks:
    """Sessions of three turns."""

    def take(self, count: int) -> list[Prompt]:
        return [Prompt("hello", None, 2, follow_ups=('and "then"?', "so?"), think_s=0.05) for _ in range(count)]


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_a_session_sends_what_was_said_before(endpoint: str) -> None:
    with ScriptedServer(plain_stream(2)) as server:
        target = Target(base_url=server.url, model="m", endpoint=endpoint)
        plan = PointPlan(workload=Workload(name="w"), level=LoadLevel(concurrency=1), requests=6)
        result = run_point(target, plan, Talks())
    assert result.summary.ok == 6
    assert [record.index for record in result.records] == list(range(6))
    third = server.requests[2].json
    if endpoint == "chat":
        messages = third["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "user", "assistant", "user"]
        assert [message["content"] for message in messages] == ["hello", " 0 1", 'and "then"?', " 0 1", "so?"]
    else:
        assert third["prompt"] == 'hello 0 1\n\nand "then"? 0 1\n\nso?'
    first, second = result.records[:2]
    assert second.scheduled_ns - first.end_ns == 50_000_000
    assert second.sent_ns >= second.scheduled_ns - 1_000_000  # the event loop counts in milliseconds


def test_a_trace_is_replayed_by_its_own_times() -> None:
    class Trace:
        def take(self, count: int) -> list[Prompt]:
            self.sent = getattr(self, "sent", 0)
            out = [Prompt(f"p{self.sent + k}", None, 2, at_s=0.1 * (self.sent + k)) for k in range(count)]
            self.sent += count
            return out

    with ScriptedServer(plain_stream(2)) as server:
        plan = PointPlan(workload=Workload(name="w"), level=LoadLevel(), requests=4)
        result = run_point(Target(base_url=server.url, model="m"), plan, Trace())
    due = [record.scheduled_ns for record in result.records]
    assert [later - due[0] for later in due] == [0, 100_000_000, 200_000_000, 300_000_000]
    assert result.summary.request_rate is None


def test_a_ramp_changes_its_rate() -> None:
    with ScriptedServer(plain_stream(1)) as server:
        result = run(server, concurrency=None, rate=5.0, requests=1, duration_s=1.0, ramp_to=25.0)
    due = [record.scheduled_ns for record in result.records]
    gaps = [later - earlier for earlier, later in itertools.pairwise(due)]
    assert len(due) == 16
    assert gaps == sorted(gaps, reverse=True)


def test_a_condition_ends_the_point_with_its_reason() -> None:
    class AfterFive:
        cuts = False

        def look(self, view: PointView) -> str | None:
            return "interval" if len(view.finished) >= 5 else None

    with ScriptedServer(plain_stream(2, pause_s=0.02)) as server:
        result = run(server, requests=10_000, stop_when=[AfterFive()])
    assert result.summary.stop_reason == "interval"
    assert result.summary.errors == {}
    assert not result.summary.interrupted
    assert result.summary.ok >= 5


def test_tls_with_a_certificate_of_its_own(tmp_path: Path) -> None:
    certificate = tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-days", "2",
         "-keyout", str(certificate), "-out", str(tmp_path / "crt.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    certificate.write_text(certificate.read_text() + (tmp_path / "crt.pem").read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with ScriptedServer(plain_stream(3), tls=context) as server:
        trusting = run(server, requests=4)
        refusing = run_point(
            Target(base_url=server.url, model="m"),
            PointPlan(workload=Workload(name="w"), level=LoadLevel(concurrency=1), requests=1),
            Numbered(),
        )
    assert trusting.summary.ok == 4
    assert set(refusing.summary.errors) == {"connect"}
    assert "certificate" in refusing.records[0].error_detail
