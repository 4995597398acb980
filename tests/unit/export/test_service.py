import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.export.winners import API_KEY, HUB_TOKEN, WINNERS, llama_cpp, sglang, sglang_two_nodes, vllm

from shakedown.export.secrets import Word, hide_environment, hide_words, variable_name
from shakedown.export.service import service_of, split_command, unit_name

words = st.lists(st.text(min_size=1), min_size=1, max_size=6)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)


@given(st.dictionaries(names, st.text(), max_size=4), words)
def test_a_command_comes_apart_as_it_was_put_together(env: dict[str, str], argv: list[str]) -> None:
    argv = ["./program", *argv]
    line = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in env.items()), shlex.join(argv)])
    assert split_command(line) == (env, argv)


@given(st.text())
def test_unit_names_are_dns_labels(text: str) -> None:
    name = unit_name(text)
    assert 1 <= len(name) <= 50
    assert name.isascii()
    assert name == name.lower()
    assert not name.startswith("-")
    assert not name.endswith("-")
    assert all(character.isalnum() or character == "-" for character in name)


def test_secrets_become_names() -> None:
    shown, found = hide_words(["serve", "--api-key", API_KEY, f"--hf-token={HUB_TOKEN}", "--max-tokens", "5", "***"])
    assert shown == (
        Word("serve"), Word("--api-key"), Word("", "API_KEY"), Word("--hf-token=", "HF_TOKEN"), Word("--max-tokens"),
        Word("5"), Word("", "MAX_TOKENS"),
    )  # fmt: skip
    assert found == ("API_KEY", "HF_TOKEN", "MAX_TOKENS")


def test_tokens_are_known_by_their_look_whatever_they_are_called() -> None:
    shown, found = hide_environment({"A": HUB_TOKEN, "B": "plain", "C": "Bearer abc", "D": "***"})
    assert shown == {"B": "plain"}
    assert found == ("A", "C", "D")


def test_variable_names_are_fit_for_a_shell() -> None:
    assert variable_name("--api-key") == "API_KEY"
    assert variable_name("--") == "SECRET"


def test_winner_is_taken_apart() -> None:
    service = service_of(sglang())
    assert service.name == "qwen3-5-397b"
    assert service.port == 30000
    assert service.gpus == 8
    assert service.nodes == 1
    assert service.secrets == ("HF_TOKEN", "DB_PASSWORD", "API_KEY")
    assert service.model_folder == "/data/models/Qwen3.5-397B-A17B-NVFP4"
    assert service.start_limit_s == 1250  # four times the measured boot of 312.4 s
    assert "8 x NVIDIA RTX PRO 6000" in service.proof[2]


def test_gpus_are_counted_per_node() -> None:
    service = service_of(sglang_two_nodes())
    assert (service.gpus, service.nodes) == (8, 2)
    assert service_of(vllm()).gpus == 4
    assert service_of(llama_cpp()).gpus == 0


def test_a_model_file_is_found_in_its_folder() -> None:
    assert service_of(llama_cpp()).model_folder == "/models"


@pytest.mark.parametrize("winner", WINNERS)
def test_proof_lines_are_single_lines(winner: str) -> None:
    assert all("\n" not in line for line in service_of(WINNERS[winner]).proof)
