from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shakedown.launch.log_reader import LogTail, log_lines
from shakedown.launch.log_writer import LogWriter

PIECES = st.lists(st.binary(max_size=40) | st.sampled_from([b"\n", b"\r", b"a line\n", b"\xff\x00"]), max_size=12)


@given(pieces=PIECES)
def test_what_is_written_is_in_the_log_byte_for_byte_and_both_readers_agree_on_its_lines(pieces):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        writer, tail, followed = LogWriter(path), LogTail(path), []
        for piece in pieces:
            writer.write(piece)
            followed += tail.new_lines()
        writer.close()
        assert path.read_bytes() == b"".join(pieces)
        whole = list(log_lines(path))
        unfinished = [tail.unfinished.decode(errors="replace").rstrip("\r\n")] if tail.unfinished else []
        assert followed + unfinished == whole
        assert len(whole) == b"".join(pieces).count(b"\n") + bool(unfinished)
        assert not tail.has_more()


def test_a_flood_is_followed_a_bounded_piece_at_a_time(tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(b"x" * 999 + b"\n")
    with path.open("ab") as log:
        log.writelines([b"y" * 999 + b"\n"] * 9_000)
    tail = LogTail(path)
    first = tail.new_lines()
    assert 4_000 < len(first) < 5_000
    assert tail.has_more()
    rest = [line for _ in range(3) for line in tail.new_lines()]
    assert len(first) + len(rest) == 9_001


def test_a_line_without_end_is_cut_and_does_not_move_line_numbers(tmp_path):
    path = tmp_path / "server.log"
    path.write_bytes(b"first\n" + b"z" * 1_000_000 + b"\nthird\n")
    lines = list(log_lines(path))
    assert [len(line) for line in lines] == [5, 65_536, 5]
    assert lines[2] == "third"


def test_no_log_has_no_lines(tmp_path):
    assert list(log_lines(tmp_path / "none")) == []
    assert LogTail(tmp_path / "none").new_lines() == []


def test_a_full_disk_loses_output_and_says_how_much_but_the_engine_is_never_blocked(tmp_path):
    writer = LogWriter(tmp_path / "server.log")
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._log)
    writer.write(b"lost output\n")
    assert writer.lost_bytes == 12
    writer.close()
    os.close(full)


def test_silence_is_unknown_before_the_first_output(tmp_path):
    writer = LogWriter(tmp_path / "server.log")
    assert writer.silent_s() is None
    writer.write(b"x")
    silent_s = writer.silent_s()
    assert silent_s is not None
    assert silent_s >= 0
    writer.close()


def test_a_log_that_cannot_be_made_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        LogWriter(tmp_path / "missing" / "server.log")
