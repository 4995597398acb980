from __future__ import annotations

import os
import signal
import socket
import sys
import time
import uuid

import psutil
import pytest
from tests.unit.launch.scripted import TOKEN_VARIABLE, ScriptedEngine, child_plan, start, survivors

from shakedown.domain.errors import StoreError
from shakedown.domain.events import LaunchStarted, PhaseReached, ServerReady, ServerStopped
from shakedown.domain.trial import Limits
from shakedown.domain.words import Category, Stage
from shakedown.engines.base import LaunchPlan
from shakedown.launch.server import Ended, Server


@pytest.fixture
def token():
    return uuid.uuid4().hex


def test_ready_means_healthy_and_a_generated_token_from_a_process_of_ours(tmp_path, token):
    events = []
    server = start(tmp_path, env={TOKEN_VARIABLE: token}, events=events, api_key="k")
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    assert server.poll() is None
    assert psutil.Process(ready.pid).create_time() == ready.process_started_at
    assert ready.effective == {"answers": 1, "authorization": "Bearer k"}
    stopped = server.stop()
    assert [type(event) for event in events] == [LaunchStarted, PhaseReached, PhaseReached, ServerStopped]
    assert [event.phase for event in events[1:3]] == ["loading", "listening"]
    assert events[1].elapsed_s <= events[2].elapsed_s <= ready.boot_s
    assert (stopped.signal, stopped.forced) == (signal.SIGTERM, False)
    assert server.stop() is stopped
    assert len(events) == 4
    assert not survivors(token, patience_s=0)


def test_a_refusal_is_a_result_with_its_exit_code_and_whole_log(tmp_path):
    server = start(tmp_path, "exits")
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert (ended.evidence.exit_code, ended.evidence.signal, ended.evidence.stage) == (3, None, Stage.BOOT)
    assert ended.evidence.last_phase == "loading"
    assert list(server.log_lines()) == ["loading", "ValueError: bad quantization"]
    assert ended.failure is None
    server.stop()


def test_the_last_words_of_a_worker_are_in_the_log_when_the_end_is_told(tmp_path):
    server = start(tmp_path, "worker-speaks-last")
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert list(server.log_lines()) == ["ValueError: the worker says why"]
    server.stop()


def test_sigkill_takes_what_ignores_sigterm_and_what_left_the_group_and_session(tmp_path, token):
    server = start(
        tmp_path, "ignores-term", "double-fork", env={TOKEN_VARIABLE: token}, limits=Limits(term_grace_s=0.3)
    )
    assert isinstance(server.wait_ready(), ServerReady)
    stopped = server.stop()
    assert stopped.forced
    assert stopped.signal == signal.SIGKILL
    assert not survivors(token, patience_s=0)


def test_a_grandchild_in_its_own_session_does_not_survive_a_clean_stop(tmp_path, token):
    server = start(tmp_path, "double-fork", env={TOKEN_VARIABLE: token}, limits=Limits(term_grace_s=0.5))
    assert isinstance(server.wait_ready(), ServerReady)
    assert server.stop().forced
    assert not survivors(token, patience_s=0)


def test_dying_while_serving_is_seen_by_poll(tmp_path):
    server = start(tmp_path, "dies-after-ready")
    outcome = server.wait_ready()
    deadline = time.monotonic() + 10
    while (ended := server.poll()) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert ended is not None
    assert ended.evidence.exit_code == 7
    assert isinstance(outcome, Ended) or ended.evidence.stage == Stage.LOAD
    server.stop()


def test_a_silent_hang_is_ended_by_the_stall_limit(tmp_path, token):
    server = start(tmp_path, "silent", env={TOKEN_VARIABLE: token}, limits=Limits(boot_stall_s=1.5, term_grace_s=1))
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.evidence.stalled
    assert ended.failure is not None
    assert ended.failure.category == Category.HANG
    assert not survivors(token, patience_s=0)


@pytest.mark.parametrize("sign_of_life", ["busy", "progress-bar"])
def test_cpu_use_and_a_growing_line_are_progress(tmp_path, sign_of_life):
    limits = Limits(boot_stall_s=1.2, boot_total_s=3, term_grace_s=1)
    server = start(tmp_path, sign_of_life, limits=limits)
    outcome = server.wait_ready()
    if sign_of_life == "busy":  # never ready: only the total limit ends it
        assert isinstance(outcome, Ended)
        assert outcome.failure is not None
        assert "still worked" in outcome.failure.cause
    else:
        assert isinstance(outcome, ServerReady)
    server.stop()


def test_health_polls_in_the_log_are_no_progress(tmp_path):
    server = start(tmp_path, "never-healthy", limits=Limits(boot_stall_s=2, boot_total_s=30, term_grace_s=1))
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.evidence.stalled
    assert any("/health" in line for line in server.log_lines())


def test_healthy_without_a_token_is_never_ready(tmp_path):
    server = start(tmp_path, "unable")
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.failure is not None
    assert "no kernel for this device" in ended.failure.cause
    server.stop()


def test_a_flood_is_captured_whole_and_does_not_keep_the_server_from_being_ready(tmp_path):
    server = start(tmp_path, "flood")
    assert isinstance(server.wait_ready(), ServerReady)
    deadline = time.monotonic() + 30
    while server.log_file.stat().st_size < 200_000 * 1001 and time.monotonic() < deadline:
        time.sleep(0.1)
    server.stop()
    assert sum(line == "x" * 1000 for line in server.log_lines()) == 200_000


def test_binary_output_and_a_line_without_end_are_kept_byte_for_byte(tmp_path):
    server = start(tmp_path, "endless-line")
    assert isinstance(server.wait_ready(), ServerReady)
    server.stop()
    log = server.log_file.read_bytes()
    assert b"\rprogress \x00\xc3\xbf" * 20_000 in log
    lines = list(server.log_lines())
    assert lines[0] == "loading"
    assert len(lines[1].encode()) <= 1 << 16
    assert lines[2].startswith("access")


