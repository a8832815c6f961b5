"""One command on another machine that goes on when nobody is connected.

In a folder there:

    code/tabiya     this program
    files           where the command runs, with the files it reads and makes
    job/command     what was started        job/pid    its session: `kill -- -PID` ends it
    job/lock        held while it lives     job/log    what it said
    job/out         its standard output, where that is for a program
    job/code        its exit code, once it has ended

Whether it lives is told by the lock, which a reboot or a kill lets go, not by
a number that another process may have by now.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Literal, TypeAlias

from tabiya.errors import UserError
from tabiya.remote.host import Host, UnreachableError

State: TypeAlias = Literal["none", "running", "ended", "died"]
FOLDER = re.compile(r"[\w.+/][\w.+/-]*")
NEEDED = ("rsync", "flock", "setsid", "tail")


@dataclass(frozen=True)
class Found:
    """What stands in the folder."""

    state: State
    code: int | None = None
    command: str = ""


@dataclass(frozen=True)
class Job:
    """The folder on the other machine, and the Python that runs there."""

    host: Host
    folder: str = "tabiya-remote"
    python: str = "python3"

    def __post_init__(self) -> None:
        if not FOLDER.fullmatch(self.folder):
            raise UserError(
                f"--remote-dir must be a path of letters, digits and . _ + - without spaces, "
                f"got {self.folder!r}"
            )
        if "/" in self.python and not self.python.startswith("/"):
            raise UserError(f"--remote-python must be a name or a path from / on, got {self.python!r}")

    def prepare(self) -> None:
        """Make the folder, and see that the machine has what is needed."""
        wanted = " ".join(map(shlex.quote, (*NEEDED, self.python)))
        missing = self.host.ask(
            f"mkdir -p {self.folder}/code/tabiya {self.folder}/files {self.folder}/job || exit 1\n"
            f'for each in {wanted}; do command -v "$each" >/dev/null || echo "$each"; done'
        ).split()
        if missing:
            raise UserError(f"{self.host.address} has no {missing[0]}: install it there")

    def find(self) -> Found:
        """How the command there stands."""
        answer = self.host.ask(
            f"cd {self.folder}/job 2>/dev/null || {{ echo none; exit 0; }}\n"
            "[ -f command ] || { echo none; exit 0; }\n"
            "if ! flock -n lock true; then echo running\n"
            "elif [ -f code ]; then echo ended\n"
            "else echo died; fi\n"
            "cat code 2>/dev/null || echo -\n"
            "cat command"
        ).splitlines()
        states: tuple[State, ...] = ("running", "ended", "died")
        for state in states:
            if answer[0] == state:
                code = int(answer[1]) if answer[1].isdigit() else None
                return Found(state, code, "\n".join(answer[2:]))
        return Found("none")

    def start(self, words: Sequence[str], own_output: bool) -> None:
        """Run `tabiya` with these words in a session of its own; `own_output`: apart from the log."""
        command = self.command(words)
        output = ">../job/out 2>>../job/log" if own_output else ">>../job/log 2>&1"
        session = (
            "exec 9>../job/lock; flock -n 9 || exit 1; echo $$ >../job/pid\n"
            f'PYTHONPATH="$(cd ../code && pwd)" PYTHONUNBUFFERED=1 {command} {output}\n'
            "echo $? >../job/code.part; mv ../job/code.part ../job/code"
        )
        self.host.ask(
            f"cd {self.folder}/files || exit 1\n"
            "rm -f ../job/code ../job/out ../job/pid; : >../job/log\n"
            f"printf '%s\\n' {shlex.quote(command)} >../job/command\n"
            f"setsid nohup sh -c {shlex.quote(session)} </dev/null >/dev/null 2>&1 &\n"
            "for second in 1 2 3 4 5 6 7 8 9; do [ -s ../job/pid ] && exit 0; sleep 1; done\n"
            "echo the command did not start >&2; exit 1"
        )

    def command(self, words: Sequence[str]) -> str:
        """How `find` names a command that was started with these words."""
        return shlex.join([self.python, "-m", "tabiya", *words])

    def follow(self, told: int, to: IO[bytes]) -> int:
        """Tell what the log says after its first `told` bytes until the command ends; the bytes told by then.

        `CutError` where the connection ends first.
        """
        script = f"cd {self.folder}/job && exec tail -c +{told + 1} -f --pid=$(cat pid) log"
        process = subprocess.Popen(
            self.host.command(script),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        with process:
            try:
                while piece := process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
                    to.write(piece)
                    to.flush()
                    told += len(piece)
            except BaseException:
                process.kill()  # or leaving would wait for the end of the command
                raise
            complaint = process.stderr.read().decode(errors="replace").strip()
        if process.returncode != 0:
            raise CutError(told, f"cannot reach {self.host.address}: {complaint or 'the connection ended'}")
        return told

    def output(self) -> str:
        """What the command wrote to a standard output of its own."""
        return self.host.ask(f"cat {self.folder}/job/out")

    def forget(self) -> None:
        """Take away the note of a command that has ended, so that the same words start it anew."""
        self.host.ask(f"cd {self.folder}/job && rm -f command code")


class CutError(UnreachableError):
    """The connection ended while the log was followed."""

    def __init__(self, told: int, text: str) -> None:
        super().__init__(text)
        self.told = told
