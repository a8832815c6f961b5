"""Hard positions: where a move matters, and where a player or a game got it wrong.

Three signs of hardness, all measured in win probability for the side to move:

- gap: the teacher's best move is that much better than its second;
- loss: a given player's move is that much worse than the teacher's best;
- swing: the move played in the game lost that much, by the value labels of
  two successive positions (a cheap sign: it needs no move labels).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.fens import read_positions, stem_and_kind
from tabiya.data.label_source import LABELS, LISTS
from tabiya.data.labels import (
    MoveLabels,
    load_move_labels,
    offsets_of,
    shard_label_path,
    shard_values,
    write_move_labels,
)
from tabiya.data.scale import MOVE_MATE, UNLABELLED, label_probability
from tabiya.data.shards import ShardFolder, Split
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.player import Limit, Player

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Choice:
    """What the teacher thinks of each position's moves: the best, and what the second would cost."""

    best: NDArray[np.float64]
    """Win probability of the best move, in [0, 1]."""
    gap: NDArray[np.float64]
    """Best minus second; 0 where there is no choice."""


def choices(labels: MoveLabels) -> Choice:
    """The best move's win probability and its lead, for every position."""
    _, offsets, scores = labels
    p = label_probability(scores, MOVE_MATE)
    counts = np.diff(offsets)
    some = np.flatnonzero(counts)
    best, second = np.zeros(len(counts)), np.zeros(len(counts))
    if some.size:
        starts = offsets[some]
        best[some] = np.maximum.reduceat(p, starts)
        is_best = p == np.repeat(best, counts)
        second[some] = np.maximum.reduceat(np.where(is_best, -1.0, p), starts)
        shared = np.zeros(len(counts), np.int64)
        shared[some] = np.add.reduceat(is_best.astype(np.int64), starts)
        second = np.where((shared > 1) | (counts < 2), best, second)
    return Choice(best, best - second)


