"""What an executor costs: its throughput beside that of this machine's threads, and its overhead a unit.

    python -m tabiya.bench.scaling --on ray --workers 2

Both executors do the same units with the same number of workers, in turns, so
that whatever else the machine does hits both. Workers are started and warmed
up before the clock runs; how long that took is told apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tabiya import _core
from tabiya.cli.common import print_json
from tabiya.data.teaching import Chunk, Pupils, Teaching
from tabiya.errors import UserError
from tabiya.protocols.engine_path import engine_command
from tabiya.scale.choice import executor_from
from tabiya.scale.executor import Crew, Executor, Hire, Worker
from tabiya.scale.local import LOCAL

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
DEPTH = 5
"""Of a unit that only computes: some tenths of a second."""


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
    figures: dict[str, Any] = {"on": on, "workers": workers, "rounds": rounds}
    with executor_from(on) as other:
        for job in wanted:
            figures[job.name] = _compare(job, {"local": LOCAL, "there": other}, workers, rounds)
    return figures


def _compare(job: Job, executors: dict[str, Executor], workers: int, rounds: int) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {name: [] for name in executors}
    starts: dict[str, list[float]] = {name: [] for name in executors}
    for _ in range(rounds):
        for name, executor in executors.items():
            began = time.perf_counter()
            with executor.crew(job.hire, workers) as crew:
                _work(crew, [*job.units[:workers]])
                warm = time.perf_counter()
                _work(crew, job.units)
                seconds[name].append(time.perf_counter() - warm)
            starts[name].append(warm - began)
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    here, there = middle.values()
    return {
        "units": len(job.units),
        "counted": job.counted,
        "start_seconds": {name: round(statistics.median(times), 3) for name, times in starts.items()},
        "seconds": {name: round(value, 4) for name, value in middle.items()},
        "rate": {name: round(job.amount / value, 1) for name, value in middle.items()},
        "throughput_ratio": round(here / there, 4),
        "overhead_ms_per_unit": round(1000 * workers * (there - here) / len(job.units), 4),
    }


def _work(crew: Crew[Any, Any], units: Sequence[Any]) -> None:
    done = sum(1 for _ in crew.answers(units))
    assert done == len(units)


def main() -> None:
    parser = argparse.ArgumentParser(description="Throughput of an executor over that of this machine.")
    parser.add_argument("--on", default="ray", metavar="WHERE", help="ray or ray:ADDRESS (ray)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="of each (2)")
    parser.add_argument("--units", type=int, default=64, metavar="N", help="of each job and round (64)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="the median counts (3)")
    parser.add_argument("--teacher", metavar="CMD", help="also chunks of labels by this engine")
    parser.add_argument("--nodes", type=int, default=5000, metavar="N", help="of the teacher (5000)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    try:
        figures = measure(args.on, args.workers, args.rounds, jobs(args.units, args.teacher, args.nodes))
    except UserError as error:
        parser.exit(2, f"{error}\n")
    if args.json:
        print_json(figures)
        return
    for name in ("empty", "perft", "labels"):
        if name in figures:
            job = figures[name]
            rates = f"{job['rate']['local']:,.0f} on local, {job['rate']['there']:,.0f} on {figures['on']}"
            print(
                f"{name}: {job['counted']} a second {rates}: {100 * job['throughput_ratio']:.1f} %, "
                f"{job['overhead_ms_per_unit']:.2f} ms of a worker more for each unit"
            )


if __name__ == "__main__":
    main()
