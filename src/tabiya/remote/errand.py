"""A command of this program done on another machine: files there, the run, its log, the results back.

The same command goes on with whatever it finds: a run that is still going is
followed, one that has ended is fetched, one that was killed is started again
(and goes on from its checkpoint). Of a file that lies on both machines the
newer one counts, so that phases may be run here and there in turn.
"""

from __future__ import annotations

import glob
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, TypeAlias, TypeVar

import tabiya
from tabiya.errors import UserError
from tabiya.remote.host import UnreachableError
from tabiya.remote.job import CutError, Job

PAUSES = (1, 2, 4, 8, 15, 30, 60)
"""Seconds between attempts to reach a machine that was there before."""
ENGINES = ("command", "teacher")
"""Settings that name programs of the machine that runs them, and no files to bring there."""
NETWORK = ("*.json", "*.jsonl", "*.onnx", "*.safetensors")

Bring: TypeAlias = Literal["all", "network"]
Result = TypeVar("Result")


def inputs(config: str, values: Mapping[str, Any]) -> list[str]:
    """The config and whatever it names that is here: files and folders, also by patterns; all relative."""
    named = [part for text in _texts(values) for part in text.split(":") if part]
    found = [path for part in named for path in ([part] if Path(part).exists() else glob.glob(part))]
    return [relative(path) for path in dict.fromkeys([config, *found])]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name != "work" and not (name in ENGINES and isinstance(each, str)):
                yield from _texts(each)


def relative(path: str | Path) -> str:
    """A path that means the same on both machines; `UserError` for any other."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise UserError(
            f"with --remote, paths lead on from the folder at hand, but {path} does not: "
            "go to a folder above it, or put a link to it here"
        )
    return str(pure)


@dataclass(frozen=True)
class Errand:
    """What is to be done there."""

    words: tuple[str, ...]
    """The command, without `tabiya`."""
    files: tuple[str, ...]
    """What it reads."""
    work: str
    """The folder in which it works: brought there if it is here, and back at the end."""
    own_output: bool = False
    """Its standard output is for a program, and comes apart from the log."""
    bring: Bring = "all"


def run(errand: Errand, job: Job) -> int:
    """Do it, or go on with it; the exit code of the command there."""
    job.prepare()
    found = job.find()
    same = found.command == job.command(errand.words)
    if found.state == "running" and not same:
        raise UserError(
            f"{job.host.address} is at work in {job.folder} with `{found.command}`: "
            "give that command to follow it, or use another --remote-dir"
        )
    if found.state == "running":
        _say(f"{job.host.address} is at it: its log from the beginning")
    elif not (found.state == "ended" and same):
        _send(errand, job)
        job.start(errand.words, errand.own_output)
        _say(f"{job.host.address} has begun; it goes on without us, and the same command follows it again")
    code = _to_the_end(errand, job)
    _patiently(lambda: _bring(errand, job), job)
    if errand.own_output:
        sys.stdout.write(_patiently(job.output, job))
        sys.stdout.flush()
    _patiently(job.forget, job)
    return code


def _send(errand: Errand, job: Job) -> None:
    _say(f"bringing code and files to {job.host.address}:{job.folder}")
    package = Path(tabiya.__file__).parent
    job.host.send([f"{package}/"], f"{job.folder}/code/tabiya", "--delete", "--exclude=__pycache__")
    there = [f"./{path}" for path in (*errand.files, errand.work) if Path(path).exists()]
    job.host.send(there, f"{job.folder}/files", "--relative", "--update")


def _bring(errand: Errand, job: Job) -> None:
    chosen: Sequence[str] = ()
    if errand.bring == "network":
        chosen = ("--include=*/", *(f"--include={name}" for name in NETWORK), "--exclude=*")
        chosen = (*chosen, "--prune-empty-dirs")
    where = f"{job.folder}/files/{errand.work}"
    # A command that was refused may have made nothing.
    if job.host.ask(f"[ -d {shlex.quote(where)} ] && echo yes || echo no").strip() == "yes":
        job.host.fetch(where, Path(errand.work), "--update", *chosen)


def _to_the_end(errand: Errand, job: Job) -> int:
    """Follow the log, over as many connections as it takes; the command's exit code."""
    told, stream = 0, _stream(errand)
    failures = 0
    while True:
        try:
            told = job.follow(told, stream)
            found = job.find()
        except UnreachableError as error:
            if isinstance(error, CutError):
                failures = 0 if error.told > told else failures
                told = error.told
            if failures == len(PAUSES):
                raise _gone(job, error) from None
            _say(f"{error}; trying again")
            time.sleep(PAUSES[failures])
            failures += 1
            continue
        failures = 0
        if found.code is not None:
            return found.code
        if found.state != "running":
            raise UserError(
                f"the command on {job.host.address} was ended from outside: the same command starts it "
                "again, and it goes on from what it has"
            )
        time.sleep(1)


def _patiently(work: Callable[[], Result], job: Job) -> Result:
    """Do it, again and again where the connection fails."""
    for pause in PAUSES:
        try:
            return work()
        except UnreachableError as error:
            _say(f"{error}; trying again")
            time.sleep(pause)
    try:
        return work()
    except UnreachableError as error:
        raise _gone(job, error) from None


def _gone(job: Job, error: UnreachableError) -> UserError:
    return UserError(f"{error}; whatever runs there goes on, and the same command follows it from here")


def _stream(errand: Errand) -> IO[bytes]:
    return sys.stderr.buffer if errand.own_output else sys.stdout.buffer


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
