"""Throughput predicted from two launches with acceptance made up, against throughput measured: run it alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from shakedown.domain.result import CampaignResult
from shakedown.domain.words import FindingKind

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.timeout(1200)]

LENGTHS = (1, 2, 3)
CAMPAIGN = """
[campaign]
name = "forced acceptance"
strategy = "grid"

[model]
path = "{model}"
name = "demo"

[engine]
kind = "llama.cpp"
args = {{ flash-attn = "on", ctx-size = 1024, threads = 1, parallel = 2, spec-draft-threads = 1 }}

[[vary]]
name = "drafts"
options = [{options}]

[[workload]]
name = "prose"
prompts = "text:prose"
input_tokens = 24
output_tokens = 32
concurrency = [1, 2]
requests = 6
warmup_requests = 1

[gates]
level = "quick"
skip = ["prefix_cache", "cancelled_streams", "mixed_batch", "drift_from_reference", "chat_template", "text_statistics"]

[decide]
launches = 1
repeats = 4

[speculation]
draft_tokens = [1, 3]
"""


def test_three_draft_lengths_and_two_concurrencies_are_predicted_within_ten_per_cent(model_file, tmp_path) -> None:
    # The model drafts for itself: every step drafts, and nearly every draft is accepted.
    drafting = f'spec-type = "draft-simple", spec-draft-model = "{model_file}"'
    options = [f'{{ label = "{n}", args = {{ {drafting}, spec-draft-n-max = {n} }} }}' for n in LENGTHS]
    file = tmp_path / "forced.toml"
    file.write_text(CAMPAIGN.format(model=model_file, options=", ".join(options)))
    command = [sys.executable, "-m", "shakedown", "run", str(file), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    result = CampaignResult.model_validate(json.loads((tmp_path / "out" / "result.json").read_text()))
    (told,) = (f for f in result.findings if f.kind is FindingKind.SPECULATION and f.evidence["predicted"])
    predicted = {
        (one["draft_tokens"], one["concurrency"]): one["output_tokens_per_s"] for one in told.evidence["predicted"]
    }
    measured: dict[tuple[int, int], list[float]] = {}
    for candidate in result.candidates:
        for point in candidate.points:
            key = (int(candidate.settings["drafts"]), point.concurrency or 0)
            measured.setdefault(key, []).append(point.whole_window_output_tokens_per_s or 0.0)
    ratios = {key: predicted[key] / (sum(values) / len(values)) for key, values in measured.items()}
    print({key: (round(predicted[key], 1), round(predicted[key] / ratio, 1)) for key, ratio in ratios.items()})
    assert set(ratios) == {(length, at) for length in LENGTHS for at in (1, 2)}
    assert all(0.9 <= ratio <= 1.1 for ratio in ratios.values()), ratios
