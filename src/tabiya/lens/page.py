"""An explanation as one HTML page that needs nothing beside it, and the files of one explanation."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.files import replacing
from tabiya.lens.drawing import MOVE, PAIR, WARM, board_scene, picture
from tabiya.lens.explain import Explanation
from tabiya.lens.occlusion import Shift
from tabiya.lens.scene import png
from tabiya.lens.words import dropped_named, line_named, part_named, percent

_STYLE = """
:root { color-scheme: light dark; --ink: #1f1f1f; --faint: #626262; --paper: #fff; --line: #d8d8d8; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --faint: #aaa; --paper: #191919; --line: #444; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  padding: 1rem; max-width: 68rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.two { display: flex; flex-wrap: wrap; gap: 1.5rem; } .two > * { flex: 1 1 22rem; min-width: 0; }
.board { background: #fff; border-radius: 4px; padding: 4px; max-width: 30rem; }
ol { padding-left: 1.3rem; } li { margin-bottom: .7rem; }
small, .faint { color: var(--faint); } small { display: block; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--faint); font-weight: normal; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.key span { display: inline-block; width: 1em; height: 1em; border-radius: 2px; vertical-align: -2px; }
img.map { width: 18rem; image-rendering: pixelated; border: 1px solid var(--line); }
.wide { overflow-x: auto; }
"""


def page(found: Explanation) -> str:
    """The whole page."""
    board, san = found.board, found.board.san(found.move)
    svg = board_scene(board, found.weights, found.pairs, found.move).svg(f"the board, with {san} as an arrow")
    title = f"{found.mind} plays {san}"
    sure = f"with probability {percent(found.occlusion.p)}, " if found.weighs else ""
    line = line_named(board, found.line)
    sentences = "".join(
        f"<li>{escape(each.text)}<small>Tested: {escape(each.intervention)}.</small></li>"
        for each in found.sentences
    )
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="faint">{escape(board.fen())}</p>',
        f'<div class="two"><div><div class="board">{svg}</div>{_key(found)}</div><div>',
        f"<p>It plays {escape(san)}, {sure}and expects {percent(found.occlusion.expected)} of the points.",
        f" It seems to consider {escape(' '.join(line))}.</p>" if len(line) > 1 else "</p>",
        f"<ol>{sentences}</ol>",
        f'<p class="faint">{dropped_named(found.dropped)}</p>',
        "".join(f'<p class="faint">Note: {escape(note)}.</p>' for note in found.notes),
        "</div></div>",
        _candidates(found),
        _own(found),
        _inputs(found),
        _squares(found),
        _pairs(found),
        _heads(found),
        _nearest(found),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _key(found: Explanation) -> str:
    pairs = f' <span style="background:{PAIR}"></span> {escape(found.pairs_how)}' if found.pairs else ""
    return (
        f'<p class="key faint"><span style="background:{MOVE}"></span> the move '
        f'<span style="background:{WARM}"></span> the warmer a square, the more changes with it '
        f"{escape(found.blanked)}{pairs}</p>"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    made = []
    for row in rows:
        cells = [
            f'<td class="number">{_number(cell)}</td>'
            if isinstance(cell, float)
            else f"<td>{escape(str(cell))}</td>"
            for cell in row
        ]
        made.append(f"<tr>{''.join(cells)}</tr>")
    if not made:
        return ""
    top = "".join(f'<th scope="col">{escape(each)}</th>' for each in head)
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(made)}</tbody></table></div>'
    )


def _number(value: float) -> str:
    if value != value:
        return "–"
    # Adding nothing makes a zero of a negative one.
    short = f"{round(value, 3) + 0.0:.3f}".rstrip("0").rstrip(".")
    return short if abs(value) < 100 else f"{value:.0f}"


def _candidates(found: Explanation) -> str:
    if len(found.decision.moves) < 2:
        return ""
    rows = [
        (found.board.san(each.move), "–" if each.p is None else percent(each.p), _score(each.score))
        for each in found.decision.moves[:5]
        if found.board.is_legal(each.move)
    ]
    return "<h2>Its moves</h2>" + _table(("move", "probability", "score"), rows)


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score / 100:+.2f}"


def _own(found: Explanation) -> str:
    if not found.own.rows:
        return ""
    keys = [key for key in found.own.rows[0] if key != "number"]
    title = {
        "genes": "Its genes, each silenced in turn",
        "features": "Features that tell its two best lines apart",
    }
    rows = [[_cell(found, key, row.get(key, "")) for key in keys] for row in found.own.rows]
    return f"<h2>{title.get(found.own.kind, found.own.kind)}</h2>" + _table(keys, rows)


def _cell(found: Explanation, key: str, value: Any) -> Any:
    if key == "choice" and value and found.board.is_legal(str(value)):
        return found.board.san(str(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return float(value) if isinstance(value, (int, float)) else value


def _inputs(found: Explanation) -> str:
    shifts = sorted(found.occlusion.others.items(), key=lambda each: -each[1].weight)
    rows = [(part, *_figures(found, shift)) for part, shift in shifts]
    return "<h2>Turn, rights, counters</h2>" + _table(_head(found), rows) if rows else ""


def _squares(found: Explanation) -> str:
    shifts = sorted(found.occlusion.squares.items(), key=lambda each: -each[1].weight)[:16]
    rows = [
        (part_named(found.board, square).removeprefix("the "), *_figures(found, shift))
        for square, shift in shifts
        if shift.weight > 0
    ]
    how = (
        "Weight is the total variation between the two policies."
        if found.weighs
        else "Weight is what the old move loses against the new one once the piece is gone."
    )
    return f'<h2>Squares</h2><p class="faint">{how}</p>' + _table(_head(found), rows)


def _head(found: Explanation) -> tuple[str, ...]:
    odds = ("log-odds fall by",) if found.weighs else ()
    return (found.blanked, "weight", *odds, "then plays")


def _figures(found: Explanation, shift: Shift) -> tuple[Any, ...]:
    odds = (_fell(shift.log_odds),) if found.weighs else ()
    return (shift.weight, *odds, _choice(found, shift.choice))


def _fell(value: float | None) -> Any:
    return "–" if value is None or value != value else float(value)


def _choice(found: Explanation, choice: str | None) -> str:
    if choice is None:
        return "cannot be asked"
    return found.board.san(choice) if found.board.is_legal(choice) else choice


def _pairs(found: Explanation) -> str:
    if not found.pairs:
        return ""
    made = "<h2>Pairs</h2>" + _table(("from", "to", "weight"), found.pairs)
    made += f'<p class="faint">{escape(found.pairs_how[:1].upper() + found.pairs_how[1:])}.</p>'
    if found.baseline is not None:
        made += (
            f'<p class="faint">{found.baseline.draws} pairs drawn at random: {found.baseline.mean:.5f} on '
            f"average, one in twenty above {found.baseline.high:.5f}.</p>"
        )
    if found.pair_map is not None and np.isfinite(found.pair_map.tv).all():
        shade = 255 * (1 - found.pair_map.tv / max(float(found.pair_map.tv.max()), 1e-12))
        pixels = np.repeat(shade.round().astype(np.uint8)[::-1, :, None], 3, 2)
        data = base64.b64encode(png(pixels)).decode()
        made += (
            f'<p><img class="map" alt="64 by 64 map" src="data:image/png;base64,{data}"></p><p class="faint">'
            "Each row a square that looks, a1 lowest; each column a square looked at, a1 leftmost; "
            "the darker, the more changes.</p>"
        )
    return made


def _heads(found: Explanation) -> str:
    """The heads that matter most."""
    if not found.heads:
        return ""
    flat = [
        (value or 0.0, layer, head)
        for layer, row in enumerate(found.heads, 1)
        for head, value in enumerate(row, 1)
    ]
    rows = [(f"layer {layer}, head {head}", value) for value, layer, head in sorted(flat, reverse=True)[:8]]
    return "<h2>Heads</h2>" + _table(("silenced", "total variation"), rows)


def _nearest(found: Explanation) -> str:
    if not found.nearest:
        return ""
    rows = [(each.get("cluster", ""), each.get("fen", ""), each.get("what", "")) for each in found.nearest]
    return "<h2>Positions it handles alike</h2>" + _table(("cluster", "position", "move"), rows)


def file_stem(found: Explanation) -> str:
    """A name for the files: who, which move, which position."""
    # Two positions with the same move are two explanations.
    position = zlib.crc32(found.board.fen().encode())
    words = f"{found.mind} {found.move} {position:08x}"
    return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-").lower()


def write(found: Explanation, folder: Path, stem: str | None = None) -> dict[str, Path]:
    """The page, the picture and the JSON of an explanation; what they are called."""
    name = stem or file_stem(found)
    contents = {
        "html": page(found).encode(),
        "png": picture(found).png(),
        "json": (json.dumps(found.shown(), ensure_ascii=False, indent=1) + "\n").encode(),
    }
    paths = {kind: folder / f"{name}.{kind}" for kind in contents}
    for kind, content in contents.items():
        with replacing(paths[kind]) as temporary:
            temporary.write_bytes(content)
    return paths
