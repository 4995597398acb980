from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.launch.log_writer import LogWriter
from shakedown.launch.secrets import argv_secrets, hide_argv, hide_env, hide_in_json, secret_values


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "OPENAI_API_KEY", "AWS_SECRET", "db-password", "apikey", "GOOGLE_CREDENTIALS"]
)
def test_values_of_secret_names_are_hidden(name):
    assert hide_env({name: "v", "PATH": "/bin"}) == {name: "***", "PATH": "/bin"}


@pytest.mark.parametrize("name", ["MAX_TOKENS", "KEYBOARD", "TOKENIZER", "CUDA_HOME", "NUM_BATCHED_TOKENS"])
def test_values_of_other_names_are_shown(name):
    assert hide_env({name: "v"}) == {name: "v"}


def test_both_spellings_of_a_secret_argument_are_hidden():
    argv = ["serve", "--api-key", "s3cret", "--hf-token=s3cret", "--max-num-batched-tokens", "8192", "--key", "--flag"]
    shown = ("serve", "--api-key", "***", "--hf-token=***", "--max-num-batched-tokens", "8192", "--key", "--flag")
    assert hide_argv(argv) == shown


def test_secret_values_are_those_of_secret_names_and_long_enough_to_be_one():
    env = {"HF_TOKEN": "hf_abcdefg", "PATH": "/bin:/usr/bin", "API_KEY": "none"}
    assert secret_values(env, {"api-key": "sk-1234567", "ctx-size": 4096}) == ("hf_abcdefg", "sk-1234567")


def test_values_of_secret_flags_are_found_in_both_spellings():
    assert argv_secrets(["serve", "--api-key", "sk-123456", "--hf-token=hf_12345", "--port", "1"]) == (
        "sk-123456",
        "hf_12345",
    )


def test_secret_values_are_hidden_wherever_they_stand():
    told = '{"line": ["key sk-12\\"34567 refused", 1.5, null], "sk-12\\"34567": true}'
    assert json.loads(hide_in_json(told, ['sk-12"34567'])) == {
        "line": ["key *** refused", 1.5, None],
        'sk-12"34567': True,
    }
    assert hide_in_json('{"line": "all is well"}', ["sk-1234567"]) == '{"line": "all is well"}'


@given(
    st.lists(st.one_of(st.sampled_from(["sk-1234567", "hf_tok", "sk-", "1234567"]), st.text("ab k\n", max_size=5))),
    st.data(),
)
def test_a_log_never_holds_a_secret_however_it_was_cut(tmp_path_factory, words, data):
    text = "".join(words).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    path: Path = tmp_path_factory.mktemp("log") / "server.log"
    log = LogWriter(path, ["sk-1234567", "hf_tok"])
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        log.write(text[start:end])
    log.close()
    expected = text.replace(b"sk-1234567", b"*" * 10).replace(b"hf_tok", b"*" * 6)
    assert path.read_bytes() == expected
