"""What a trial is called away from here: readable, and never the same for two trials of whatever campaigns."""

from __future__ import annotations

import hashlib
import socket
import uuid
from pathlib import Path


def spool_name(folder: Path) -> str:
    """A name for the trial in ``folder``, new each time."""
    digest = hashlib.sha256(f"{socket.gethostname()}:{folder}:{uuid.uuid4()}".encode()).hexdigest()[:12]
    return f"{folder.name}-{digest}"
