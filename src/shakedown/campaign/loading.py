"""The load stage of a trial: one point after another, each with its records kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from shakedown.client.clock import wall_time
from shakedown.client.control import ControlClient
from shakedown.domain.errors import ClientError
from shakedown.domain.events import Event, PointFinished, PointProgress, PointStarted
from shakedown.domain.metric import CounterWindow, PointSummary
from shakedown.domain.trial import TrialRequest
from shakedown.domain.workload import PointPlan, Target
from shakedown.engines.base import Engine
from shakedown.load.generator import Progress, run_point
from shakedown.load.pool import WorkerPool
from shakedown.load.prompts import PromptSource, prompt_source
from shakedown.load.records import records_name, write_parquet
from shakedown.load.server import fit_target
from shakedown.load.tokenizers import find_tokenizer


class LoadStage:
    """Measures the load points of one trial.

    Every candidate gets the same prompts in the same order (their salt is the workload's name alone), so that
    candidates differ in nothing but themselves; within a server's life no prompt comes twice.
    """

    def __init__(
        self,
        request: TrialRequest,
        target: Target,
        engine: Engine,
        emit: Callable[[Event], None],
        should_stop: Callable[[], bool],
    ) -> None:
        self._folder = Path(request.folder)
        self._target = fit_target(target, engine.kind)
        self._engine = engine
        self._emit = emit
        self._should_stop = should_stop
        self._control = ControlClient(target.base_url, api_key=target.api_key, timeout_s=5.0)
        self._tokenizer = find_tokenizer(self._control, target.model, None, endpoint=target.endpoint)
        self._sources: dict[str, PromptSource] = {}
        self._pool = WorkerPool()
        self._server_env = request.candidate.env

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.close()
        self._control.close()

    def measure(self, plan: PointPlan) -> PointSummary:
        """Measure one point and emit its events."""
        workload, level = plan.workload, plan.level
        place = {
            "workload": workload.name,
            "concurrency": level.concurrency,
            "request_rate": level.request_rate,
            "repeat": plan.repeat,
        }
        self._emit(PointStarted(at=wall_time(), requests=plan.requests, **place))
        if workload.name not in self._sources:
            self._sources[workload.name] = prompt_source(workload, self._tokenizer, salt=workload.name)
        result = run_point(
            self._target,
            plan,
            self._sources[workload.name],
            tokenizer=self._tokenizer,
            on_progress=lambda progress: self._emit(_progress(plan, progress)),
            should_stop=self._should_stop,
            sample_server=self._sample,
            pool=self._pool,
            server_env=self._server_env,
        )
        name = records_name(workload.name, level.concurrency, level.request_rate, plan.repeat)
        write_parquet(result.records, self._folder / name)
        if not result.summary.interrupted:
            self._emit(PointFinished(at=wall_time(), point=result.summary, records_file=name))
        return result.summary

    def _sample(self) -> CounterWindow | None:
        if self._engine.metrics_path is None:
            return None
        try:
            return self._engine.counters(self._control.text(self._engine.metrics_path))
        except ClientError:
            return None  # the server is busy or gone; the next sample or the point itself will tell


def _progress(plan: PointPlan, progress: Progress) -> PointProgress:
    return PointProgress(
        at=wall_time(),
        workload=plan.workload.name,
        concurrency=plan.level.concurrency,
        request_rate=plan.level.request_rate,
        repeat=plan.repeat,
        done=progress.done,
        requests=progress.requests or plan.requests,
        output_tokens_per_s=progress.output_tokens_per_s,
        running=progress.running,
    )
