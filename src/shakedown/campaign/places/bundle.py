"""Shakedown as something to carry: its own package and its dependencies, built for another machine's interpreter.

The far side needs nothing but Python with its ``venv`` module: no index, no pip, no compiler. Wheels are chosen here
for the interpreter there (``pip install --target --platform --python-version``), and unpacked there into an environment
of their own, so that no variable of ours reaches the engine.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shakedown import __version__
from shakedown.campaign.places.remote.spool import cache_folder
from shakedown.domain.base import Value
from shakedown.domain.errors import UserError

DISTRIBUTION = "llm-shakedown"
PACKAGE = Path(__file__).parents[2]
REPORT_ONLY = frozenset({"altair", "vl-convert-python", "jinja2"})
"""Reports are made at home; these are two fifths of the weight."""
_OLDEST_GLIBC_MINOR = 17
"""manylinux2014; what is older has no wheels of ours."""
_WORDS = 1500


class Interpreter(Value):
    """An interpreter on another machine, as far as the choice of wheels depends on it."""

    python: str
    version: tuple[int, int]
    machine: str
    """``x86_64``, ``aarch64``."""
    glibc: tuple[int, int] | None
    """None: another C library."""

    def tags(self) -> list[str]:
        """Platforms whose wheels it can load (PEP 600), best first."""
        if self.glibc is None:
            raise UserError(f"{self.python} runs on a system without glibc, for which Shakedown cannot choose packages")
        minors = range(self.glibc[1], _OLDEST_GLIBC_MINOR - 1, -1)
        return [*(f"manylinux_2_{minor}_{self.machine}" for minor in minors), f"manylinux2014_{self.machine}"]


def bundle_key(interpreter: Interpreter) -> str:
    """Names the environment: version, interpreter, and a hash of this very code and of what it depends on."""
    digest = hashlib.sha256("\n".join(requirements()).encode())
    for path in _package_files():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    tags = "-".join(interpreter.tags()[:1])
    major, minor = interpreter.version
    return f"{__version__}-py{major}{minor}-{tags}-{digest.hexdigest()[:12]}"


def bundle_for(interpreter: Interpreter) -> Path:
    """Return a tar file that holds the content of ``site-packages`` for ``interpreter``; built once, then kept.

    Raises:
        UserError: pip is missing here, or finds no packages for that interpreter.
    """
    folder = cache_folder() / "bundles"
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"{bundle_key(interpreter)}.tar.gz"
    with _alone(folder / "lock"):
        if not bundle.exists():
            with tempfile.TemporaryDirectory(dir=folder) as work:
                dependencies = _dependencies(interpreter, folder)
                part = Path(work) / "bundle"
                with tarfile.open(part, "w:gz", compresslevel=1) as tar:
                    tar.add(dependencies, arcname=".")
                    for path in _package_files():
                        tar.add(path, arcname=f"shakedown/{path.relative_to(PACKAGE)}")
                part.replace(bundle)
    return bundle


def requirements() -> list[str]:
    """The core dependencies as the installed package, or the source tree, names them; those of reports left out.

    Raises:
        UserError: neither says.
    """
    try:
        named = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        project = PACKAGE.parents[1] / "pyproject.toml"
        if not project.exists():
            raise UserError(
                f"the package {DISTRIBUTION} is not installed in {sys.executable}, so its dependencies are unknown; "
                "install it, or name an interpreter on the host with [place] shakedown"
            ) from None
        named = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    core = [line for line in named if "extra ==" not in line]
    return sorted(line for line in core if _name(line) not in REPORT_ONLY)


def _name(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match.group()).lower() if match else requirement


def _package_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _dependencies(interpreter: Interpreter, folder: Path) -> Path:
    """A folder with the dependencies unpacked; kept, for they change less often than Shakedown itself."""
    major, minor = interpreter.version
    digest = hashlib.sha256("\n".join(requirements()).encode()).hexdigest()[:12]
    site = folder / f"site-py{major}{minor}-{interpreter.tags()[0]}-{digest}"
    if site.exists():
        return site
    part = Path(tempfile.mkdtemp(dir=folder))
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    words += ["--target", str(part), "--only-binary=:all:", "--implementation", "cp"]
    words += ["--python-version", f"{major}.{minor}"]
    words += [word for tag in interpreter.tags() for word in ("--platform", tag)]
    done = subprocess.run([*words, *requirements()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(part)
        raise UserError(
            f"Shakedown's packages for Python {major}.{minor} on {interpreter.machine} cannot be had here: "
            f"{done.stderr.strip()[-_WORDS:]}; install Shakedown {__version__} on the host and name its interpreter "
            "with [place] shakedown"
        )
    part.rename(site)
    return site


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


PROBE = """
import json, os, platform, sys
def glibc():
    try: return [int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2]]
    except (ValueError, OSError, AttributeError): return None
root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "shakedown", "places", "env")
there = [n for n in (os.listdir(root) if os.path.isdir(root) else []) if not n.endswith(".part")]
print("shakedown-probe " + json.dumps({"python": sys.executable, "version": list(sys.version_info[:2]),
    "machine": platform.machine(), "glibc": glibc(), "root": root, "there": there}))
"""
"""Run by an interpreter on the far side, of any version: says what it is and which environments are there."""

UNPACK = """
import os, subprocess, sys, tarfile
root, key = sys.argv[1], sys.argv[2]
os.makedirs(root, mode=0o700, exist_ok=True)
part = os.path.join(root, "%s.%d.part" % (key, os.getpid()))
subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", part])
site = os.path.join(part, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|gz") as tar:
    tar.extractall(site, filter="tar") if hasattr(tarfile, "tar_filter") else tar.extractall(site)
python = os.path.join(part, "bin", "python")
subprocess.check_call([python, "-P", "-c", "import shakedown.cli.trial, shakedown.campaign.places.remote.call"])
try: os.rename(part, os.path.join(root, key))
except OSError:
    import shutil
    shutil.rmtree(part)
    if not os.path.isdir(os.path.join(root, key)): raise
print("shakedown-unpacked")
"""
"""Makes the environment out of a bundle on standard input; several may do so at once, one wins."""
