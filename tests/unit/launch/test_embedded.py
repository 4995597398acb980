from __future__ import annotations

import sys

import pytest

from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.words import EngineKind
from shakedown.launch.embedded import resolve_engine


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_what_is_named_is_used(path):
    for engine in (
        EngineRef(kind=EngineKind.LLAMA_CPP, python="/env/bin/python"),
        EngineRef(kind=EngineKind.LLAMA_CPP, command=("x",)),
        EngineRef(kind=EngineKind.VLLM),
    ):
        assert resolve_engine(engine) is engine


def test_a_llama_server_on_the_path_comes_before_the_embedded_one(path):
    pytest.importorskip("xllamacpp")
    assert resolve_engine(EngineRef(kind=EngineKind.LLAMA_CPP)).python == sys.executable
    binary = path / "llama-server"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(0o755)
    assert resolve_engine(EngineRef(kind=EngineKind.LLAMA_CPP)).command == (str(binary),)


def test_neither_is_one_clear_error(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineNotFoundError, match="pip install"):
        resolve_engine(EngineRef(kind=EngineKind.LLAMA_CPP))
