"""Trials to be killed: for each folder read from standard input, forks a trial that starts a hostile server and waits.

Forked, so that every moment of a trial's life can be hit without waiting for Python's imports again and again.
"""

import os
import sys
import time
from pathlib import Path

from tests.unit.launch.scripted import TOKEN_VARIABLE, start

from shakedown.launch.lifeline import die_with_parent

for line in sys.stdin:
    token, folder = line.split()
    os.environ[TOKEN_VARIABLE] = token
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        server = start(Path(folder), "ignores-term", "double-fork")
        server.wait_ready()
        print("ready", token, flush=True)
        time.sleep(300)
    print("pid", pid, flush=True)
    os.waitpid(pid, 0)
