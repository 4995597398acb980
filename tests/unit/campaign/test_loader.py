from pathlib import Path

import pytest

from shakedown.campaign.loader import load_campaign
from shakedown.domain.errors import CampaignFileError, UserError

GOOD = """\
[campaign]
name = "c"
[model]
path = "model.gguf"
[engine]
kind = "llama.cpp"
[[workload]]
name = "w"
prompts = ["text", "jsonl:prompts.jsonl"]
concurrency = 1
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    (tmp_path / "prompts.jsonl").write_text("{}\n")
    (tmp_path / "c.toml").write_text(GOOD)
    return tmp_path / "c.toml"


def refusals(file: Path) -> list[str]:
    with pytest.raises(CampaignFileError) as caught:
        load_campaign(file)
    return [str(problem).removeprefix(f"{file}:") for problem in caught.value.problems]


def test_paths_are_relative_to_the_file(campaign: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir("/")
    loaded = load_campaign(campaign)
    assert loaded.spec.model.path == str(tmp_path / "model.gguf")
    assert loaded.spec.workload[0].prompts == ("text", f"jsonl:{tmp_path / 'prompts.jsonl'}")
    assert loaded.text == GOOD


def test_a_missing_model_is_named_beside_all_other_mistakes(campaign: Path, tmp_path: Path) -> None:
    campaign.write_text(GOOD.replace("model.gguf", "gone.gguf").replace("prompts.jsonl", "no.jsonl") + "bad_key = 1\n")
    assert refusals(campaign) == [
        f"4: model.path: no such file or folder: {tmp_path / 'gone.gguf'}",
        f"9: workload[1].prompts: no such file or folder: {tmp_path / 'no.jsonl'}",
        "11: workload[1].bad_key: unknown key",
    ]


@pytest.mark.parametrize("line", ['python = "no-such-python"', 'command = ["/no/such/wrapper", "serve"]'])
def test_a_program_that_is_not_there_is_named(campaign: Path, line: str) -> None:
    campaign.write_text(GOOD.replace('kind = "llama.cpp"', f'kind = "llama.cpp"\n{line}'))
    (refusal,) = refusals(campaign)
    assert refusal.startswith("7: engine.")
    assert "no such program" in refusal


def test_a_machine_file_that_is_not_there_is_named(campaign: Path) -> None:
    campaign.write_text(GOOD + '[machine]\nfile = "box.json"\n')
    (refusal,) = refusals(campaign)
    assert refusal.startswith("12: machine.file: no such file or folder")


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "c.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"c\.toml: cannot read the campaign file"):
        load_campaign(file)


def test_the_demo_model_needs_no_file(campaign: Path) -> None:
    campaign.write_text(GOOD.replace("model.gguf", "demo:x.gguf"))
    assert load_campaign(campaign).spec.model.path == "demo:x.gguf"


def test_a_check_to_skip_that_does_not_exist_is_named_with_the_nearest(campaign: Path) -> None:
    campaign.write_text(GOOD + '[gates]\nskip = ["mixed_batch", "token_run"]\n')
    assert refusals(campaign) == ["12: gates.skip[2]: no check is called 'token_run' (did you mean 'token_runs'?)"]
