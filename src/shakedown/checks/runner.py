"""Runs the ladder: from cheap to thorough, stopping at the first check that fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shakedown.checks.base import CannotTellError, Check, Context, Outcome, failed, skipped
from shakedown.checks.reference import read_reference, write_reference
from shakedown.checks.registry import checks_for
from shakedown.checks.server import Server, StoppedError
from shakedown.client.clock import now_ns
from shakedown.domain.check import CheckReport, CheckResult
from shakedown.domain.errors import ClientError, UserError
from shakedown.domain.trial import Gates
from shakedown.domain.words import CheckVerdict
from shakedown.domain.workload import Target
from shakedown.engines.base import Engine


def run_checks(
    target: Target,
    engine: Engine | None,
    gates: Gates,
    *,
    on_result: Callable[[CheckResult], None],
    should_stop: Callable[[], bool] | None = None,
) -> CheckReport:
    """Run every check of ``gates.level`` against ``target`` until one fails.

    A failed check is a result. With ``gates.write_reference`` the reference file is written once all have passed; with
    only ``gates.reference_file`` it is read and compared with.

    Args:
        target: where the server is.
        engine: its adapter; None for an unknown server, whose engine-specific checks are skipped.
        gates: level, limit, reference.
        on_result: called with each result as it comes.
        should_stop: asked before every request; once True the report holds what was finished and is ``skipped``
            unless something had failed.

    Raises:
        UserError: if the reference file cannot be used.
    """
    path = Path(gates.reference_file) if gates.reference_file is not None else None
    if gates.write_reference and path is None:
        raise UserError("write_reference is set and reference_file is not: name the file to write")
    reading = path is not None and not gates.write_reference
    results: list[CheckResult] = []
    stopped = False
    with Server(target, should_stop) as server:
        context = Context(
            server=server,
            engine=engine,
            gates=gates,
            reference=read_reference(path, target.model) if path is not None and reading else None,
            draft={} if gates.write_reference else None,
        )
        for check in checks_for(gates.level):
            try:
                result = _run(check, context)
            except StoppedError:
                stopped = True
                break
            if should_stop is not None and should_stop():  # the server may have been stopped under the check
                stopped = True
                break
            results.append(result)
            on_result(result)
            if result.verdict is CheckVerdict.FAIL:
                break
    report = CheckReport(checks=tuple(results), verdict=_verdict(results, stopped=stopped))
    if path is not None and context.draft is not None and report.verdict is CheckVerdict.PASS:
        write_reference(
            path, model=target.model, level=gates.level, context_tokens=gates.context_tokens, parts=context.draft
        )
    return report


def _run(check: Check, context: Context) -> CheckResult:
    begun = now_ns()
    if check.name in context.gates.skip:
        return _result(check, skipped("not asked: the campaign or the caller leaves it out"), 0.0)
    try:
        outcome = check.run(context)
    except CannotTellError as error:
        outcome = skipped(str(error))
    except ClientError as error:
        outcome = failed(f"the server gave no usable answer: {error}", error=str(error))
    return _result(check, outcome, (now_ns() - begun) / 1e9)


def _result(check: Check, outcome: Outcome, seconds: float) -> CheckResult:
    return CheckResult(
        name=check.name,
        verdict=outcome.verdict,
        summary=outcome.summary,
        evidence=dict(outcome.evidence),
        seconds=seconds,
        fails_as=check.fails_as,
    )


def _verdict(results: list[CheckResult], *, stopped: bool) -> CheckVerdict:
    verdicts = {result.verdict for result in results}
    if CheckVerdict.FAIL in verdicts:
        return CheckVerdict.FAIL
    return CheckVerdict.PASS if CheckVerdict.PASS in verdicts and not stopped else CheckVerdict.SKIPPED
