from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fakes.gguf_files import write_tiny_gguf

from shakedown.cli import main as cli
from shakedown.cli.main import COMMANDS

CAMPAIGN = """\
[campaign]
name = "c"
[model]
path = "model.gguf"
[engine]
kind = "llama.cpp"
[[workload]]
name = "w"
concurrency = 1
"""


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shakedown(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["shakedown", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capfd.readouterr()
        code = left.value.code
        assert code is None or isinstance(code, int)
        return code or 0, out, err

    return run


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    return tmp_path / "c.toml"


def test_help_names_every_command(shakedown: Run) -> None:
    code, out, _ = shakedown("--help")
    assert code == 0
    assert all(name in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(shakedown: Run, name: str) -> None:
    code, out, _ = shakedown(name, "--help")
    assert code == 0
    assert "Example" in out
    assert f"shakedown {name}" in out


def test_an_unknown_command_is_exit_2(shakedown: Run) -> None:
    code, _, err = shakedown("lauch")
    assert code == 2
    assert "lauch" in err


def test_a_campaign_file_that_is_not_there_is_exit_2(shakedown: Run) -> None:
    code, _, err = shakedown("run", "/no/such.toml")
    assert (code, err) == (2, "error: /no/such.toml: cannot read the campaign file: No such file or directory\n")


def test_a_model_that_is_not_there_is_exit_2_and_starts_nothing(shakedown: Run, campaign: Path) -> None:
    code, _, err = shakedown("run", str(campaign), "--out", str(campaign.parent / "out"))
    assert code == 2
    assert f"{campaign}:4: model.path: no such file or folder" in err
    assert not (campaign.parent / "out").exists()


def test_a_model_file_cut_in_half_is_exit_2_and_starts_nothing(shakedown: Run, campaign: Path) -> None:
    model = campaign.parent / "model.gguf"
    write_tiny_gguf(model)
    model.write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    code, _, err = shakedown("run", str(campaign), "--out", str(campaign.parent / "out"))
    assert code == 2
    assert "model.gguf" in err
    assert "Traceback" not in err
    assert not (campaign.parent / "out").exists()


@pytest.mark.parametrize("kind", ["sglang", "vllm", "tensorrt-llm"])
def test_an_engine_that_is_not_installed_is_exit_2(shakedown: Run, campaign: Path, kind: str) -> None:
    write_tiny_gguf(campaign.parent / "model.gguf")
    campaign.write_text(CAMPAIGN.replace("llama.cpp", kind))
    code, _, err = shakedown("run", str(campaign), "--out", str(campaign.parent / "out"))
    assert code == 2
    assert kind in err
    assert "Traceback" not in err


def test_a_results_folder_that_cannot_be_made_is_one_clear_error(shakedown: Run, campaign: Path) -> None:
    write_tiny_gguf(campaign.parent / "model.gguf")
    (campaign.parent / "file").write_text("")
    code, _, err = shakedown("run", str(campaign), "--out", str(campaign.parent / "file" / "out"))
    assert code == 1
    assert str(campaign.parent / "file" / "out") in err
    assert "Traceback" not in err
