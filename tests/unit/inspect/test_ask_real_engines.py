"""Real installations, where there are any: name their interpreters in the environment and run with ``-m slow``."""

import os
from pathlib import Path

import pytest

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.words import EngineKind
from shakedown.inspect.ask import ask_engine
from shakedown.inspect.engine import inspect_engine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def reference(kind: EngineKind, variable: str) -> EngineRef:
    python = os.environ.get(variable)
    if python is None:
        pytest.skip(f"set {variable} to the interpreter of an installation")
    return EngineRef(kind=kind, python=python)


@pytest.mark.parametrize(
    ("kind", "variable", "flag"),
    [
        (EngineKind.SGLANG, "SHAKEDOWN_SGLANG_PYTHON", "attention-backend"),
        (EngineKind.VLLM, "SHAKEDOWN_VLLM_PYTHON", "kv-cache-dtype"),
    ],
)
def test_an_installation_says_its_flags(
    kind: EngineKind, variable: str, flag: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    facts = inspect_engine(reference(kind, variable))
    assert facts.version
    assert facts.flags is not None
    assert len(facts.flags) > 200
    assert facts.flags[flag].choices
    assert "torch" in facts.packages


def test_vllm_judges_candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Needs ``SHAKEDOWN_MODEL``, a checkpoint with a tokenizer; the processor build will do."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    installed = reference(EngineKind.VLLM, "SHAKEDOWN_VLLM_PYTHON")
    model = os.environ.get("SHAKEDOWN_MODEL")
    if model is None:
        pytest.skip("set SHAKEDOWN_MODEL to a checkpoint folder")
    served = ModelRef(path=model, name="m")
    good = Candidate(engine=installed, model=served, args={"max-num-seqs": 8})
    bad = Candidate(engine=installed, model=served, args={"no-such-flag": 1})
    answers = ask_engine(installed, [good, bad])
    assert answers[good.id].accepted
    assert answers[good.id].resolved["max-num-seqs"] == 8
    assert not answers[bad.id].accepted
    assert "unrecognized arguments" in (answers[bad.id].message or "")
