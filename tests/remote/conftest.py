"""A real sshd on this machine's loopback, with keys of its own, for as long as a test run lasts."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Server:
    """Where a test can log in."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def options(self) -> list[str]:
        """What the command line is told of it."""
        return [
            *("--remote", f"{getpass.getuser()}@127.0.0.1", "--port", str(self.port)),
            *("--key", str(self.folder / "key"), "--ssh-config", str(self.folder / "ssh_config")),
        ]

    def connections(self) -> list[int]:
        """The processes of sshd that serve one connection each."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(child) for child in children.split()]


def _required(*programs: str) -> list[str]:
    """Full paths; a test without them is skipped with the reason, or fails in CI, which installs them."""
    search = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    found = [shutil.which(program, path=search) for program in programs]
    for program, path in zip(programs, found, strict=True):
        if path is None:
            reason = f"{program} is not installed"
            if os.environ.get("CI"):
                pytest.fail(f"{reason}, and CI installs it")
            pytest.skip(reason)
    return [path for path in found if path is not None]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    sshd, _, _, keygen = _required("sshd", "ssh", "rsync", "ssh-keygen")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("key", "host_key"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    shutil.copy(folder / "key.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\n"
        f"AuthorizedKeysFile {folder}/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n"
        "SetEnv OMP_NUM_THREADS=1\n"
    )
    public = (folder / "host_key.pub").read_text()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {public}")
    (folder / "ssh_config").write_text(
        f"UserKnownHostsFile {folder}/known_hosts\nStrictHostKeyChecking yes\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd, as root, wants this folder to be there
    process = subprocess.Popen(
        [sshd, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=(folder / "log").open("wb")
    )
    try:
        _answers(process, port, folder / "log")
        yield Server(folder, port, process)
    finally:
        process.terminate()
        process.wait()


def _answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if process.poll() is not None:
            pytest.fail(f"sshd did not start: {log.read_text()}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail("sshd does not answer")
