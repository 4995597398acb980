"""A trial to be killed: starts a hostile server and waits. ``scripted_trial.py FOLDER``."""

import sys
import time
from pathlib import Path

from shakedown.launch.lifeline import die_with_parent

die_with_parent()

from tests.unit.launch.scripted import start  # noqa: E402 - the tie to the parent comes first

server = start(Path(sys.argv[1]), "ignores-term", "double-fork")
print("started", server.wait_ready(), flush=True)
time.sleep(300)
