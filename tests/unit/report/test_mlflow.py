"""A result in MLflow, read back with MLflow's own client. Needs ``pip install 'llm-shakedown[mlflow]'``."""

from pathlib import Path

import pytest
from tests.unit.report.sample_results import demo_result

from shakedown.report.mlflow_run import log

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_campaign_and_candidates_are_runs_with_their_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed (extra 'mlflow')")
    # Its file store needs no database and no server; newer releases ask to be told that it is meant.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"file:{tmp_path / 'runs'}"
    result = demo_result()
    parent = log(result, uri, "tried")
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("tried")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id], max_results=1000)}
    assert set(runs) == {result.campaign.name, *(candidate.label for candidate in result.candidates)}
    assert result.winner is not None
    winner = next(candidate for candidate in result.candidates if candidate.id == result.winner.id)
    run = runs[winner.label]
    assert run.data.tags["mlflow.parentRunId"] == parent
    assert run.data.tags["verdict"] == "qualified"
    assert run.data.params == {
        **{name: str(value) for name, value in winner.args.items()},
        **{f"env.{name}": value for name, value in winner.env.items()},
    }
    point = winner.points[0]
    history = client.get_metric_history(run.info.run_id, f"{point.workload}.output_tokens_per_s")
    logged = {(one.step, one.value) for one in history}
    assert (point.concurrency, point.output_tokens_per_s) in logged
    artifacts = {file.path for file in client.list_artifacts(parent)}
    assert artifacts == {"result.json", "report.html"}
