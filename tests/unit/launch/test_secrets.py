from __future__ import annotations

import pytest

from shakedown.launch.secrets import hide_argv, hide_env


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
