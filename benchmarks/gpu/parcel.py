"""Carry archives to a machine that takes only so many bytes a call: split here, joined and unpacked there.

    python -m benchmarks.gpu.parcel split FOLDER --mib 56 A.tar.xz B.tar.xz     # FOLDER/1, FOLDER/2, ...
    python parcel.py join FOLDER/1 TARGET                                       # there, for each part in turn

An archive is unpacked as soon as its last byte has come, so that work begins while others are still on their way.
The joining half needs Python's standard library alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import tarfile
from pathlib import Path

BLOCK = 1 << 20


def split(folder: Path, archives: list[Path], part_bytes: int) -> int:
    """Write the archives, one after another, into numbered parts; return how many parts there are."""
    shutil.rmtree(folder, ignore_errors=True)
    index = [{"name": path.name, "bytes": path.stat().st_size, "sha256": digest(path)} for path in archives]
    whole = b"".join(path.read_bytes() for path in archives)
    starts = range(0, len(whole), part_bytes)
    for number, start in enumerate(starts, 1):
        part = folder / str(number)
        part.mkdir(parents=True)
        (part / "part").write_bytes(whole[start : start + part_bytes])
        (part / "index.json").write_text(json.dumps({"number": number, "archives": index}))
    return len(starts)


def join(part: Path, target: Path) -> list[str]:
    """Append a part to what has come; unpack every archive that is whole and return its names."""
    notes = json.loads((part / "index.json").read_text())
    target.mkdir(parents=True, exist_ok=True)
    received, state_file = target / "received", target / "received.json"
    state = json.loads(state_file.read_text()) if state_file.exists() else {"parts": 0, "unpacked": 0}
    if notes["number"] != state["parts"] + 1:
        raise SystemExit(f"part {notes['number']} came, part {state['parts'] + 1} is next")
    with received.open("ab") as out, (part / "part").open("rb") as source:
        shutil.copyfileobj(source, out, BLOCK)
    state["parts"] += 1
    unpacked = []
    start = sum(one["bytes"] for one in notes["archives"][: state["unpacked"]])
    for archive in notes["archives"][state["unpacked"] :]:
        if start + archive["bytes"] > received.stat().st_size:
            break
        _unpack(received, start, archive, target)
        start += archive["bytes"]
        state["unpacked"] += 1
        unpacked.append(archive["name"])
    state_file.write_text(json.dumps(state))
    return unpacked


def _unpack(received: Path, start: int, archive: dict[str, object], target: Path) -> None:
    size, whole = int(str(archive["bytes"])), target / str(archive["name"])
    with received.open("rb") as source, whole.open("wb") as out:
        source.seek(start)
        while size:
            size -= out.write(source.read(min(BLOCK, size)))
    if digest(whole) != archive["sha256"]:
        raise SystemExit(f"{whole.name} came damaged")
    with tarfile.open(whole) as packed:
        packed.extractall(target, filter="fully_trusted")
    whole.unlink()


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def main() -> None:
    """Split or join."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    splitting = commands.add_parser("split")
    splitting.add_argument("folder", type=Path)
    splitting.add_argument("archives", type=Path, nargs="+")
    splitting.add_argument("--mib", type=float, default=56.0, help="size of a part")
    joining = commands.add_parser("join")
    joining.add_argument("part", type=Path)
    joining.add_argument("target", type=Path)
    given = parser.parse_args()
    if given.command == "split":
        print(split(given.folder, given.archives, int(given.mib * BLOCK)), "parts")
    else:
        print("unpacked:", ", ".join(join(given.part, given.target)) or "nothing yet")


if __name__ == "__main__":
    main()
