"""The board with what was found on it: warm squares, the move, pairs as thin arrows; the whole picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from typing import TYPE_CHECKING

from tabiya._core import Board
from tabiya.lens.interface import SQUARES
from tabiya.lens.letters import width_of, wrapped
from tabiya.lens.pieces import SIZE, Point, shapes
from tabiya.lens.scene import Scene
from tabiya.lens.words import dropped_named, line_named

if TYPE_CHECKING:
    from tabiya.lens.explain import Explanation

CELL = 56.0
MARGIN = 20.0
LIGHT, DARK = "#f1e9dc", "#bda98c"
WARM, MOVE, PAIR = "#e8590c", "#2b8a3e", "#3b5bdb"
INK, FAINT, PAPER = "#1f1f1f", "#6b6b6b", "#ffffff"
WHITE_PIECE, BLACK_PIECE = "#fbfaf7", "#33302c"

Arrow = tuple[str, str, float]


def board_scene(
    board: Board,
    weights: Mapping[str, float],
    pairs: Sequence[Arrow] = (),
    move: str | None = None,
    cell: float = CELL,
) -> Scene:
    """The board as the side to move sees it."""
    size = 8 * cell + MARGIN
    scene = Scene(size, size, PAPER)
    _draw_board(scene, board, weights, pairs, move, cell, MARGIN, 0.0)
    return scene


def picture(found: Explanation) -> Scene:
    """Board and sentences beside each other: all that the PNG shows."""
    side = 460.0
    board_size = 8 * CELL + MARGIN
    left, size = board_size + 24, 13.0
    title = f"{found.mind}: {found.board.san(found.move)}"
    blocks: list[tuple[str, float, str, bool]] = [(title, 20.0, INK, True)]
    line = line_named(found.board, found.line)
    if len(line) > 1:
        blocks.append((f"It seems to consider {' '.join(line)}.", size, FAINT, False))
    for number, sentence in enumerate(found.sentences, 1):
        blocks.append((f"{number}. {sentence.text}", size + 1, INK, False))
        blocks.append((f"Tested: {sentence.intervention}.", size - 1.5, FAINT, False))
    if found.dropped:
        blocks.append((dropped_named(found.dropped), size - 1.5, FAINT, False))
    lines: list[tuple[str, float, str, bool, float]] = []
    y = 26.0
    for text, letters, colour, bold in blocks:
        for each in wrapped(text, letters, side - 20):
            lines.append((each, letters, colour, bold, y))
            y += letters * 1.45
        y += letters * (0.55 if colour == FAINT else 0.1)
    scene = Scene(left + side, max(board_size, y) + 8, PAPER)
    _draw_board(scene, found.board, found.weights, found.pairs, found.move, CELL, MARGIN, 4.0)
    for text, letters, colour, bold, at in lines:
        scene.write(text, left, at, letters, colour, bold)
    return scene


def _draw_board(
    scene: Scene,
    board: Board,
    weights: Mapping[str, float],
    pairs: Sequence[Arrow],
    move: str | None,
    cell: float,
    x0: float,
    y0: float,
) -> None:
    turned = not board.white_to_move
    most = max([*weights.values(), 1e-9])

    def corner(square: str) -> Point:
        file, rank = ord(square[0]) - 97, int(square[1]) - 1
        column, row = (7 - file, rank) if turned else (file, 7 - rank)
        return x0 + column * cell, y0 + row * cell

    def middle(square: str) -> Point:
        x, y = corner(square)
        return x + cell / 2, y + cell / 2

    for square in SQUARES:
        x, y = corner(square)
        light = (ord(square[0]) + int(square[1])) % 2
        scene.box(x, y, cell, cell, LIGHT if light else DARK)
        warmth = weights.get(square, 0.0) / most
        if warmth > 0.01:
            scene.box(x, y, cell, cell, WARM, 0.08 + 0.77 * warmth)
        piece = board.piece_at(square)
        if piece is not None:
            _draw_piece(scene, piece, x, y, cell)
    strongest = max([weight for _, _, weight in pairs], default=1.0) or 1.0
    for by, at, weight in pairs:
        _draw_arrow(scene, middle(by), middle(at), PAIR, cell * 0.06, 0.35 + 0.5 * weight / strongest, cell)
    if move is not None:
        _draw_arrow(scene, middle(move[:2]), middle(move[2:4]), MOVE, cell * 0.13, 0.75, cell)
    letters = 11.0
    for place in range(8):
        file, rank = "abcdefgh"[7 - place if turned else place], str(place + 1 if turned else 8 - place)
        scene.write(rank, x0 - 13, y0 + (place + 0.5) * cell + 4, letters, FAINT)
        wide = letters * width_of(file)
        scene.write(file, x0 + (place + 0.5) * cell - wide / 2, y0 + 8 * cell + 13, letters, FAINT)


def _draw_piece(scene: Scene, piece: str, x: float, y: float, cell: float) -> None:
    shape, scale = shapes()[piece.lower()], cell / SIZE
    white = piece.isupper()
    inside, edge = (WHITE_PIECE, BLACK_PIECE) if white else (BLACK_PIECE, WHITE_PIECE)

    def placed(points: Sequence[Point]) -> list[Point]:
        return [(x + scale * px, y + scale * py) for px, py in points]

    for outline in shape.outlines:
        points = placed(outline)
        scene.stroke([*points, points[0]], edge if white else BLACK_PIECE, 1.6 * scale)
        scene.fill(points, inside)
    for line in shape.lines:
        scene.stroke(placed(line), edge, 1.4 * scale)


def _draw_arrow(
    scene: Scene, start: Point, end: Point, colour: str, width: float, opacity: float, cell: float
) -> None:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy)
    if length == 0:
        return
    ux, uy = dx / length, dy / length
    head = max(2.6 * width, cell * 0.16)
    tip = (end[0] - ux * cell * 0.12, end[1] - uy * cell * 0.12)
    neck = (tip[0] - ux * head, tip[1] - uy * head)
    side, half = (-uy, ux), width / 2
    # One outline, so that a faint arrow is as faint where shaft and head meet.
    scene.fill(
        [
            (start[0] + side[0] * half, start[1] + side[1] * half),
            (neck[0] + side[0] * half, neck[1] + side[1] * half),
            (neck[0] + side[0] * head * 0.6, neck[1] + side[1] * head * 0.6),
            tip,
            (neck[0] - side[0] * head * 0.6, neck[1] - side[1] * head * 0.6),
            (neck[0] - side[0] * half, neck[1] - side[1] * half),
            (start[0] - side[0] * half, start[1] - side[1] * half),
        ],
        colour,
        opacity,
    )
