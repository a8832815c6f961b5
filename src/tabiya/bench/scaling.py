"""What an executor costs: its throughput beside that of this machine's threads, and its overhead a unit.

    python -m tabiya.bench.scaling --on ray --workers 2 --teacher stockfish --out FILE --write-docs

Both executors do the same units with the same number of workers, in turns, the
order changing every time, so that whatever else the machine does hits both. A
ratio is taken in each turn; the median counts, the least and the most are told.
Workers are started and warmed up before the clock runs; how long that took is
told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabiya import _core
from tabiya.arena.provenance import provenance
from tabiya.cli.common import exit_code
from tabiya.data.teaching import Chunk, Pupils, Teaching
from tabiya.errors import UserError
from tabiya.protocols.engine_path import engine_command
from tabiya.reports.doc_tables import add_page_arguments, publish, rounded, table
from tabiya.scale.choice import executor_from
from tabiya.scale.executor import Crew, Executor, Hire, Worker
from tabiya.scale.local import LOCAL

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
DEPTH = 5
"""Of a unit that only computes."""
PAGE = "docs/scaling.md"


class Counter(Worker[int, int]):
    """Counts the leaves of a tree so many plies deep; with 0 plies it has nothing to do."""

    def answer(self, unit: int) -> int:
        return _core.perft(START, unit) if unit else 0


@dataclass(frozen=True)
class Job:
    """Units of one kind, and what they are counted in."""

    name: str
    hire: Hire[Any, Any]
    units: Sequence[Any]
    counted: str
    amount: int
    """Of what is counted, in all units together."""


def jobs(units: int, teacher: str | None, nodes: int) -> list[Job]:
    """The empty unit, the unit that computes, and chunks of labels where there is a teacher."""
    found = [
        Job("empty", Counter, [0] * (20 * units), "units", 20 * units),
        Job("perft", Counter, [DEPTH] * units, "units", units),
    ]
    words = None if teacher is None else engine_command(teacher)
    if teacher is not None and words is None:
        raise UserError(f"no engine {teacher!r} found: install it, or name another with --teacher")
    if words is not None:
        teaching = Teaching(command=words[0], arguments=tuple(words[1:]), nodes=nodes)
        size = teaching.chunk
        packed = np.ascontiguousarray(_core.random_positions(size * units, 1))
        chunks = [
            Chunk(number, f"chunk {number}", packed[number * size : (number + 1) * size])
            for number in range(units)
        ]
        found.append(Job("labels", Pupils(teaching), chunks, "positions", len(packed)))
    return found


def measure(on: str, workers: int, rounds: int, wanted: Sequence[Job]) -> dict[str, Any]:
    """For each job: start-up, seconds and rate of both executors ("local", "there"), and their ratio."""
    figures: dict[str, Any] = {
        "question": f"What does --on {on} cost beside the threads of this machine?",
        "on": on,
        "workers": workers,
        "rounds": rounds,
        "load_average": round(os.getloadavg()[0], 2),
        "jobs": {},
        **provenance(),
    }
    with executor_from(on) as other:
        for job in wanted:
            figures["jobs"][job.name] = _compare(job, {"local": LOCAL, "there": other}, workers, rounds)
    return figures


def _compare(job: Job, executors: dict[str, Executor], workers: int, rounds: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {name: [] for name in executors}
    starts: dict[str, list[float]] = {name: [] for name in executors}
    for turn in range(rounds):
        for name in list(executors)[:: 1 if turn % 2 == 0 else -1]:
            began = time.perf_counter()
            with executors[name].crew(job.hire, workers) as crew:
                _work(crew, [*job.units[:workers]])
                warm = time.perf_counter()
                _work(crew, job.units)
                seconds[name].append(time.perf_counter() - warm)
            starts[name].append(warm - began)
    return {
        "units": len(job.units),
        "counted": job.counted,
        "start_seconds": {name: round(statistics.median(times), 3) for name, times in starts.items()},
        **compared(job.amount, len(job.units), workers, seconds["local"], seconds["there"]),
    }


def compared(
    amount: int, units: int, workers: int, local: Sequence[float], there: Sequence[float]
) -> dict[str, Any]:
    """Rates, and turn by turn the ratio of throughput and what a unit costs a worker more there.

    >>> found = compared(100, 10, 2, [1.0, 1.0, 1.0], [1.25, 1.0, 2.0])
    >>> found["throughput_ratio"], found["overhead_ms_per_unit"]
    ({'median': 0.8, 'least': 0.5, 'most': 1.0}, {'median': 50.0, 'least': 0.0, 'most': 200.0})
    """
    turns = list(zip(local, there, strict=True))
    seconds = {"local": list(local), "there": list(there)}
    return {
        "seconds": {name: [round(value, 4) for value in times] for name, times in seconds.items()},
        "rate": {name: round(amount / statistics.median(times), 1) for name, times in seconds.items()},
        "throughput_ratio": _spread([here / away for here, away in turns]),
        "overhead_ms_per_unit": _spread([1000 * workers * (away - here) / units for here, away in turns]),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    found = {"median": statistics.median(values), "least": min(values), "most": max(values)}
    return {name: round(value, 4) for name, value in found.items()}


def _work(crew: Crew[Any, Any], units: Sequence[Any]) -> None:
    done = sum(1 for _ in crew.answers(units))
    assert done == len(units)


NAMES = {"empty": "empty", "perft": f"perft of {DEPTH} plies", "labels": "a chunk of labels"}


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The table of docs/scaling.md, by its mark there."""
    on, rows = figures["on"], []
    for name, job in figures["jobs"].items():
        ratio, overhead = job["throughput_ratio"], job["overhead_ms_per_unit"]
        rows.append(
            [
                NAMES.get(name, name),
                f"{job['units']:,}",
                *(f"{rounded(job['rate'][where])} {job['counted']}/s" for where in ("local", "there")),
                f"{100 * ratio['median']:.1f} % ({100 * ratio['least']:.1f} to {100 * ratio['most']:.1f})",
                f"{overhead['median']:.2f} ({overhead['least']:.2f} to {overhead['most']:.2f})",
            ]
        )
    heads = [
        "unit",
        "units a turn",
        "`local`",
        f"`{on}`",
        f"throughput of `{on}`",
        "overhead a unit, ms of a worker",
    ]
    machine = figures["machine"]
    source = (
        f"{figures['workers']} workers on {machine['cores']} cores ({machine['processor']}), "
        f"{figures['rounds']} turns, {figures['date']}, "
        f"load average {figures['load_average']:g} at the start."
    )
    return {"executor costs": f"{table(heads, rows)}\n\n{source}"}


