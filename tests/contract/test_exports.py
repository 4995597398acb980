"""What every export format promises, for every kind of winner."""

import re
import shlex

import pytest
from tests.unit.export.winners import SECRETS, WINNERS
from tests.unit.report.sample_results import HOSTILE, demo_result, hostile_result

from shakedown.domain.errors import UserError
from shakedown.export.registry import export, formats

CASES = [(name, winner) for name in sorted(formats()) for winner in WINNERS]
ENGINES_WITH_FILES = {"sglang", "sglang-two-nodes", "vllm", "tensorrt-llm", "awkward"}


def made(format_: str, winner: str) -> dict[str, str]:
    if format_ == "engine" and winner not in ENGINES_WITH_FILES:
        with pytest.raises(UserError, match="reads no configuration file; use --format command"):
            export(WINNERS[winner], format_)
        pytest.skip("this engine reads no configuration file, and the export says so")
    return export(WINNERS[winner], format_)


@pytest.mark.parametrize(("format_", "winner"), CASES)
def test_files_have_plain_names_and_end_with_a_newline(format_: str, winner: str) -> None:
    files = made(format_, winner)
    assert files
    for name, text in files.items():
        assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name)
        assert text.endswith("\n")


@pytest.mark.parametrize(("format_", "winner"), CASES)
def test_every_file_says_which_campaign_proved_it(format_: str, winner: str) -> None:
    result = WINNERS[winner]
    assert result.winner is not None
    for text in made(format_, winner).values():
        head = [line for line in text.splitlines()[:8] if line.startswith("#")]
        assert any(f"Proved by the Shakedown campaign {result.campaign.name}" in line for line in head)
        assert any(result.winner.id in line for line in head)


@pytest.mark.parametrize(("format_", "winner"), CASES)
def test_no_secret_is_written_and_what_must_be_given_is_marked(format_: str, winner: str) -> None:
    files = made(format_, winner)
    whole = "".join(files.values())
    assert not [secret for secret in SECRETS if secret in whole]
    if winner.startswith("sglang") and format_ in {"command", "systemd", "kubernetes"}:
        for name in ("HF_TOKEN", "API_KEY", "DB_PASSWORD"):
            assert name in whole
        assert re.search(r"FILL_IN.*secret", whole)


@pytest.mark.parametrize(("format_", "winner"), CASES)
def test_the_same_result_gives_the_same_files(format_: str, winner: str) -> None:
    assert made(format_, winner) == made(format_, winner)


@pytest.mark.parametrize("format_", sorted(formats()))
def test_without_a_winner_there_is_one_clear_error(format_: str) -> None:
    nobody = demo_result().model_copy(update={"winner": None})
    with pytest.raises(UserError, match="nothing to export, no candidate qualified"):
        export(nobody, format_)


@pytest.mark.parametrize("format_", sorted(set(formats()) - {"engine"}))
def test_hostile_names_stay_in_comments_and_strings(format_: str) -> None:
    result = hostile_result()
    assert result.winner is not None
    model = HOSTILE.replace("\x1b", "")
    command = f"llama-server --model {shlex.quote(model)} --port 8000"
    result = result.model_copy(update={"winner": result.winner.model_copy(update={"command": command})})
    for text in export(result, format_).values():
        assert "\x1b" not in text
        proof = [line for line in text.splitlines() if "Proved by the Shakedown campaign" in line]
        assert proof
        assert all(line.startswith("#") or '"' in line for line in proof)


def test_unknown_format_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="unknown; one of command, compose, engine, kubernetes, prometheus, systemd"):
        export(demo_result(), "helm")
