"""The page's pieces as polygons, so that a picture can be made where there is no browser.

The shapes have one home, `web/static/pieces.js`. What is read of it is the
table of outlines, circles and lines; the paths in it use the commands M, L, H,
V, C and Z in both cases.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TypeAlias

Point: TypeAlias = tuple[float, float]
SIZE = 48.0
"""The square that the shapes are drawn in, y downwards."""
_SOURCE = Path(__file__).resolve().parents[1] / "web" / "static" / "pieces.js"
_CURVE_STEPS = 8
_CIRCLE_STEPS = 20


class Shape:
    """One piece: closed outlines to fill, and open lines of detail."""

    def __init__(self, outlines: list[list[Point]], lines: list[list[Point]]) -> None:
        self.outlines, self.lines = outlines, lines


@cache
def shapes() -> dict[str, Shape]:
    """By the piece's letter in lower case."""
    text = _SOURCE.read_text(encoding="utf-8")
    foot = re.search(r'const FOOT = ("[^"]+")', text)
    table = re.search(r"const SHAPES = (\{.*?\n\});", text, re.DOTALL)
    if foot is None or table is None:
        raise ValueError(f"the pieces are no longer where they were in {_SOURCE}")
    written = table[1].replace("FOOT", foot[1])
    written = re.sub(r"(?m)^(\s*)(\w+):", r'\1"\2":', written)
    written = re.sub(r",(\s*[}\]])", r"\1", written)
    found = {}
    for letter, parts in json.loads(written).items():
        outlines = [flattened(path) for path in parts["outlines"]]
        outlines += [_circle(*each) for each in parts["circles"]]
        found[letter] = Shape(outlines, [flattened(path) for path in parts["lines"]])
    return found


def _circle(x: float, y: float, radius: float) -> list[Point]:
    from math import cos, pi, sin

    turns = [2 * pi * each / _CIRCLE_STEPS for each in range(_CIRCLE_STEPS)]
    return [(x + radius * cos(turn), y + radius * sin(turn)) for turn in turns]


def flattened(path: str) -> list[Point]:
    """The corners of an SVG path, curves cut into short lines.

    >>> flattened("M1 2h3v-1z")
    [(1.0, 2.0), (4.0, 2.0), (4.0, 1.0)]
    """
    points: list[Point] = []
    x = y = 0.0
    for command, written in re.findall(r"([MmLlHhVvCcZz])([^MmLlHhVvCcZz]*)", path):
        numbers = [float(each) for each in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", written)]
        kind, relative = command.upper(), command.islower()
        size = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Z": 1}[kind]
        for at in range(0, len(numbers), size):
            own = numbers[at : at + size]
            dx, dy = (x, y) if relative else (0.0, 0.0)
            if kind == "H":
                x = dx + own[0]
            elif kind == "V":
                y = dy + own[0]
            elif kind == "C":
                ends = [(dx + own[each], dy + own[each + 1]) for each in (0, 2, 4)]
                points += _curve((x, y), *ends)[:-1]
                x, y = ends[2]
            else:
                x, y = dx + own[0], dy + own[1]
            points.append((x, y))
    return points


def _curve(start: Point, first: Point, second: Point, end: Point) -> list[Point]:
    made = []
    for step in range(1, _CURVE_STEPS + 1):
        t = step / _CURVE_STEPS
        weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
        corners = (start, first, second, end)
        x = sum(weight * corner[0] for weight, corner in zip(weights, corners, strict=True))
        y = sum(weight * corner[1] for weight, corner in zip(weights, corners, strict=True))
        made.append((x, y))
    return made
