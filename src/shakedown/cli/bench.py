"""``shakedown bench``: the load generator on any OpenAI-compatible server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shakedown.cli.bench_options import (
    parse_extra_body,
    parse_headers,
    parse_levels,
    parse_percent,
    parse_search,
    parse_seconds,
    parse_slo,
)
from shakedown.cli.bench_view import BenchView
from shakedown.domain.errors import ClientError, UserError
from shakedown.domain.workload import Arrival, Target, Workload

NOTHING_MEASURED = 3
INTERRUPTED = 130


def command(
    *,
    base_url: Annotated[str, typer.Option(help="Server to load, with or without /v1.", show_default=False)],
    model: Annotated[str, typer.Option(help="Name of the model; the server's first one if left out.")] = "",
    prompts: Annotated[
        str,
        typer.Option(
            help="Sources, with commas between: text, text:prose|code|chat, repeating, random-tokens, sharegpt:FILE, "
            "jsonl:FILE, trace:FILE."
        ),
    ] = "text",
    input_tokens: Annotated[int, typer.Option(min=1, help="Tokens of each prompt.")] = 512,
    output_tokens: Annotated[int, typer.Option(min=1, help="Tokens asked of each answer.")] = 128,
    concurrency: Annotated[str | None, typer.Option(help="Closed loop: requests in flight, as in 1,4,16.")] = None,
    request_rate: Annotated[str | None, typer.Option(help="Open loop: requests per second, as in 1,2.5,inf.")] = None,
    arrival: Annotated[Arrival, typer.Option(help="Law of the gaps of an open loop.")] = Arrival.POISSON,
    burstiness: Annotated[float, typer.Option(help="Shape of the gamma law; below 1 is burstier than Poisson.")] = 1.0,
    requests: Annotated[int | None, typer.Option(min=1, help="Measured requests of each point.")] = None,
    duration: Annotated[str | None, typer.Option(help="Length of each point, as in 60s or 5m.")] = None,
    warmup: Annotated[int | None, typer.Option(min=0, help="Requests before each point, not measured.")] = None,
    ramp_to: Annotated[
        float | None, typer.Option(help="Rate at the end of each point; needs --request-rate and --duration.")
    ] = None,
    until_interval: Annotated[
        str | None, typer.Option(help="End a point once its mean latency is known to this half-width, as in 2%.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(help="Find the highest concurrency or request-rate that keeps --slo.")
    ] = None,
    search_limit: Annotated[float, typer.Option(help="Highest level that a search tries.")] = 1024,
    repeats: Annotated[int, typer.Option(min=1, help="Times that each level is measured.")] = 1,
    slo: Annotated[str | None, typer.Option(help="Limits, as in ttft_p99=2s,tpot_p99=50ms.")] = None,
    endpoint: Annotated[str, typer.Option(help="completions or chat.")] = "completions",
    stream: Annotated[bool, typer.Option(help="Ask for a stream; without it only latency as a whole.")] = True,
    ignore_eos: Annotated[bool, typer.Option(help="Ask for exactly the output tokens.")] = True,
    api_key: Annotated[
        str | None, typer.Option(envvar="SHAKEDOWN_API_KEY", help="Sent as a bearer token.", show_default=False)
    ] = None,
    header: Annotated[list[str] | None, typer.Option(help="Further header, as in 'X-Team: a'; repeatable.")] = None,
    extra_body: Annotated[str | None, typer.Option(help="JSON object added to every request.")] = None,
    tokenizer: Annotated[str | None, typer.Option(help="tokenizer.json or its folder, for exact lengths.")] = None,
    insecure: Annotated[bool, typer.Option(help="Accept any TLS certificate.")] = False,
    timeout: Annotated[str, typer.Option(help="Limit of one request.")] = "600s",
    stall_timeout: Annotated[str, typer.Option(help="Limit of silence within a stream.")] = "120s",
    workers: Annotated[int | None, typer.Option(min=1, help="Processes that send.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of prompts and gaps.")] = 0,
    json_output: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for result.json and Parquet of every request.")] = None,
) -> None:
    """Measure a running server under load.

    Example: shakedown bench --base-url http://127.0.0.1:8000 --concurrency 1,4,16 --requests 64
    """
    from shakedown.load.bench import BenchOptions, BenchWatch, run_bench

    target = Target(
        base_url=base_url,
        model=model,
        endpoint=_endpoint(endpoint),
        api_key=api_key,
        headers=parse_headers(header or []),
        extra_body=parse_extra_body(extra_body),
        request_timeout_s=parse_seconds("--timeout", timeout),
        stall_timeout_s=parse_seconds("--stall-timeout", stall_timeout),
        verify_tls=not insecure,
        stream=stream,
    )
    sources = tuple(word.strip() for word in prompts.split(","))
    slots, rates = parse_levels(concurrency, request_rate, by_trace=any(word.startswith("trace:") for word in sources))
    if ramp_to is not None and (not rates or not duration):
        raise UserError("--ramp-to: needs the rate to start from (--request-rate) and the time it takes (--duration)")
    workload = Workload(
        name="bench",
        prompts=sources,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        concurrency=slots,
        request_rate=rates,
        arrival=arrival,
        burstiness=burstiness,
        ramp_to=ramp_to,
        requests=requests,
        duration_s=parse_seconds("--duration", duration) if duration else None,
        warmup_requests=warmup,
        repeats=repeats,
        slo=parse_slo(slo),
        ignore_eos=ignore_eos,
        seed=seed,
    )
    options = BenchOptions(
        tokenizer_file=tokenizer,
        workers=workers,
        search=parse_search(search, workload.slo),
        search_limit=search_limit,
        until_interval=parse_percent("--until-interval", until_interval) if until_interval else None,
    )
    view = BenchView(json_output=json_output, out=out)
    watch = BenchWatch(view.server, view.point_start, view.progress, view.point)
    try:
        with view:
            result = run_bench(target, workload, options=options, watch=watch)
    except ClientError as error:
        sys.stderr.write(f"{base_url}: {error}. Is the server running, and is this its address?\n")
        raise typer.Exit(NOTHING_MEASURED) from error
    view.finish(result)
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not any(point.ok for point in result.points):
        raise typer.Exit(NOTHING_MEASURED)


def _endpoint(word: str) -> str:
    if word not in {"completions", "chat"}:
        raise UserError(f"--endpoint {word!r}: expected completions or chat")
    return word
