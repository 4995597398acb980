"""Logs a result to MLflow: a run for the campaign, a nested run for each candidate."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shakedown.domain.errors import ShakedownError, UserError
from shakedown.domain.metric import Distribution, PointSummary
from shakedown.domain.result import CampaignResult, CandidateResult
from shakedown.report import html, json_, sentences

_RATES = ("output_tokens_per_s", "per_request_tokens_per_s", "requests_per_s", "goodput_requests_per_s",
          "accept_length", "draft_acceptance_rate")  # fmt: skip
_LATENCIES = ("ttft_s", "itl_s", "tpot_s", "e2el_s")
_STATISTICS = ("mean", "p50", "p90", "p99", "max")
_LONGEST_PARAM = 6000
"""What MLflow's stores take of a parameter's value."""


def log(result: CampaignResult, tracking_uri: str, experiment: str) -> str:
    """Log a result and return the id of the campaign's run.

    The campaign's run holds the verdict, ``result.json`` and the page; a candidate's run its arguments and environment
    as parameters, verdict and standing as tags, and each figure as a metric named ``workload.figure`` whose step is the
    concurrency (for a request rate: requests per 1000 s). Repeats are logged one after another under the same step.

    Raises:
        UserError: MLflow is not installed.
        ShakedownError: the tracking server refuses.
    """
    try:
        import mlflow
        from mlflow.exceptions import MlflowException
    except ImportError as error:
        raise UserError("MLflow is not installed: pip install 'llm-shakedown[mlflow]'") from error
    try:
        mlflow.set_tracking_uri(tracking_uri)
        mlflow.set_experiment(experiment)
        with mlflow.start_run(run_name=result.campaign.name) as campaign:
            first, second = sentences.verdict(result)
            mlflow.set_tags({"verdict": f"{first} {second}", "winner": result.winner.label if result.winner else ""})
            mlflow.log_text(json_.dump(result), "result.json")
            mlflow.log_text(html.render(result), "report.html")
            for candidate in result.candidates:
                with mlflow.start_run(run_name=candidate.label or candidate.id, nested=True):
                    mlflow.set_tags(_tags(candidate))
                    mlflow.log_params(_params(candidate))
                    for name, value, step in _metrics(candidate):
                        mlflow.log_metric(name, value, step=step)
            return str(campaign.info.run_id)
    except MlflowException as error:
        raise ShakedownError(f"{tracking_uri}: MLflow refuses the result: {error}") from error


def _tags(candidate: CandidateResult) -> dict[str, str]:
    standing = candidate.standing.status.value if candidate.standing else ""
    return {
        "candidate": candidate.id,
        "verdict": candidate.verdict.value,
        "standing": standing,
        "reason": candidate.reason,
        "command": candidate.command or "",
    }


def _params(candidate: CandidateResult) -> dict[str, str]:
    given = {**candidate.args, **{f"env.{name}": value for name, value in candidate.env.items()}}
    return {_name(name): str(value)[:_LONGEST_PARAM] for name, value in given.items()}


def _metrics(candidate: CandidateResult) -> Iterator[tuple[str, float, int]]:
    if candidate.objective is not None:
        yield "ratio_to_reference", candidate.objective, 0
    if candidate.boot_s is not None:
        yield "boot_s", candidate.boot_s, 0
    for point in candidate.points:
        step = point.concurrency if point.concurrency is not None else round((point.request_rate or 0.0) * 1000)
        for figure, value in _figures(point):
            yield _name(f"{point.workload}.{figure}"), value, step


def _figures(point: PointSummary) -> Iterator[tuple[str, float]]:
    for name in _RATES:
        if (value := getattr(point, name)) is not None:
            yield name, value
    for name in _LATENCIES:
        distribution: Distribution | None = getattr(point, name)
        for statistic in _STATISTICS if distribution is not None else ():
            if (value := getattr(distribution, statistic)) is not None:
                yield f"{name}.{statistic}", value


def _name(text: str) -> str:
    """A name as MLflow allows it."""
    return re.sub(r"[^\w\-. /]", "_", text)
