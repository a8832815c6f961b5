"""Several files of move labels as one to train on: each position once, and nothing that is an exam.

What would let a network see its exams is left out here: positions on the lines
of a puzzle file or one ply from them, and positions of a folder's validation
games.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tabiya import _core
from tabiya.data.extract_worker import read_exclusion
from tabiya.data.labels import MoveLabels, join_move_labels, load_move_labels, select
from tabiya.data.shards import ShardFolder


def join(
    files: list[Path], puzzles: Path | None = None, folders: tuple[Path, ...] = ()
) -> tuple[MoveLabels, dict[str, int]]:
    """The files' labels without repeats and exams, and the counts of what was left out.

    Of a position that several files label, the first file's label stays.
    """
    labels = join_move_labels([load_move_labels(file) for file in files])
    packed = labels[0]
    keys = _core.position_keys(packed)
    keep = np.zeros(len(keys), bool)
    keep[np.unique(keys, return_index=True)[1]] = True
    counts = {"positions": len(keys), "repeats": int(np.count_nonzero(~keep))}
    if puzzles is not None:
        near = np.array(read_exclusion(puzzles)[0].near(packed), bool)
        counts["near_puzzles"] = int(np.count_nonzero(keep & near))
        keep &= ~near
    for folder in folders:
        held_out = [
            _core.position_keys(np.ascontiguousarray(shard["packed"]))
            for _, shard in ShardFolder.open(folder).shards("validation")
        ]
        examined = np.isin(keys, np.concatenate([np.zeros(0, np.uint64), *held_out]))
        counts["in_validation_games"] = counts.get("in_validation_games", 0) + int(
            np.count_nonzero(keep & examined)
        )
        keep &= ~examined
    joined = select(labels, np.flatnonzero(keep))
    counts |= {"kept": len(joined[0]), "scores": len(joined[2])}
    return joined, counts
