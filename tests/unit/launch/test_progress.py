from __future__ import annotations

import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from shakedown.launch.process_tree import descendants, is_alive, start_ticks
from shakedown.launch.progress import StallClock, Usage, tree_usage

SECONDS = st.floats(0, 1e6)


def usage(at_s: float, *, cpu_s: float = 0.0, memory: int = 0, read: int = 0) -> Usage:
    return Usage(at_s=at_s, cpu_s=cpu_s, memory_bytes=memory, read_bytes=read)


@given(start_s=SECONDS, idle_s=st.lists(st.floats(0.1, 100), max_size=8))
def test_without_progress_the_stall_is_all_the_time_passed(start_s, idle_s):
    clock, now_s = StallClock(start_s), start_s
    for gap_s in idle_s:
        now_s += gap_s
        clock.usage(usage(now_s, cpu_s=1.0, memory=5, read=7))
    assert clock.stalled_s(now_s) == now_s - start_s


@given(start_s=SECONDS, gap_s=st.floats(0.1, 100))
def test_output_cpu_memory_and_reading_each_reset_it(start_s, gap_s):
    later_s = start_s + gap_s
    for sign in (usage(later_s, cpu_s=gap_s), usage(later_s, memory=2 << 20), usage(later_s, read=2 << 20)):
        clock = StallClock(start_s - 50)
        clock.usage(usage(start_s))
        clock.usage(sign)
        assert clock.stalled_s(later_s) == 0
    clock = StallClock(start_s)
    clock.output(later_s)
    assert clock.stalled_s(later_s) == 0


def test_the_trickle_of_an_idle_process_is_no_progress():
    clock = StallClock(0.0)
    for second in range(10):
        clock.usage(usage(second, cpu_s=0.01 * second, memory=1000 * second))
    assert clock.stalled_s(9.0) == 9.0


def test_cpu_alone_is_progress_and_yet_spinning_until_something_else_happens():
    clock = StallClock(0.0)
    for second in range(1, 10):
        clock.usage(usage(second, cpu_s=float(second)))
    assert (clock.stalled_s(9.0), clock.spinning_s(9.0)) == (0.0, 9.0)
    clock.usage(Usage(at_s=10.0, cpu_s=10.0, memory_bytes=0, read_bytes=0, pids=frozenset({7})))
    assert clock.spinning_s(10.0) == 0.0, "a compiler was started"
    clock.usage(usage(11.0, cpu_s=11.0, read=2 << 20))
    assert clock.spinning_s(11.0) == 0.0, "a file was read"


def test_a_tree_shrinking_in_memory_is_no_progress():
    clock = StallClock(0.0)
    clock.usage(usage(1.0, memory=9 << 20))
    clock.usage(usage(2.0, memory=1 << 20))
    assert clock.stalled_s(2.0) == 2.0


def test_usage_counts_the_whole_tree_and_descendants_know_it():
    code = "import subprocess, sys; b = bytearray(40 << 20); print(1, flush=True); subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        while len(descendants(child.pid)) < 1:
            pass
        sleeper = descendants(child.pid)[0]
        assert set(descendants(os.getpid())) >= {child.pid, sleeper}
        assert tree_usage(os.getpid(), 0.0).memory_bytes > 40 << 20
        assert is_alive(sleeper, start_ticks(sleeper))
        assert not is_alive(sleeper, 1)
        os.kill(sleeper, 9)
        child.kill()
    assert not is_alive(child.pid)
    assert start_ticks(child.pid) is None
