"""The part of the probes that needs no engine: it runs in any interpreter."""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shakedown.inspect.probes import ask_common


def parser() -> argparse.ArgumentParser:
    built = argparse.ArgumentParser(prog="serve")
    built.add_argument("--model-path", "--model")
    built.add_argument("--kv-cache-dtype", choices=["auto", "fp8"], default="auto", help="Type.")
    built.add_argument("--hidden", action="store_true", help=argparse.SUPPRESS)
    built.add_argument("--lora", nargs="+")
    return built


def resolve(words: list[str]) -> Mapping[str, Any]:
    given = vars(parser().parse_args(words))
    if os.environ.get("REFUSE"):
        raise ValueError("not with\n this variable")
    return {**given, "nested": object()}


def test_flags_of_a_parser_hidden_ones_included() -> None:
    flags = {flag["spellings"][0]: flag for flag in ask_common.flags_of(parser())}
    assert flags["--kv-cache-dtype"]["choices"] == ["auto", "fp8"]
    assert flags["--kv-cache-dtype"]["default"] == "auto"
    assert flags["--model-path"]["spellings"] == ["--model-path", "--model"]
    assert (flags["--hidden"]["takes_value"], flags["--hidden"]["help"]) == (False, "")
    assert flags["--lora"]["repeats"]


def test_what_the_engine_makes_of_a_line() -> None:
    accepted = ask_common.judge(resolve, ["--model", "m", "--lora", "a", "b"], {})
    assert accepted["accepted"]
    assert accepted["resolved"]["model-path"] == "m"
    assert accepted["resolved"]["lora"] == ["a", "b"]
    assert "nested" not in accepted["resolved"]


def test_refusals_are_in_the_engines_own_words() -> None:
    unknown = ask_common.judge(resolve, ["--no-such"], {})
    assert unknown == {"accepted": False, "message": "serve: error: unrecognized arguments: --no-such"}
    raised = ask_common.judge(resolve, [], {"REFUSE": "1"})
    assert raised == {"accepted": False, "message": "ValueError: not with this variable"}
    assert "REFUSE" not in os.environ


def test_a_question_file_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question, answer = tmp_path / "q.json", tmp_path / "a.json"
    question.write_text(json.dumps({"candidates": {"x": {"words": ["--model", "m"], "env": {}}}}))
    monkeypatch.setattr(sys, "argv", ["probe", str(question), str(answer)])
    ask_common.run(ask_common.flags_of(parser()), resolve, {"version": "1"})
    content = json.loads(answer.read_text())
    assert content["version"] == "1"
    assert content["answers"]["x"]["accepted"]
    assert len(content["flags"]) == 4


def test_versions_of_what_is_installed() -> None:
    assert set(ask_common.packages(["pytest", "no-such-package"])) == {"pytest"}
    assert ask_common.library_files(["no-such-package"]) == []
