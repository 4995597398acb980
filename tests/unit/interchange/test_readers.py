"""Files that vLLM, SGLang, AIPerf and GuideLLM really wrote, against a server that sends a token every 5 ms.

Made by the tools' releases named in ``benchmarks/load/peers.py`` (SGLang: 0.5.3).
"""

import json
import math
import shutil
from pathlib import Path

import pytest

from shakedown.domain.errors import UserError
from shakedown.domain.result import CampaignResult
from shakedown.interchange.opened import open_result
from shakedown.interchange.registry import known_readers, reader_of
from shakedown.judge.compare import CompareOptions, compare
from shakedown.report.base import formats

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.json*"))


def points(result: CampaignResult):
    (candidate,) = result.candidates
    return candidate.points


def test_every_reader_has_a_real_file() -> None:
    read = {reader.name for file in FILES if (reader := reader_of(json.loads(file.read_text().splitlines()[0]
            if file.suffix == ".jsonl" else file.read_text())))}  # fmt: skip
    assert read == set(known_readers()) - {"shakedown-bench"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_figures_agree_with_each_other_and_with_the_server(file: Path) -> None:
    result = open_result(file)
    assert result.campaign.measured_by in {reader.tool for reader in known_readers().values()}
    assert points(result)
    for point in points(result):
        assert point.ok == point.requests > 0
        assert point.output_tokens_per_s is not None
        assert point.output_tokens_per_s == pytest.approx(point.output_tokens / point.duration_s, rel=0.05)
        assert point.concurrency is not None
        assert point.tpot_s is not None
        assert point.ttft_s is not None
        assert 0.0045 < point.tpot_s.p50 < 0.05
        assert point.tpot_s.p50 < point.ttft_s.p50
        if point.e2el_s is not None:
            tokens = point.output_tokens / point.ok
            assert point.e2el_s.mean == pytest.approx(point.ttft_s.mean + (tokens - 1) * point.tpot_s.mean, rel=0.05)
        if point.per_request_tokens_per_s is not None and point.e2el_s is not None:
            assert point.per_request_tokens_per_s == pytest.approx(
                point.output_tokens / point.ok / point.e2el_s.mean, rel=0.1
            )
        assert point.client.limited is None


@pytest.mark.parametrize("name", sorted(formats().keys() - {"md"}))  # its pictures are slow, and html has them, too
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_report_format_takes_them(file: Path, name: str) -> None:
    assert formats()[name].make(open_result(file), False).content


def test_the_report_says_that_nothing_was_checked() -> None:
    page = formats()["html"].make(open_result(DATA / "vllm.json"), False).content.decode()
    assert "Measured by vLLM bench serve; nothing was checked or decided." in page
    assert "it gives no proof of itself" in page


def test_two_tools_can_be_held_against_each_other() -> None:
    compared = compare(open_result(DATA / "vllm.json"), open_result(DATA / "guidellm.json"), CompareOptions())
    assert [level.concurrency for level in compared.levels if level.workload] == [2]
    assert any("different load generators" in note for note in compared.notes)


def test_what_is_written_in_vllms_keys_is_read_back() -> None:
    document = formats()["vllm"].make(open_result(DATA / "vllm.json"), False).content
    (written,) = json.loads(document)
    original = json.loads((DATA / "vllm.json").read_text())
    same = original.keys() & written.keys() - {"label"}
    assert len(same) > 20
    for key in same:
        if isinstance(original[key], float):
            assert math.isclose(written[key], original[key]), key
        else:
            assert written[key] == original[key], key


def test_a_sweep_is_a_candidate_for_each_set_of_server_parameters(tmp_path: Path) -> None:
    for serve in ("tp1", "tp2"):
        combination = tmp_path / f"SERVE--{serve}-BENCH--c2"
        combination.mkdir()
        for run in range(3):
            shutil.copy(DATA / "vllm.json", combination / f"run={run}.json")
        run_file = json.loads((DATA / "vllm.json").read_text())
        (combination / "summary.json").write_text(json.dumps([run_file] * 3))
    result = open_result(tmp_path)
    assert [candidate.label for candidate in result.candidates] == ["tp1", "tp2"]
    assert [[point.repeat for point in candidate.points] for candidate in result.candidates] == [[0, 1, 2]] * 2
    assert result.campaign.decision.repeats == 3
    assert not result.campaign.decision.launch_variance_measured


def test_files_that_only_look_like_a_result_are_told(tmp_path: Path) -> None:
    broken = json.loads((DATA / "vllm.json").read_text())
    del broken["duration"]
    (tmp_path / "x.json").write_text(json.dumps(broken))
    with pytest.raises(UserError, match=r"looks like a result of vLLM bench serve, but cannot be read: KeyError"):
        open_result(tmp_path / "x.json")
    (tmp_path / "y.json").write_text('{"a": 1}')
    with pytest.raises(UserError, match=r"neither a campaign's of schema shakedown/1 nor one of .*GuideLLM"):
        open_result(tmp_path / "y.json")