def hard_moves(
    labels: MoveLabels,
    *,
    gap: float | None = None,
    loss: float | None = None,
    player: Player | None = None,
    limit: Limit | None = None,
    maximum: int | None = None,
    advance: Advance = lambda _amount: None,
) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Indices of positions hard by their gap or by a player's loss, and how many by which sign.

    The search ends when `maximum` are found: a player's thought is the dear part.
    """
    packed, offsets, scores = labels
    choice = choices(labels)
    by_gap = choice.gap >= gap if gap is not None else np.zeros(len(packed), bool)
    found: list[int] = []
    counts = {"looked_at": 0, "by_gap": 0, "by_loss": 0}
    for i in range(len(packed)) if player else np.flatnonzero(by_gap).tolist():
        if maximum is not None and len(found) >= maximum:
            break
        counts["looked_at"] += 1
        lost = False
        if player is not None and loss is not None:
            p = label_probability(scores[offsets[i] : offsets[i + 1]], MOVE_MATE)
            lost = _player_loss(player, packed[i], p, limit or Limit(movetime=0.1)) >= loss
            advance(1)
        if lost or by_gap[i]:
            found.append(i)
            counts["by_gap"] += bool(by_gap[i])
            counts["by_loss"] += lost
    if player is None and (maximum is None or len(found) < maximum):
        counts["looked_at"] = len(packed)
    return np.array(found, np.int64), counts


def _player_loss(player: Player, packed: NDArray[np.uint8], p: NDArray[np.float64], limit: Limit) -> float:
    board = _core.Board.from_packed(packed.tobytes())
    if len(p) < 2 or board.outcome() is not None:
        return 0.0
    player.new_game()
    move = player.play(board, limit).move
    return float(p.max() - p[board.legal_moves().index(move)])


def swings(
    folder: ShardFolder, loss: float, maximum: int | None = None, advance: Advance = lambda _amount: None
) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """Packed positions of a folder whose game move lost at least `loss`, and how many pairs were looked at.

    Values are the folder's labels, or else the evaluations that came with the games. The validation
    games are left out: what is curated is trained on.
    """
    parts = [np.zeros((0, 32), np.uint8)]
    found = pairs = looked_at = 0
    for name, records in folder.shards("train"):
        if maximum is not None and found >= maximum:
            break
        values = records["eval"]
        if shard_label_path(folder.path, name, "train").exists():
            values = shard_values(folder, name, "train")
        hard, some_pairs = _shard_swings(records, values, loss)
        pairs, looked_at = pairs + some_pairs, looked_at + len(records)
        parts.append(hard[: None if maximum is None else maximum - found])
        found += len(parts[-1])
        advance(len(records))
    if looked_at and not pairs:
        raise UserError(
            f"no two successive positions of a game in {folder.path} have values: "
            f"run `tabiya data label {folder.path}` first, on positions that were not thinned out"
        )
    return np.concatenate(parts), {"looked_at": looked_at, "pairs": pairs, "by_swing": found}


def _shard_swings(
    records: NDArray[np.void], values: NDArray[np.int16], loss: float
) -> tuple[NDArray[np.uint8], int]:
    if len(records) < 2:
        return np.zeros((0, 32), np.uint8), 0
    game, ply = records["game"], records["ply"].astype(np.int32)
    known = values != UNLABELLED
    pair = (game[1:] == game[:-1]) & (ply[1:] == ply[:-1] + 1) & known[1:] & known[:-1]
    white = label_probability(values)
    with np.errstate(invalid="ignore"):
        change = white[1:] - white[:-1]
        candidates = np.flatnonzero(pair & (np.abs(change) >= loss))
    packed = np.ascontiguousarray(records["packed"][candidates])
    # The mover lost if White was to move and White's share fell, or Black was and it rose.
    white_moved = packed[:, 24] & 1 == 0
    return packed[white_moved == (change[candidates] < 0)], int(np.count_nonzero(pair))


def select(labels: MoveLabels, indices: NDArray[np.int64]) -> MoveLabels:
    """The labels of the chosen positions."""
    packed, offsets, scores = labels
    counts = np.diff(offsets)[indices]
    chosen = [scores[offsets[i] : offsets[i + 1]] for i in indices]
    return packed[indices], offsets_of(counts), np.concatenate([*chosen, np.zeros(0, np.int16)])


def labels_of(source: Path, label_file: Path | None) -> MoveLabels:
    """The move labels of a source: its own, or those of `label_file` that are for its positions."""
    kind = stem_and_kind(source)[1]
    if label_file is None:
        if kind in LABELS:
            return load_move_labels(source)
        raise UserError(f"{source} holds no move labels: give them with --labels")
    if source.is_dir():
        folder = ShardFolder.open(source)
        splits: tuple[Split, ...] = ("train", "validation")
        keys = [
            _core.position_keys(np.ascontiguousarray(shard["packed"]))
            for split in splits
            for _, shard in folder.shards(split)
        ]
    elif kind in (*LISTS, *LABELS):
        positions = read_positions(source) if kind in LISTS else load_move_labels(source)[0]
        keys = [_core.position_keys(positions)]
    else:
        raise UserError(f"{source} is neither a folder, a list of positions nor a file of move labels")
    labels = load_move_labels(label_file)
    wanted = np.isin(_core.position_keys(labels[0]), np.concatenate([*keys, np.zeros(0, np.uint64)]))
    return select(labels, np.flatnonzero(wanted))


def write_hard(
    out: Path, packed: NDArray[np.uint8], labels: MoveLabels | None, report: dict[str, Any]
) -> None:
    """Write the hard positions as the name of `out` says (labels or FENs), and `out`.json with the counts."""
    check_out(out, labels is not None)
    if labels is not None and stem_and_kind(out)[1] in LABELS:
        write_move_labels(out, labels)
    else:
        with replacing(out) as temporary, temporary.open("w") as stream:
            for first in range(0, len(packed), 4096):
                stream.writelines(f"{fen}\n" for fen in _core.unpack_fens(packed[first : first + 4096]))
    with replacing(out.with_name(out.name + ".json")) as temporary:
        temporary.write_text(json.dumps(report, indent=1) + "\n")


def check_out(out: Path, labelled: bool) -> None:
    """Refuse, before the work, a name that does not say what to write."""
    endings = [*LISTS, *(LABELS if labelled else ())]
    if out.suffix.lstrip(".") not in endings:
        listed = ", ".join(f".{ending}" for ending in endings)
        raise UserError(f"hard positions go to a file that ends in {listed}, not {out.name}")
