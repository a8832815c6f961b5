"""A drawing as a list of shapes, and the two files it can become: SVG, or PNG without any library.

Shapes are filled polygons, strokes and words, in one plane with y downwards.
For PNG they are painted on an array at three times the size and averaged;
words are strokes of `tabiya.lens.letters`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabiya.lens.letters import strokes, width_of
from tabiya.lens.pieces import Point

FINER = 3
"""Points of the canvas for each of the picture, along each side."""


@dataclass(frozen=True)
class Filled:
    """A polygon, filled."""

    points: tuple[Point, ...]
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Stroke:
    """A line through some points."""

    points: tuple[Point, ...]
    colour: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class Words:
    """Text whose baseline begins at (x, y)."""

    text: str
    x: float
    y: float
    size: float
    colour: str
    bold: bool = False


@dataclass
class Scene:
    """What is drawn, the first below the later ones."""

    width: float
    height: float
    background: str = "#ffffff"
    shapes: list[Filled | Stroke | Words] = field(default_factory=list)

    def fill(self, points: Sequence[Point], colour: str, opacity: float = 1.0) -> None:
        self.shapes.append(Filled(tuple(points), colour, opacity))

    def box(self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> None:
        self.fill([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], colour, opacity)

    def stroke(self, points: Sequence[Point], colour: str, width: float, opacity: float = 1.0) -> None:
        self.shapes.append(Stroke(tuple(points), colour, width, opacity))

    def write(self, text: str, x: float, y: float, size: float, colour: str, bold: bool = False) -> None:
        self.shapes.append(Words(text, x, y, size, colour, bold))

    def svg(self, label: str = "") -> str:
        """One <svg> element that stands alone."""
        size = f"{_short(self.width)} {_short(self.height)}"
        made = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
            f'aria-label="{escape(label)}">'
        ]
        for shape in self.shapes:
            if isinstance(shape, Words):
                weight = ' font-weight="bold"' if shape.bold else ""
                made.append(
                    f'<text x="{_short(shape.x)}" y="{_short(shape.y)}" font-size="{_short(shape.size)}" '
                    f'font-family="sans-serif" fill="{shape.colour}"{weight}>{escape(shape.text)}</text>'
                )
                continue
            points = " ".join(f"{_short(x)},{_short(y)}" for x, y in shape.points)
            faint = f' opacity="{shape.opacity:.2f}"' if shape.opacity < 1 else ""
            if isinstance(shape, Filled):
                made.append(f'<polygon points="{points}" fill="{shape.colour}"{faint}/>')
            else:
                made.append(
                    f'<polyline points="{points}" fill="none" stroke="{shape.colour}" '
                    f'stroke-width="{_short(shape.width)}" stroke-linecap="round" '
                    f'stroke-linejoin="round"{faint}/>'
                )
        return "".join([*made, "</svg>"])

    def pixels(self) -> NDArray[np.uint8]:
        """[height, width, 3]."""
        high, wide = round(self.height) * FINER, round(self.width) * FINER
        canvas = np.empty((high, wide, 3), np.float32)
        canvas[:] = _rgb(self.background)
        for shape in self.shapes:
            if isinstance(shape, Filled):
                _paint_filled(canvas, shape)
            elif isinstance(shape, Stroke):
                _paint_stroke(canvas, shape)
            else:
                for each in _written(shape):
                    _paint_stroke(canvas, each)
        small = canvas.reshape(high // FINER, FINER, wide // FINER, FINER, 3).mean((1, 3))
        return np.asarray(small.round().clip(0, 255), np.uint8)

    def png(self) -> bytes:
        return png(self.pixels())


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG file of [height, width, 3] bytes."""
    height, width, _ = pixels.shape
    # Each row begins with the number of its filter; 0 is none.
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
        + chunk(b"IEND", b"")
    )


def _rgb(colour: str) -> NDArray[np.float32]:
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], np.float32)


def _window(canvas: NDArray[np.float32], points: NDArray[np.float64], around: float) -> tuple[slice, slice]:
    """The part of the canvas that a shape can touch."""
    low, high = np.floor(points.min(0) - around), np.ceil(points.max(0) + around) + 1
    left, top = np.maximum(low, 0).astype(int)
    right, bottom = np.minimum(high, [canvas.shape[1], canvas.shape[0]]).astype(int)
    return slice(top, max(top, bottom)), slice(left, max(left, right))


def _blend(part: NDArray[np.float32], mask: NDArray[np.bool_], colour: str, opacity: float) -> None:
    if mask.all():
        part += (_rgb(colour) - part) * opacity
    else:
        part[mask] += (_rgb(colour) - part[mask]) * opacity


def _paint_filled(canvas: NDArray[np.float32], shape: Filled) -> None:
    points = np.array(shape.points) * FINER
    rows, columns = _window(canvas, points, 0)
    y = np.arange(rows.start, rows.stop)[:, None] + 0.5
    x = np.arange(columns.start, columns.stop)[None] + 0.5
    inside = np.zeros((y.size, x.size), np.bool_)
    for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, 0), strict=True):
        if y0 == y1:
            continue
        # A point is inside if a ray from it to the right crosses the outline an odd number of times.
        crosses = (y0 <= y) != (y1 <= y)
        inside ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
    _blend(canvas[rows, columns], inside, shape.colour, shape.opacity)


def _paint_stroke(canvas: NDArray[np.float32], shape: Stroke) -> None:
    points, reach = np.array(shape.points) * FINER, shape.width * FINER / 2
    rows, columns = _window(canvas, points, reach)
    near = np.zeros(canvas[rows, columns].shape[:2], np.bool_)
    pairs = list(pairwise(points)) or [(points[0], points[0])]
    for start, end in pairs:
        # Each piece of the line in the small part of the canvas that it can touch.
        own_rows, own_columns = _window(canvas, np.stack([start, end]), reach)
        (x0, y0), (x1, y1) = start, end
        y = np.arange(own_rows.start, own_rows.stop)[:, None] + 0.5 - y0
        x = np.arange(own_columns.start, own_columns.stop)[None] + 0.5 - x0
        length = (x1 - x0) ** 2 + (y1 - y0) ** 2
        t = np.clip((x * (x1 - x0) + y * (y1 - y0)) / (length or 1.0), 0, 1)
        touched = (x - t * (x1 - x0)) ** 2 + (y - t * (y1 - y0)) ** 2 <= reach**2
        top, left = own_rows.start - rows.start, own_columns.start - columns.start
        near[top : top + touched.shape[0], left : left + touched.shape[1]] |= touched
    _blend(canvas[rows, columns], near, shape.colour, shape.opacity)


def _written(words: Words) -> list[Stroke]:
    """Words as strokes."""
    made, x = [], words.x
    thick = words.size * (0.13 if words.bold else 0.085)
    for letter in words.text:
        for line in strokes(letter):
            points = tuple((x + words.size * px, words.y - words.size * py) for px, py in line)
            made.append(Stroke(points, words.colour, thick))
        x += words.size * width_of(letter)
    return made
