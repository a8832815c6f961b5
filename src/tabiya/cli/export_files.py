"""What the verbs of `export` and `promote` share: the networks they are given and the files they make."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import progress
from tabiya.errors import UserError
from tabiya.player import PlayerName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tabiya.arena.books import Book
    from tabiya.searchless.player import SearchlessPlayer

SEARCHLESS = ("resnet", "transformer")
"""The minds whose networks are files of ONNX. As everywhere, the kind alone is the shipped network."""

NETWORK = f"an .onnx file, a run's folder, {' or '.join(SEARCHLESS)}"
"""What a command takes as a network, for its help."""


def onnx_target(path: Path) -> Path:
    """A path that a network can be written to; the manifest takes the same name with .json."""
    if path.suffix != ".onnx":
        raise UserError(f"a network's name ends in .onnx, got {path}")
    if path.is_dir():
        raise UserError(f"{path} is a folder, a file is needed")
    return path


def open_network(text: str, threads: int | None = None) -> SearchlessPlayer[Any, Any]:
    """The player of a network: a file or a run's folder, or a kind alone; `?mode=…` sets its options."""
    from tabiya.cli.network_kind import kind_of
    from tabiya.roster import KINDS
    from tabiya.searchless.player import SearchlessPlayer

    head = text.partition("?")[0]
    if head.partition(":")[0] not in SEARCHLESS:
        kind = kind_of(Path(head).expanduser())
        if kind not in SEARCHLESS:
            raise UserError(f"{head} is of the mind {kind}; networks of {' and '.join(SEARCHLESS)} are taken")
        text = f"{kind}:{text}"
    name = PlayerName.parse(text)
    player = importlib.import_module(KINDS[name.kind][0]).open_player(name)
    assert isinstance(player, SearchlessPlayer)
    if threads is not None:
        try:
            player.set_option("threads", str(threads))
        except ValueError as error:
            raise UserError(str(error)) from None
    return player


def manifest_of(path: Path) -> dict[str, Any]:
    """The manifest beside a network; empty where there is none. One of another network is refused."""
    from tabiya.learn.sidecar import read_sidecar, sidecar_path

    return read_sidecar(path) if sidecar_path(path).exists() else {}


def positions_for(
    player: SearchlessPlayer[Any, Any], source: str | None, count: int, seed: int, task: str
) -> NDArray[np.uint8]:
    """Positions drawn from `source`; without one, from the games of the player's network with itself."""
    from tabiya.learn.calibration import draw_positions
    from tabiya.searchless.own_games import own_positions

    if count < 1:
        raise UserError(f"--positions must be at least 1, got {count}")
    if source is not None:
        return draw_positions(source, count, seed)
    with progress(f"{task}: the network's own games", count, unit="positions") as meter:
        return own_positions(player, count, seed, meter.advance)


def add_match_arguments(parser: argparse.ArgumentParser) -> None:
    """The book and the length of the games."""
    parser.add_argument("--book", metavar="FILE", help="openings: .pgn, .epd or .fen, also .gz .bz2 .zst")
    parser.add_argument("--plies", type=int, default=16, metavar="N", help="half-moves from a PGN book (16)")
    parser.add_argument(
        "--max-moves", type=int, default=150, metavar="N", help="longer games are draws (150)"
    )
    parser.add_argument("--at-once", type=int, default=256, metavar="N", help="games side by side (256)")


def book_from(args: argparse.Namespace) -> Book:
    from tabiya.arena.books import Book

    return Book.read(args.book, args.plies) if args.book else Book.built_in()
