"""What data, games and training cost: measured here, priced, and written into docs/scaling.md.

    python -m tabiya.bench.cost --out results/costs.json --write-docs     # measure, some minutes
    python -m tabiya.bench.cost --from results/costs.json --write-docs    # the tables anew from a file

Labels, games and extraction are measured on a core of this machine; the rates
of training are read from `results`, where the GPU's measurements are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.arena.provenance import provenance
from tabiya.bench.cost_measure import (
    GAME_KINDS,
    LABEL_KINDS,
    GameKind,
    measure_extraction,
    measure_games,
    measure_labels,
    read_training,
)
from tabiya.bench.cost_tables import prices, tables
from tabiya.bench.inputs import pgn_inputs
from tabiya.cli.common import Meter, exit_code, progress
from tabiya.data.shards import RECORD
from tabiya.errors import UserError
from tabiya.protocols.engine_path import engine_command
from tabiya.reports.doc_tables import add_page_arguments, publish
from tabiya.roster import open_player

PAGE = "docs/scaling.md"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is measured."""

    positions: int = 20_000
    """Labelled with a value."""
    all_moves: int = 1000
    """Labelled with a score for every move, at depth 6."""
    deep: int = 40
    """The same at depth 12."""
    games: int = 40
    """Of a kind; half as many of the long ones."""
    rounds: int = 3
    """Labels and extraction are measured so often."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise UserError(f"--{name.replace('_', '-')} must be at least 1, got {value}")


def measure(
    effort: Effort,
    teacher: str,
    pgn: Path | None,
    results: Path,
    meter: Meter,
    kinds: Sequence[GameKind] = GAME_KINDS,
) -> dict[str, Any]:
    """Everything that has a price, with where it comes from; positions of the games played, without a PGN."""
    words = engine_command(teacher)
    if words is None:
        raise UserError(f"no engine {teacher!r} found: install it, or name another with --teacher")
    training = read_training(results)
    load = round(os.getloadavg()[0], 2)
    games, labels = {}, {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for kind in kinds:
            meter.describe(f"games, {kind.name}")
            number = max(1, round(kind.share * effort.games))
            games[kind.name] = measure_games(
                kind, number, open_player, folder / f"{kind.name}.pgn", meter.advance
            )
        played = folder / "played.pgn"
        played.write_text("".join((folder / f"{kind.name}.pgn").read_text() for kind in kinds))
        packed, name = _played(played) if pgn is None else _given(pgn, effort.positions, folder)
        packed = packed[: effort.positions]
        for label, amount in zip(LABEL_KINDS, (effort.positions, effort.all_moves, effort.deep), strict=True):
            meter.describe(f"labels, {label.name}")
            # Values of games come one after the other, labels of all moves are for positions far apart.
            rows = np.linspace(0, len(packed) - 1, min(amount, len(packed))).round().astype(int)
            labels[label.name] = measure_labels(
                label, packed[rows], words, effort.rounds, folder, meter.advance
            )
        meter.describe("extraction")
        extraction = measure_extraction(pgn or played, effort.rounds, folder / "shards", meter.advance)
    return {
        "question": "What do a million labels, a thousand games and a billion training positions cost?",
        "input": name,
        "load_average": load,
        "labels": labels,
        "games": games,
        "extraction": extraction,
        "training": training,
        **provenance(),
    }


def _played(games: Path) -> tuple[NDArray[np.uint8], str]:
    records = _core.pgn_records(games).reshape(-1).view(RECORD)
    return np.ascontiguousarray(records["packed"]), "the games measured here"


def _given(pgn: Path, positions: int, folder: Path) -> tuple[NDArray[np.uint8], str]:
    inputs = pgn_inputs(folder, pgn, positions)
    return inputs.packed, inputs.source


def priced(measured: dict[str, Any]) -> dict[str, Any]:
    """The measurements with the prices that follow from them."""
    found = {name: [asdict(price) for price in each] for name, each in prices(measured).items()}
    return {**measured, "prices": found}


def read_costs(path: Path) -> dict[str, Any]:
    """Measurements of an earlier run."""
    try:
        return priced(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"no file {path}: `python -m tabiya.bench.cost --out {path}` measures one") from None
    except (ValueError, KeyError, TypeError, OSError):
        raise UserError(
            f"{path} holds no costs, as `python -m tabiya.bench.cost --out FILE` writes"
        ) from None


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tabiya.bench.cost", description="What labels, games and training cost."
    )
    usual = Effort()
    parser.add_argument("--teacher", default="stockfish", metavar="CMD", help="a UCI engine (stockfish)")
    parser.add_argument("--pgn", metavar="FILE", help="label positions of these games, not of those played")
    for name, what in (
        ("positions", "labelled with a value at depth 5"),
        ("all-moves", "positions labelled with all moves at depth 6"),
        ("deep", "positions labelled with all moves at depth 12"),
        ("games", "of each kind, half as many of long ones"),
        ("rounds", "of labels and extraction, the median counts"),
    ):
        value = getattr(usual, name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N", help=f"{what} ({value})")
    parser.add_argument("--results", default="results", metavar="DIR", help="rates of training (results)")
    parser.add_argument(
        "--from",
        dest="file",
        metavar="FILE",
        help="measure nothing, read these figures; training's rates come from --results",
    )
    add_page_arguments(parser, PAGE, "results/costs.json")
    args = parser.parse_args(words)
    return exit_code(lambda: _run(args))


def _run(args: argparse.Namespace) -> None:
    if args.file is not None:
        figures = read_costs(Path(args.file))
        if Path(args.results).is_dir():
            # Rates of training are nobody's measurement here: the newest count.
            figures = priced(figures | {"training": read_training(Path(args.results))})
    else:
        effort = Effort(**{name: getattr(args, name) for name in asdict(Effort())})
        pgn = None if args.pgn is None else Path(args.pgn)
        games = sum(max(1, round(kind.share * effort.games)) for kind in GAME_KINDS)
        with progress("costs", games + (len(LABEL_KINDS) + 1) * effort.rounds) as meter:
            figures = priced(measure(effort, args.teacher, pgn, Path(args.results), meter))
    publish(args, figures, tables(figures))


if __name__ == "__main__":
    sys.exit(main())
