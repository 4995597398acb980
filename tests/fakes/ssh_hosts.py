"""Real hosts with real sshd on this machine: network namespaces with addresses of their own, or loopback alone."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
REPOSITORY = Path(__file__).parents[2]
_OWN = os.getpid() % 250
"""Two test runs at the same time must not meet."""
_NETWORK = f"10.213.{_OWN}"


def require_sshd() -> None:
    """Skip the test where there is no sshd; nothing is installed for it."""
    if SSHD is None:
        pytest.skip("no sshd (Debian: apt-get install openssh-server)")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)


def require_namespaces() -> None:
    require_sshd()
    made = subprocess.run(["ip", "netns", "add", f"sdprobe{_OWN}"], capture_output=True, check=False)
    if made.returncode != 0:
        pytest.skip("network namespaces are not permitted here")
    subprocess.run(["ip", "netns", "del", f"sdprobe{_OWN}"], check=True)


@dataclass
class Host:
    """One host: an sshd with a home of its own, and where it runs."""

    name: str
    address: str
    port: int
    folder: Path
    namespace: str | None = None
    cable: str | None = None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        inside = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        renamed = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name] if self.namespace else []
        command = [*inside, *renamed, str(SSHD), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        with (self.folder / "sshd.log").open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection((self.address, self.port), 1):
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "sshd.log").read_text())

    def stop(self) -> None:
        """The listener alone; sessions go on, as when a service manager restarts it."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def kill_sessions(self) -> None:
        """Every sshd of this host, so that all connections break."""
        for pid in self._sshds():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def _sshds(self) -> list[int]:
        listed = subprocess.run(["ps", "-eo", "pid,ppid,comm"], capture_output=True, text=True, check=True).stdout
        parents = {
            int(pid): (int(ppid), comm) for pid, ppid, comm in (line.split(None, 2) for line in listed.splitlines()[1:])
        }
        assert self.process is not None
        own = {self.process.pid}
        for _ in range(3):
            own |= {pid for pid, (ppid, comm) in parents.items() if ppid in own and comm.startswith("sshd")}
        return sorted(own, reverse=True)

    def cut(self) -> None:
        assert self.cable is not None
        subprocess.run(["ip", "link", "set", self.cable, "down"], check=True)

    def mend(self) -> None:
        assert self.cable is not None
        subprocess.run(["ip", "link", "set", self.cable, "up"], check=True)

    def pids(self) -> list[int]:
        """All processes of this host."""
        assert self.namespace is not None
        found = subprocess.run(["ip", "netns", "pids", self.namespace], capture_output=True, text=True, check=True)
        return [int(pid) for pid in found.stdout.split()]

    def kill(self) -> None:
        """As when the power fails: the cable is dead and so is every process, all at once."""
        self.cut()
        for _ in range(3):
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        assert self.process is not None
        self.process.wait()


class Network:
    """Some hosts and the ssh configuration that reaches them."""

    def __init__(self, folder: Path, *, bare: bool = False) -> None:
        self.folder = folder
        self.bare = bare
        """The hosts know nothing of this source tree."""
        self.hosts: dict[str, Host] = {}
        self.runs: list[subprocess.Popen[bytes]] = []
        """Campaigns over these hosts; ended with them."""
        self.config = folder / "ssh_config"

    def write_config(self, user: str) -> None:
        key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        known = []
        for host in self.hosts.values():
            host_key = host.folder / "host_key"
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(host_key)], check=True)
            where = host.address if host.port == 22 else f"[{host.address}]:{host.port}"
            known.append(f"{where} {host_key.with_suffix('.pub').read_text()}")
            home = host.folder / "home"
            home.mkdir()
            path = "" if self.bare else f" PYTHONPATH={REPOSITORY / 'src'}{os.pathsep}{REPOSITORY}"
            cache = home / ".cache"
            (host.folder / "sshd_config").write_text(
                f"Port {host.port}\nListenAddress {host.address}\nHostKey {host_key}\nPidFile none\n"
                f"AuthorizedKeysFile {key}.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                f"PermitRootLogin yes\nSetEnv HOME={home} XDG_CACHE_HOME={cache}{path}\n"
            )
        (self.folder / "known_hosts").write_text("\n".join(known))
        self.config.write_text(
            "".join(
                f"Host {host.name}\n  HostName {host.address}\n  Port {host.port}\n" for host in self.hosts.values()
            )
            + f"Host *\n  User {user}\n  IdentityFile {key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.folder / 'known_hosts'}\n  StrictHostKeyChecking yes\n"
        )

    def place(self, *, hosts: str | None = None, more: str = "") -> str:
        """A ``[place]`` that uses them."""
        names = hosts or ", ".join(f'"{name}"' for name in self.hosts)
        own = "" if self.bare else f'shakedown = "{sys.executable}"\n'
        return f'[place]\nkind = "ssh"\nhosts = [{names}]\nssh_config = "{self.config}"\n{own}{more}\n'


@contextlib.contextmanager
def loopback_host(folder: Path) -> Iterator[Network]:
    """One host on 127.0.0.1; needs no rights."""
    require_sshd()
    network = Network(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "near").mkdir(parents=True)
    network.hosts["near"] = Host("near", "127.0.0.1", port, folder / "near")
    network.write_config(subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip())
    host = network.hosts["near"]
    host.start()
    try:
        yield network
    finally:
        host.kill_sessions()


@contextlib.contextmanager
def namespaces(folder: Path, *names: str, bare: bool = False) -> Iterator[Network]:
    """Hosts in network namespaces of their own, behind one bridge; needs root."""
    require_namespaces()
    network = Network(folder, bare=bare)

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    bridge = f"sdb{_OWN}"
    for number, name in enumerate(names):
        (folder / name).mkdir(parents=True)
        network.hosts[name] = Host(
            name,
            f"{_NETWORK}.{number + 2}",
            22,
            folder / name,
            namespace=f"sd{_OWN}-{name}",
            cable=f"sdv{_OWN}-{number}",
        )
    network.write_config("root")
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{_NETWORK}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for host in network.hosts.values():
            assert host.namespace is not None
            assert host.cable is not None
            ip("netns", "add", host.namespace)
            ip("link", "add", host.cable, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            ip("link", "set", host.cable, "master", bridge, "up")
            ip("-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", host.namespace, "link", "set", "eth0", "up")
            ip("-n", host.namespace, "link", "set", "lo", "up")
            host.start()
        yield network
    finally:
        for run in network.runs:
            run.kill()
            run.wait()
        for host in network.hosts.values():
            with contextlib.suppress(subprocess.CalledProcessError, AssertionError):
                for pid in host.pids():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            if host.process is not None:
                host.process.wait()
            subprocess.run(["ip", "link", "del", host.cable or ""], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "del", host.namespace or ""], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)
