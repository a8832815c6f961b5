"""The gallery of patterns: clusters, what is common in each, its nearest examples; as files and a page.

patterns.npz     the embedding's weights, the centres, the examples' points and positions
gallery.json     clusters: size, traits, examples
gallery.html     the same with boards
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board, code_to_uci, uci_to_code
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.lens.attention import PairMap
from tabiya.lens.drawing import board_scene
from tabiya.lens.interface import SQUARES
from tabiya.lens.occlusion import Occlusion
from tabiya.lens.patterns import WEIGHTS, Maps, Weights, embed, in_common, k_means, traits

EXAMPLES = 6
"""Shown of each cluster: those nearest its centre."""


def build(weights: Weights, maps: Maps, clusters: int, seed: int, folder: Path) -> list[dict[str, Any]]:
    """Cluster the positions and write the gallery."""
    points = embed(weights, maps)
    centres, nearest = k_means(points, clusters, seed)
    facts = traits(maps)
    found = []
    shown: list[int] = []
    for number in range(clusters):
        members = np.flatnonzero(nearest == number)
        order = members[np.argsort(((points[members] - centres[number]) ** 2).sum(1), kind="stable")]
        kept = order[:EXAMPLES].tolist()
        shown += kept
        found.append(
            {
                "cluster": number + 1,
                "positions": len(members),
                "in_common": in_common([facts[at] for at in members.tolist()], facts),
                "examples": [_example(maps, at) for at in kept],
            }
        )
    folder.mkdir(parents=True, exist_ok=True)
    kept_arrays: dict[str, Any] = {name: np.asarray(weights[name]) for name in WEIGHTS}
    kept_arrays |= {"centres": centres, "points": points[shown], "members": nearest[shown]}
    kept_arrays |= {"packed": maps.packed[shown], "moves": maps.moves[shown]}
    with replacing(folder / "patterns.npz") as part, part.open("wb") as file:
        np.savez(
            file,
            **kept_arrays,
        )
    contents = {
        "gallery.json": json.dumps({"positions": len(maps), "clusters": found}, indent=1) + "\n",
        "gallery.html": _page(found, maps),
    }
    for name, text in contents.items():
        with replacing(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return found


def _example(maps: Maps, at: int) -> dict[str, Any]:
    board, move = Board.from_packed(maps.packed[at].tobytes()), code_to_uci(int(maps.moves[at]))
    heat = maps.squares[at]
    names = SQUARES if board.white_to_move else [f"{square[0]}{9 - int(square[1])}" for square in SQUARES]
    heaviest = np.argsort(-heat, kind="stable")[:8].tolist()
    weights = {names[each]: round(float(heat[each]), 4) for each in heaviest}
    return {"fen": board.fen(), "move": move, "san": board.san(move), "squares": weights}


def maps_of(board: Board, occlusion: Occlusion, pairs: PairMap) -> Maps:
    """One explained position as a row of maps, turned to the mover."""
    if not np.isfinite(pairs.tv).all():
        raise UserError("a position's cluster needs all its pairs of squares: explain it with --pairs all")
    squares, cuts = occlusion.map().ravel(), pairs.tv
    if not board.white_to_move:
        turned = np.arange(64) ^ 56
        squares, cuts = squares[turned], cuts[np.ix_(turned, turned)]
    return Maps(
        np.frombuffer(board.packed(), np.uint8).reshape(1, 32),
        np.array([uci_to_code(occlusion.chosen)], np.uint16),
        squares.reshape(1, 64).astype(np.float32),
        cuts.reshape(1, 64, 64).astype(np.float16),
    )


def nearest_examples(where: Path, maps: Maps, count: int = 3) -> list[dict[str, Any]]:
    """The cluster of a position and the examples in it that lie nearest."""
    file = where / "patterns.npz" if where.is_dir() else where
    try:
        with np.load(file, allow_pickle=False) as stored:
            kept: dict[str, NDArray[Any]] = {name: stored[name] for name in stored.files}
        point = embed(kept, maps)[0]
        cluster = int(((kept["centres"] - point) ** 2).sum(1).argmin())
        members = np.flatnonzero(kept["members"] == cluster)
        order = members[np.argsort(((kept["points"][members] - point) ** 2).sum(1), kind="stable")]
    except FileNotFoundError:
        raise UserError(f"no gallery {file}: `tabiya lab patterns` makes one") from None
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{file} is no gallery of patterns, or a damaged one: {error}") from None
    found = []
    for at in order[:count].tolist():
        board = Board.from_packed(kept["packed"][at].tobytes())
        move = code_to_uci(int(kept["moves"][at]))
        found.append({"cluster": cluster + 1, "fen": board.fen(), "move": move, "what": board.san(move)})
    return found


def _page(clusters: list[dict[str, Any]], maps: Maps) -> str:
    parts = [f"<h1>Patterns in {len(maps):,} positions</h1>"]
    for each in sorted(clusters, key=lambda each: -each["positions"]):
        common = ", ".join(
            f"{row['trait']} {100 * row['share']:.0f} % (over all {100 * row['over_all']:.0f} %)"
            for row in each["in_common"]
        )
        boards = "".join(
            f"<figure>{board_scene(Board(one['fen']), one['squares'], (), one['move'], 28).svg(one['san'])}"
            f"<figcaption>{escape(one['san'])}</figcaption></figure>"
            for one in each["examples"]
        )
        parts.append(
            f"<h2>Cluster {each['cluster']}: {each['positions']:,} positions</h2>"
            f"<p>{escape(common or 'nothing plain in common')}</p><div>{boards}</div>"
        )
    style = (
        "body{font:15px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:80rem;padding:0 1rem}"
        "div{display:flex;flex-wrap:wrap;gap:.8rem}figure{margin:0;width:13rem}figcaption{text-align:center}"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Patterns</title>'
        f"<style>{style}</style></head><body>{''.join(parts)}</body></html>\n"
    )