def test_arrival_times_cover_the_log(tmp_path):
    server = start(tmp_path, "progress-bar")
    assert isinstance(server.wait_ready(), ServerReady)
    server.stop()
    header, *records = server.log_file.with_name("server.log.times").read_text().splitlines()
    assert header.startswith("# byte offset")
    offsets = [int(record.split()[0]) for record in records]
    seconds = [float(record.split()[1]) for record in records]
    assert offsets[0] == 0
    assert offsets == sorted(set(offsets))
    assert seconds == sorted(seconds)
    assert offsets[-1] < server.log_file.stat().st_size
    assert len(records) > 10  # one for each step of the bar


def test_a_port_held_by_another_is_a_failure_that_names_it_and_starts_nothing(tmp_path):
    events = []
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        server = Server.start(
            child_plan(port),
            ScriptedEngine(),
            folder=tmp_path,
            host="127.0.0.1",
            port=port,
            limits=Limits(),
            model_name="m",
            on_event=events.append,
        )
        ended = server.wait_ready()
        server.stop()
    assert isinstance(ended, Ended)
    assert ended.failure is not None
    assert ended.failure.category == Category.PORT_IN_USE
    assert str(os.getpid()) in str(ended.failure.root_line)
    assert ended.failure.stage == Stage.LAUNCH
    assert events == []
    assert not server.log_file.exists()


def test_another_server_on_our_port_is_never_taken_for_ours(tmp_path):
    """The engine listens elsewhere than it was told, and a stranger answers where we look."""
    ours, strangers = tmp_path / "ours", tmp_path / "strangers"
    server = start(ours, "silent")
    port = int(server.base_url.rsplit(":", 1)[1])
    stranger = Server.start(
        child_plan(port),
        ScriptedEngine(),
        folder=strangers,
        host="127.0.0.1",
        port=port,
        limits=Limits(term_grace_s=1),
        model_name="m",
        on_event=lambda event: None,
    )
    try:
        ready = stranger.wait_ready()
        ended = server.wait_ready()
    finally:
        stranger.stop()
        server.stop()
    assert isinstance(ready, ServerReady)
    assert isinstance(ended, Ended)
    assert ended.failure is not None
    assert ended.failure.category == Category.PORT_IN_USE
    assert str(ready.pid) in str(ended.failure.root_line)


@pytest.mark.parametrize(("program", "said"), [("/no/such/engine", "No such file"), (__file__, "Permission denied")])
def test_a_program_that_cannot_be_executed_is_a_failure(tmp_path, program, said):
    server = Server.start(
        LaunchPlan(argv=(program,), env={}),
        ScriptedEngine(),
        folder=tmp_path,
        host="127.0.0.1",
        port=0,
        limits=Limits(),
        model_name="m",
        on_event=lambda event: None,
    )
    ended = server.wait_ready()
    server.stop()
    assert isinstance(ended, Ended)
    assert ended.failure is not None
    assert ended.failure.category == Category.ENVIRONMENT_MISMATCH
    assert said in str(ended.failure.root_line)


def test_an_address_of_another_machine_is_a_failure(tmp_path):
    server = Server.start(
        child_plan(1234),
        ScriptedEngine(),
        folder=tmp_path,
        host="192.0.2.1",
        port=1234,
        limits=Limits(),
        model_name="m",
        on_event=lambda event: None,
    )
    ended = server.wait_ready()
    assert isinstance(ended, Ended)
    assert ended.failure is not None
    assert ended.failure.category == Category.BAD_ARGUMENTS


def test_secrets_do_not_reach_the_events_but_do_reach_the_engine(tmp_path):
    events = []
    secret = uuid.uuid4().hex
    server = start(tmp_path, "--api-key", secret, env={"HF_TOKEN": secret, "MAX_TOKENS": "5"}, events=events)
    assert psutil.Process(events[0].pid).environ()["HF_TOKEN"] == secret
    server.stop()
    assert secret not in events[0].model_dump_json()
    assert events[0].env == {"HF_TOKEN": "***", "MAX_TOKENS": "5"}


def test_config_files_of_the_plan_are_written_and_their_place_is_handed_over(tmp_path):
    script = "import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_text())"
    server = Server.start(
        LaunchPlan(argv=(sys.executable, "-c", script, "{folder}/a.yaml"), env={}, files={"a.yaml": "x: 1"}),
        ScriptedEngine(),
        folder=tmp_path / "made" / "if missing",
        host="127.0.0.1",
        port=0,
        limits=Limits(),
        model_name="m",
        on_event=lambda event: None,
    )
    server.wait_ready()
    server.stop()
    assert list(server.log_lines()) == ["x: 1"]


def test_a_folder_that_cannot_be_written_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        start(tmp_path / "file" / "trial")


def test_a_log_that_cannot_be_written_is_no_fault_of_the_engine(tmp_path):
    (tmp_path / "server.log").mkdir()
    with pytest.raises(StoreError, match=r"server\.log: cannot be written"):
        start(tmp_path)


def test_a_released_server_lives_on_and_stops_when_its_guardian_is_told_to(tmp_path, token):
    server = start(tmp_path, "double-fork", env={TOKEN_VARIABLE: token})
    ready = server.wait_ready()
    assert isinstance(ready, ServerReady)
    guardian = server.release()
    time.sleep(0.6)  # longer than the guardian looks away
    assert psutil.pid_exists(ready.pid)
    os.kill(guardian, signal.SIGTERM)
    assert not survivors(token, patience_s=10)
    os.waitpid(guardian, 0)
