"""Patterns: a position with what a mind looks at in it, as a point; points that lie together, as a cluster.

The embedding is two small convolutional networks (pieces, square map) and a
dense layer (pair map), merged by two more. It is trained elsewhere; here it is
its weights, computed with numpy, so that whoever explains a move can ask for
its cluster without a training stack. Everything is in the mover's view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tabiya._core import Board, code_to_uci, encode_planes
from tabiya.errors import UserError
from tabiya.files import replacing

LAYERS = (
    "pieces.0",
    "pieces.1",
    "pieces.2",
    "squares.0",
    "squares.1",
    "squares.2",
    "pairs.0",
    "merge.0",
    "merge.1",
)
"""Convolutions and a dense layer, of the pieces and of the square map; the pairs' layer; two that merge."""
WEIGHTS = tuple(f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias"))

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Maps:
    """Positions with what a mind looked at, N of each."""

    packed: NDArray[np.uint8]
    """[N, 32]."""
    moves: NDArray[np.uint16]
    """[N]: the codes of the moves it chose."""
    squares: NDArray[np.float32]
    """[N, 64]."""
    pairs: NDArray[np.float16]
    """[N, 64, 64]."""

    def __len__(self) -> int:
        return len(self.packed)

    def save(self, path: Path) -> None:
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(
                file, packed=self.packed, moves=self.moves, squares=self.squares, pairs=self.pairs
            )

    @staticmethod
    def load(paths: Sequence[Path]) -> Maps:
        parts = [_read(path, ("packed", "moves", "squares", "pairs")) for path in paths]
        if not parts:
            raise UserError("no maps were collected yet")
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return Maps(**joined)


def _read(path: Path, names: Sequence[str]) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in names}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} is no file of the patterns, or a damaged one: {error}") from None


def inputs(maps: Maps) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Pieces [N, 12, 8, 8], square map [N, 1, 8, 8], pair map [N, 4096]; each map with 1 as its largest."""
    pieces = encode_planes(np.ascontiguousarray(maps.packed), "mover")[:, :12].astype(np.float32)
    squares = maps.squares / np.maximum(maps.squares.max(1, keepdims=True), 1e-9)
    pairs = maps.pairs.reshape(len(maps), -1).astype(np.float32)
    pairs = pairs / np.maximum(pairs.max(1, keepdims=True), 1e-9)
    return pieces, squares.reshape(-1, 1, 8, 8).astype(np.float32), pairs.astype(np.float32)


def embed(weights: Weights, maps: Maps) -> NDArray[np.float32]:
    """[N, width], each of length 1."""
    pieces, squares, pairs = inputs(maps)
    seen = [
        _dense(weights, "pieces.2", _board(weights, "pieces", pieces)),
        _dense(weights, "squares.2", _board(weights, "squares", squares)),
        _dense(weights, "pairs.0", pairs),
    ]
    merged = _dense(weights, "merge.0", np.concatenate(seen, 1))
    last = merged @ weights["merge.1.weight"].T + weights["merge.1.bias"]
    return np.asarray(last / np.maximum(np.linalg.norm(last, axis=1, keepdims=True), 1e-9), np.float32)


def _board(weights: Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    for each in (0, 1):
        x = _convolved(x, weights[f"{name}.{each}.weight"], weights[f"{name}.{each}.bias"])
    return x.reshape(len(x), -1)


def _convolved(
    x: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32]
) -> NDArray[np.float32]:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    made = np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True) + bias[:, None, None]
    return np.asarray(np.maximum(made, 0), np.float32)


def _dense(weights: Weights, name: str, x: NDArray[np.float32]) -> NDArray[np.float32]:
    made = x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
    return np.asarray(np.maximum(made, 0), np.float32)


def k_means(
    points: NDArray[np.float32], count: int, seed: int = 0, rounds: int = 50
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Centres [count, width] and the centre of each point, begun with points far from each other."""
    if not 1 <= count <= len(points):
        raise UserError(f"{len(points)} positions cannot be put into {count} clusters")
    chance = np.random.default_rng(seed)
    centres = points[chance.integers(len(points))][None]
    while len(centres) < count:
        far = _distances(points, centres).min(1)
        total = far.sum()
        weights = far / total if total > 0 else None
        centres = np.concatenate([centres, points[chance.choice(len(points), p=weights)][None]])
    nearest = _distances(points, centres).argmin(1)
    for _ in range(rounds):
        centres = np.stack(
            [
                points[nearest == each].mean(0) if (nearest == each).any() else centres[each]
                for each in range(count)
            ]
        )
        now = _distances(points, centres).argmin(1)
        if np.array_equal(now, nearest):
            break
        nearest = now
    return np.asarray(centres, np.float32), np.asarray(nearest, np.int64)


def _distances(points: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.float64]:
    return np.asarray(
        np.maximum((points**2).sum(1)[:, None] - 2 * points @ centres.T + (centres**2).sum(1), 0), np.float64
    )


_KINDS = {"p": "pawn", "n": "knight", "b": "bishop", "r": "rook", "q": "queen", "k": "king"}


def traits(maps: Maps) -> list[set[str]]:
    """Plain facts of each position and the chosen move, to say what a cluster has more of than the rest."""
    found = []
    for packed, code in zip(maps.packed, maps.moves, strict=True):
        board, move = Board.from_packed(packed.tobytes()), code_to_uci(int(code))
        after = board.copy()
        after.push(move)
        men = int(np.unpackbits(packed[:8]).sum())
        own = {f"the {_KINDS[(board.piece_at(move[:2]) or 'p').lower()]} moves"}
        own.add("a capture" if board.is_capture(move) else "no capture")
        own |= {"a check"} if after.is_check else set()
        own |= {"a mate"} if after.is_check and not after.legal_moves() else set()
        own |= {"out of check"} if board.is_check else set()
        own.add("few pieces" if men <= 12 else "many pieces" if men >= 26 else "half the pieces")
        own |= {"a promotion"} if len(move) == 5 else set()
        forward = int(move[3]) - int(move[1])
        if (forward if board.white_to_move else -forward) < 0:
            own.add("a step back")
        found.append(own)
    return found


def in_common(own: Sequence[set[str]], every: Sequence[set[str]], most: int = 4) -> list[dict[str, Any]]:
    """The traits that are likelier inside than over all, the most telling first."""
    inside, over_all = (Counter(trait for each in group for trait in each) for group in (own, every))
    rows: list[dict[str, Any]] = [
        {
            "trait": trait,
            "share": round(inside[trait] / max(1, len(own)), 3),
            "over_all": round(over_all[trait] / max(1, len(every)), 3),
        }
        for trait in inside
    ]
    rows = [row for row in rows if row["share"] >= 0.2 and row["share"] > 1.2 * row["over_all"]]
    return sorted(rows, key=lambda row: -(row["share"] - row["over_all"]))[:most]