def read_figures(path: Path) -> dict[str, Any]:
    """Figures of an earlier run."""
    try:
        figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        tables(figures)
    except (ValueError, KeyError, TypeError, OSError):
        raise UserError(
            f"{path} holds no figures, as `python -m tabiya.bench.scaling --out FILE` writes"
        ) from None
    return figures


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tabiya.bench.scaling",
        description="Throughput of an executor over that of this machine.",
    )
    parser.add_argument("--on", default="ray", metavar="WHERE", help="ray or ray:ADDRESS (ray)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of each (2)")
    parser.add_argument("--units", type=int, default=64, metavar="N", help="of each job and turn (64)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="turns, the median counts (5)")
    parser.add_argument("--teacher", metavar="CMD", help="also chunks of labels by this engine")
    parser.add_argument("--nodes", type=int, default=5000, metavar="N", help="of the teacher (5000)")
    parser.add_argument("--from", dest="file", metavar="FILE", help="measure nothing, read these figures")
    add_page_arguments(parser, PAGE, "results/scaling-ray.json")
    args = parser.parse_args(words)
    return exit_code(lambda: _run(args))


def _run(args: argparse.Namespace) -> None:
    for option in ("workers", "units", "rounds", "nodes"):
        if getattr(args, option) < 1:
            raise UserError(f"--{option} must be at least 1, got {getattr(args, option)}")
    if args.file is not None:
        figures = read_figures(Path(args.file))
    else:
        figures = measure(args.on, args.workers, args.rounds, jobs(args.units, args.teacher, args.nodes))
    publish(args, figures, tables(figures))


if __name__ == "__main__":
    sys.exit(main())
