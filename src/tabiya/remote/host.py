"""Another machine, as ssh and rsync reach it: asking it something, bringing files there and back.

Nothing here knows what is run there. ssh keeps its own settings and its own
word on whom to trust; it never asks a question, because nobody may be there
to answer.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tabiya.errors import UserError

SSH = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15")
LOST = {10, 12, 30, 35, 255}
"""What rsync ends with where the connection, and not a file, was at fault; ssh ends with the last."""


class UnreachableError(UserError):
    """The machine does not answer, or has ceased to."""


@dataclass(frozen=True)
class Host:
    """Where to log in, and how."""

    address: str
    """USER@HOST, or a name that ssh knows."""
    port: int | None = None
    key: Path | None = None
    config: Path | None = None
    """Settings for ssh, instead of the user's own."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[\w.+-]+@[\w.-]+|\w[\w.-]*", self.address) or self.address.startswith("-"):
            raise UserError(f"--remote reads USER@HOST, got {self.address!r}")
        if self.port is not None and not 0 < self.port < 65536:
            raise UserError(f"--port must lie between 1 and 65535, got {self.port}")
        for name, path in (("key", self.key), ("ssh configuration", self.config)):
            if path is not None and not path.is_file():
                raise UserError(f"no {name} {path}")
        for program in ("ssh", "rsync"):
            if shutil.which(program) is None:
                raise UserError(f"--remote needs {program}, which is not installed here")

    @property
    def ssh(self) -> list[str]:
        """The command that logs in, all but the address."""
        words = ["ssh", *SSH]
        words += [] if self.config is None else ["-F", str(self.config)]
        words += [] if self.port is None else ["-p", str(self.port)]
        words += [] if self.key is None else ["-i", str(self.key), "-o", "IdentitiesOnly=yes"]
        return words

    def command(self, script: str) -> list[str]:
        """The words that run a shell script there."""
        return [*self.ssh, "--", self.address, f"sh -c {shlex.quote(script)}"]

    def ask(self, script: str) -> str:
        """What a shell script prints there."""
        answer = subprocess.run(
            self.command(script), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
        )
        self._judge(answer.returncode, answer.stderr)
        return answer.stdout

    def send(self, paths: Sequence[str], folder: str, *options: str) -> None:
        """Bring files and folders there, links as what they point to."""
        self._rsync([*options, "--copy-links"], [*paths, f"{self.address}:{folder}/"])

    def fetch(self, path: str, folder: Path, *options: str) -> None:
        """Bring what is in a folder there into one here."""
        folder.mkdir(parents=True, exist_ok=True)
        self._rsync([*options], [f"{self.address}:{path}/", f"{folder}/"])

    def _rsync(self, options: Sequence[str], paths: Sequence[str]) -> None:
        shown = sys.stderr.isatty()
        words = ["rsync", "--archive", "--no-owner", "--no-group", "--partial-dir=.rsync-partial", *options]
        words += ["--info=progress2"] if shown else []
        words += ["--rsh", shlex.join(self.ssh), "--", *paths]
        ended = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if shown else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        self._judge(255 if ended.returncode in LOST else ended.returncode, ended.stderr)

    def _judge(self, code: int, complaint: str) -> None:
        lines = [line.strip() for line in complaint.splitlines() if line.strip()]
        if code == 255:
            why = next((line for line in lines if not line.startswith("rsync")), f"ssh ended with {code}")
            raise UnreachableError(f"cannot reach {self.address}: {why}")
        if code:
            raise UserError(f"{self.address} says: {lines[0] if lines else f'exit code {code}'}")
