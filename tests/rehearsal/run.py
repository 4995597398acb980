"""Entry of the scripted engines: ``python run.py sglang --model-path …``, ``python run.py vllm MODEL …``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    importlib.import_module(f"tests.rehearsal.{sys.argv[1]}").main(sys.argv[2:])
