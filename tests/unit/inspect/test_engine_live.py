"""The real llama.cpp installation is asked; others are asked for what they say when they are not there."""

import sys
from pathlib import Path

import pytest
from tests.fakes.campaigns import HEAD

from shakedown.domain.candidate import EngineRef
from shakedown.domain.errors import EngineNotFoundError
from shakedown.domain.spec_file import parse_campaign
from shakedown.domain.words import EngineKind
from shakedown.inspect import resolve
from shakedown.inspect.ask import ask_engine, can_be_asked
from shakedown.inspect.engine import inspect_engine
from shakedown.inspect.resolve import resolve_engine, resolve_reference

WHEEL = EngineRef(kind=EngineKind.LLAMA_CPP, python=sys.executable)


@pytest.mark.live
def test_the_wheel_says_its_version_and_flags() -> None:
    facts = inspect_engine(WHEEL)
    assert facts.flags is not None
    assert len(facts.flags) > 200
    assert "q8_0" in (facts.flags["cache-type-v"].choices or ())
    assert facts.flags["spec-type"].repeats
    assert facts.version
    assert facts.packages["xllamacpp"]
    assert facts.ref.versions == {"llama.cpp": facts.version, **facts.packages}


@pytest.mark.live
def test_a_llama_server_on_the_path_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "llama-server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m shakedown.launch.llama_server "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reference = resolve_reference(EngineRef(kind=EngineKind.LLAMA_CPP))
    assert reference.command == (str(program),)
    facts = inspect_engine(reference)
    assert facts.flags is not None
    assert (facts.python, facts.command, facts.packages) == (None, (str(program),), {})


def test_what_is_named_in_the_file_comes_first() -> None:
    spec = parse_campaign(HEAD + '[engine]\nkind = "vllm"\ncommand = ["docker", "run", "x"]\n', "c.toml")
    assert resolve_engine(spec).command == ("docker", "run", "x")
    python = parse_campaign(HEAD + f'[engine]\nkind = "vllm"\npython = "{sys.executable}"\n', "c.toml")
    assert resolve_engine(python).python == sys.executable


def test_the_interpreter_behind_a_program_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "vllm"
    program.write_text(f"#!{sys.executable}\nimport sys\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert resolve_reference(EngineRef(kind=EngineKind.VLLM)).python == sys.executable


@pytest.mark.parametrize("kind", [EngineKind.SGLANG, EngineKind.VLLM, EngineKind.TENSORRT_LLM, EngineKind.LLAMA_CPP])
def test_an_engine_that_is_nowhere(kind: EngineKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(resolve, "is_installed", lambda _: False)
    with pytest.raises(EngineNotFoundError, match=r"install it \(.*or say where it is with \[engine\] python"):
        resolve_reference(EngineRef(kind=kind))


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(EngineNotFoundError, match="no such interpreter"):
        resolve_reference(EngineRef(kind=EngineKind.VLLM, python="/nowhere/python"))


def test_an_interpreter_without_the_engine() -> None:
    for kind in (EngineKind.SGLANG, EngineKind.TENSORRT_LLM):
        with pytest.raises(EngineNotFoundError, match="no package"):
            inspect_engine(EngineRef(kind=kind, python=sys.executable))


def test_a_command_that_cannot_be_started_or_fails() -> None:
    with pytest.raises(EngineNotFoundError, match="cannot be started"):
        inspect_engine(EngineRef(kind=EngineKind.LLAMA_CPP, command=("/nowhere/llama-server",)))
    with pytest.raises(EngineNotFoundError, match="exit code"):
        inspect_engine(EngineRef(kind=EngineKind.LLAMA_CPP, command=("false",)))


def test_a_command_is_asked_for_its_help(tmp_path: Path) -> None:
    program = tmp_path / "serve"
    program.write_text(
        "#!/bin/sh\nprintf 'options:\\n  --kv-cache-dtype {auto,fp8}\\n                        Type.\\n'\n"
    )
    program.chmod(0o755)
    facts = inspect_engine(EngineRef(kind=EngineKind.VLLM, command=(str(program),)))
    assert facts.flags is not None
    assert facts.flags["kv-cache-dtype"].choices == ("auto", "fp8")
    assert not facts.flags_complete


def test_a_wrapper_that_knows_no_help_is_not_asked_and_may_serve_all_the_same() -> None:
    facts = inspect_engine(EngineRef(kind=EngineKind.SGLANG, command=("false",)))
    assert facts.flags is None
    (note,) = facts.notes
    assert (note.kind, "exit code 1" in note.summary) == ("not_asked", True)
    with pytest.raises(EngineNotFoundError, match="cannot be started"):
        inspect_engine(EngineRef(kind=EngineKind.SGLANG, command=("/nowhere/serve",)))


def test_only_some_engines_can_be_asked() -> None:
    assert can_be_asked(EngineRef(kind=EngineKind.SGLANG, python="/p"))
    assert not can_be_asked(EngineRef(kind=EngineKind.SGLANG, command=("docker",)))
    assert not can_be_asked(WHEEL)
    assert ask_engine(WHEEL, []) == {}
