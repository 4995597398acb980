"""What every engine adapter keeps, whichever engine it is for. Adapters are found by themselves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef, argument_name
from shakedown.domain.metric import CounterWindow
from shakedown.domain.words import EngineKind
from shakedown.engines.base import Engine
from shakedown.engines.registry import engine_for, engines

ADAPTERS = [pytest.param(engine, id=kind.value) for kind, engine in engines().items()]
GOLDEN = Path(__file__).parent / "golden"

pytestmark = pytest.mark.parametrize("engine", ADAPTERS)

ARG_NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8}){0,2}", fullmatch=True)
ARG_VALUES = st.one_of(
    st.booleans(),
    st.integers(-10, 10_000),
    st.floats(0, 1, allow_nan=False),
    st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
)


def candidate(engine: Engine, args=None, env=None, **ref) -> Candidate:
    return Candidate(
        engine=EngineRef(kind=engine.kind, **ref),
        model=ModelRef(path="/models/some model", name="served-name"),
        args=args or {},
        env=env or {},
    )


def test_it_is_found_under_its_own_kind(engine):
    assert engine_for(engine.kind) is engine
    assert engine.kind in EngineKind


def test_boot_phases_have_distinct_names_and_valid_patterns(engine):
    names = [phase.name for phase in engine.boot_phases]
    assert len(set(names)) == len(names) > 0
    for phase in engine.boot_phases:
        re.compile(phase.pattern)


def test_paths_are_absolute(engine):
    assert engine.health_path.startswith("/")
    assert engine.metrics_path is None or engine.metrics_path.startswith("/")
    for probe in engine.info_probes:
        assert probe.path.startswith("/")
    assert engine.cache_flush is None or engine.cache_flush.path.startswith("/")


def test_aliases_are_spelled_as_in_a_campaign_file_and_lead_to_canonical_names(engine):
    for spelling, canonical in engine.aliases.items():
        assert not spelling.startswith("-")
        assert canonical == argument_name(canonical)
        assert canonical not in engine.aliases, "an alias must not lead to another alias"
        assert engine.canonical_args({spelling: 1}) == {canonical: 1}


def test_dashes_and_underscores_do_not_matter(engine):
    assert engine.canonical_args({"--max_num-things": 1}) == engine.canonical_args({"max-num-things": 1})


@given(args=st.dictionaries(ARG_NAMES, ARG_VALUES, max_size=4))
def test_canonical_args_are_stable(engine, args):
    once = engine.canonical_args(args)
    assert engine.canonical_args(once) == once
    assert set(map(str, once.values())) == set(map(str, args.values())) or len(once) < len(args)


@given(args=st.dictionaries(ARG_NAMES, ARG_VALUES, max_size=4))
def test_every_argument_value_is_launchable(engine, args):
    plan = engine.launch_plan(candidate(engine, args), host="127.0.0.1", port=4321)
    assert all(isinstance(word, str) for word in plan.argv)
    assert "\x00" not in "".join(plan.argv)


def test_the_launch_listens_where_it_is_told_and_serves_the_model_under_its_name(engine):
    plan = engine.launch_plan(candidate(engine), host="127.0.0.9", port=4321)
    everything = [*plan.argv, *plan.files.values()]
    for needed in ("127.0.0.9", "4321", "/models/some model"):
        assert any(needed in word for word in everything), needed


def test_the_candidates_port_and_host_never_win_over_the_trials(engine):
    plan = engine.launch_plan(candidate(engine, {"port": 9999, "host": "10.9.9.9"}), host="127.0.0.1", port=4321)
    everything = " ".join([*plan.argv, *plan.files.values()])
    assert "4321" in everything
    assert "9999" not in everything
    assert "10.9.9.9" not in everything


def test_false_takes_an_argument_away(engine):
    with_false = engine.launch_plan(candidate(engine, {"some-flag": False}), host="127.0.0.1", port=1)
    without = engine.launch_plan(candidate(engine), host="127.0.0.1", port=1)
    assert with_false == without


def test_a_command_is_used_as_it_is_and_an_interpreter_is_the_program(engine):
    wrapped = engine.launch_plan(candidate(engine, command=("wrap", "--it")), host="127.0.0.1", port=1)
    assert wrapped.argv[:2] == ("wrap", "--it")
    interpreted = engine.launch_plan(candidate(engine, python="/env/bin/python"), host="127.0.0.1", port=1)
    assert interpreted.argv[0] == "/env/bin/python" or interpreted.argv[0].startswith("/env/bin/")


def test_the_candidates_environment_reaches_the_process(engine):
    plan = engine.launch_plan(candidate(engine, env={"SOME_VARIABLE": "x y"}), host="127.0.0.1", port=1)
    assert plan.env["SOME_VARIABLE"] == "x y"


def test_planning_changes_neither_candidate_nor_later_plans(engine):
    given_args = {"some-flag": True}
    asked = candidate(engine, given_args)
    first = engine.launch_plan(asked, host="127.0.0.1", port=1)
    assert engine.launch_plan(asked, host="127.0.0.1", port=1) == first
    assert asked.args == {"some-flag": True}


def test_files_of_a_plan_are_referred_to(engine):
    plan = engine.launch_plan(candidate(engine), host="127.0.0.1", port=1)
    for name in plan.files:
        assert any(f"{{folder}}/{name}" in word for word in plan.argv)


def test_the_command_line_is_what_is_launched(engine):
    asked = candidate(engine, {"some-flag": "a b'c"}, env={"SOME_VARIABLE": "x y"})
    words = shlex.split(engine.command_line(asked, host="127.0.0.1", port=4321))
    assert words[0] == "SOME_VARIABLE=x y"
    plan = engine.launch_plan(asked, host="127.0.0.1", port=4321)
    if not plan.files:
        assert tuple(words[-len(plan.argv) :]) == plan.argv


def test_counters_of_an_engine_that_says_nothing_are_unknown_not_zero(engine):
    assert engine.counters("") == CounterWindow()


def test_settings_of_a_server_that_says_nothing_are_unknown(engine):
    settings = engine.effective_settings([None] * len(engine.info_probes), [])
    assert all(value is None for value in settings.values()), settings


def test_no_arguments_are_not_lossy(engine):
    assert engine.lossy_settings({}) == []


def test_a_next_token_is_asked_for_greedily_by_token_ids(engine):
    probe = engine.logprobs.next_token_request([5, 6, 7], 4, "served-name")
    assert probe.method == "POST"
    assert probe.body is not None
    assert any(value == [5, 6, 7] for value in probe.body.values())


def test_an_answer_without_log_probabilities_is_refused(engine):
    with pytest.raises(ValueError, match=r"."):
        engine.logprobs.parse_next_token({})


def test_the_golden_launch_line(engine):
    """``golden/<kind>.txt``: args as JSON, then the launch line. A changed line is rewritten and fails once."""
    path = GOLDEN / f"{engine.kind.value}.txt"
    asked = candidate(engine, {"some-flag": True, "some-value": 7, "some-list": ["a", "b"], "gone": False}, {"A": "1"})
    lines = [engine.command_line(asked, host="127.0.0.1", port=4321)]
    plan = engine.launch_plan(asked, host="127.0.0.1", port=4321)
    lines += [f"--- {name}\n{content}" for name, content in plan.files.items()]
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        pytest.fail(f"{path.name} was rewritten; look at the difference and run again")
