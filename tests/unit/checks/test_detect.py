import pytest
from tests.fakes.faulty_server import FaultyServer

from shakedown.checks.detect import find_server
from shakedown.domain.errors import UserError
from shakedown.domain.words import EngineKind
from shakedown.domain.workload import Target


def test_an_engine_is_known_by_its_endpoints_and_the_model_by_its_list():
    with FaultyServer() as server:
        target, engine = find_server(Target(base_url=server.url, model=""))
    assert target.model == "toy"
    assert engine.kind is EngineKind.LLAMA_CPP


def test_a_model_that_was_named_is_kept():
    with FaultyServer() as server:
        target, _ = find_server(Target(base_url=server.url, model="alias"))
    assert target.model == "alias"


def test_an_engine_that_says_who_owns_its_models_is_believed():
    with FaultyServer(owner="someone", props=False) as server:
        _, unknown = find_server(Target(base_url=server.url, model=""))
    with FaultyServer(owner="llamacpp", props=False) as server:
        _, known = find_server(Target(base_url=server.url, model=""))
    assert unknown is None
    assert known.kind is EngineKind.LLAMA_CPP


def test_nobody_answering_is_a_mistake_that_names_the_url():
    with pytest.raises(UserError, match=r"http://127\.0\.0\.1:1: no server answers"):
        find_server(Target(base_url="http://127.0.0.1:1", model=""))
