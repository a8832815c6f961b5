"""What can be labelled: an extracted folder, a game file, or a list of positions.

Each source becomes one or more tasks: some positions in a fixed order, and the
file that their labels go to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.fens import read_positions, stem_and_kind
from tabiya.data.labels import MoveLabels, load_move_labels, shard_label_path
from tabiya.data.shards import RECORD, ShardFolder, Split
from tabiya.errors import UserError

Kind = Literal["i16", "moves"]

LISTS = ("fen", "epd", "txt")
LABELS = ("moves", "tsv")


@dataclass(frozen=True)
class Task:
    """Positions to label, and where the labels go."""

    name: str
    target: Path
    load: Callable[[], NDArray[np.uint8]]
    """The packed positions [N, 32], memory-mapped where they can be."""
    labels: Callable[[], MoveLabels] | None = None
    """The move labels they have already, where they have some."""


def tasks_of(source: str | Path, kind: Kind, out: str | Path | None = None) -> list[Task]:
    """The tasks that a source makes; labels go to `out`, else into the folder or the working directory."""
    source = Path(source)
    if source.is_dir():
        return _folder_tasks(ShardFolder.open(source), kind, out)
    if not source.exists():
        raise UserError(f"no such file or folder: {source}")
    stem, ending = stem_and_kind(source)
    target = Path(out or ".") / f"{stem}.{kind}"
    if ending == "pgn":
        return [Task(stem, target, partial(_game_positions, source))]
    if ending in LISTS:
        return [Task(stem, target, partial(read_positions, source))]
    if ending in LABELS:
        if target.exists() and target.samefile(source):
            raise UserError(f"labels of {source} would replace it: give another folder with --out")
        return [Task(stem, target, partial(_labelled_positions, source), partial(load_move_labels, source))]
    raise UserError(
        f"cannot tell what {source} holds: expected an extracted folder, games (.pgn), "
        f"positions ({', '.join('.' + ending for ending in LISTS)}) or move labels (.moves, .tsv)"
    )


def _folder_tasks(folder: ShardFolder, kind: Kind, out: str | Path | None) -> list[Task]:
    splits: tuple[Split, ...] = ("train", "validation")
    found = []
    for shard in folder.names():
        for split in splits:
            target = shard_label_path(folder.path, shard, split, kind)
            if out is not None:
                target = Path(out) / target.name
            found.append(Task(f"{shard}.{split}", target, partial(_shard_positions, folder, shard, split)))
    return found


def _shard_positions(folder: ShardFolder, shard: str, split: Split) -> NDArray[np.uint8]:
    positions: NDArray[np.uint8] = folder.shard(shard, split)["packed"]
    return positions


def _game_positions(source: Path) -> NDArray[np.uint8]:
    try:
        records = np.ascontiguousarray(_core.pgn_records(str(source)))
    except ValueError as error:
        raise UserError(str(error)) from None
    positions: NDArray[np.uint8] = records.reshape(-1).view(RECORD)["packed"]
    return positions


def _labelled_positions(source: Path) -> NDArray[np.uint8]:
    return load_move_labels(source)[0]
