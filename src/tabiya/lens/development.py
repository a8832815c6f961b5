"""When abilities appear: a run's checkpoints laid side by side, as a table, figures and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tabiya.lens.scene import Scene

VALUED = ("pawn", "knight", "bishop", "rook", "queen")
COLOURS = ("#2b8a3e", "#c92a2a", "#3b5bdb", "#8a6d1d", "#862e9c", "#495057")

Row = dict[str, Any]


def piece_values(row: Row) -> dict[str, float]:
    """What losing an own piece of each kind costs the outlook, in pawns; empty while a pawn costs nothing."""
    outlook = row["piece_outlook"]
    pawn = outlook.get("own pawn", 0.0)
    if pawn <= 0:
        return {}
    return {kind: round(outlook[f"own {kind}"] / pawn, 2) for kind in VALUED if f"own {kind}" in outlook}


def in_order(row: Row) -> bool:
    """Whether pawn < knight, bishop < rook < queen."""
    worth = [row["piece_outlook"].get(f"own {kind}") for kind in VALUED]
    if any(each is None for each in worth):
        return False
    pawn, knight, bishop, rook, queen = (float(each) for each in worth if each is not None)
    return 0 < pawn < min(knight, bishop) and max(knight, bishop) < rook < queen


def sentences(rows: Sequence[Row]) -> list[str]:
    """When each ability is first there, and stays."""
    said = []
    abilities: dict[str, Callable[[Row], bool]] = {
        "own pieces have their order of value (pawn, minor piece, rook, queen)": in_order,
        "half of the puzzles' first moves are found": lambda row: row["first_moves"] >= 0.5,
        "the square of the 3rd move stands out from the largest other": looks_ahead,
        "one head moves a tenth of the policy or more": lambda row: float(np.max(row["heads"])) >= 0.1,
    }
    for what, there in abilities.items():
        first = None
        for row in rows:
            first = (row["step"] if first is None else first) if there(row) else None
        said.append(f"{what}: {'not seen' if first is None else f'from step {first:,} on'}")
    return said


def looks_ahead(row: Row) -> bool:
    found = row.get("lookahead")
    low = found["3rd less largest other"][1] if found else None
    return low is not None and low > 0


def markdown(name: str, rows: Sequence[Row]) -> str:
    """The whole report."""
    head = ["step", "first moves", "illegal", *VALUED, "strongest head", "3rd move", "largest other"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        values, heads = piece_values(row), np.array(row["heads"])
        layer, head_number = np.unravel_index(int(heads.argmax()), heads.shape)
        looked = row.get("lookahead")
        lines.append(
            [
                f"{row['step']:,}",
                f"{100 * row['first_moves']:.1f} %",
                "–" if row["illegal"] is None else f"{100 * row['illegal']:.2f} %",
                *(f"{values[kind]:.1f}" if kind in values else "–" for kind in VALUED),
                f"{layer + 1}.{head_number + 1}: {heads.max():.3f}",
                "–" if looked is None else f"{looked['3rd'][0]:.2f}",
                "–" if looked is None else f"{looked['other (largest)'][0]:.2f}",
            ]
        )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    listed = "\n".join(f"- {each}" for each in sentences(rows))
    return (
        f"# development of {name}\n\n{listed}\n\n{table}\n\nPieces: what the outlook loses with an own piece "
        "blanked, in pawns. Heads: layer.head and the total variation without it. Moves: effects of "
        "patching, in log-odds.\n"
    )


def figure(rows: Sequence[Row]) -> Scene:
    """Three panels over the steps: pieces, heads by layer, puzzles and look-ahead."""
    panels: list[tuple[str, dict[str, list[float | None]]]] = [
        (
            "outlook lost with a piece",
            {kind: [row["piece_outlook"].get(f"own {kind}") for row in rows] for kind in VALUED},
        ),
        (
            "strongest head of a layer",
            {
                f"layer {layer + 1}": [float(max(row["heads"][layer])) for row in rows]
                for layer in _some(len(rows[0]["heads"]), len(COLOURS))
            },
        ),
        ("first moves found", {"puzzles": [row["first_moves"] for row in rows]}),
        (
            "effect of patching",
            {
                group: [row["lookahead"][group][0] if row.get("lookahead") else None for row in rows]
                for group in ("1st", "2nd", "3rd", "other (largest)")
            },
        ),
    ]
    wide, high, left, top = 300.0, 200.0, 50.0, 34.0
    scene = Scene(2 * (wide + left) + 20, 2 * (high + top + 62))
    steps = np.array([row["step"] for row in rows], np.float64)
    low, span = steps.min(), max(float(np.ptp(steps)), 1.0)
    for number, (title, series) in enumerate(panels):
        x0 = left + (number % 2) * (wide + left)
        y0 = top + (number // 2) * (high + top + 58)
        known = [value for values in series.values() for value in values if value is not None]
        floor, ceiling = min([*known, 0.0]), max([*known, 1e-3]) * 1.05
        scene.write(title, x0, y0 - 10, 13, "#1f1f1f", bold=True)
        for part in range(3):
            value = floor + (ceiling - floor) * part / 2
            y = y0 + high * (1 - part / 2)
            scene.stroke([(x0, y), (x0 + wide, y)], "#dddddd", 1)
            scene.write(f"{value:.2f}", x0 - 34, y + 4, 10, "#6b6b6b")
        for at, (name, values) in enumerate(series.items()):
            colour = COLOURS[at % len(COLOURS)]
            points = [
                (x0 + wide * (step - low) / span, y0 + high * (1 - (value - floor) / (ceiling - floor)))
                for step, value in zip(steps.tolist(), values, strict=True)
                if value is not None
            ]
            for point in points:
                scene.stroke([point], colour, 4)
            if len(points) > 1:
                scene.stroke(points, colour, 1.8)
            scene.box(x0 + 100 * (at % 3), y0 + high + 22 + 14 * (at // 3), 8, 8, colour)
            scene.write(name, x0 + 12 + 100 * (at % 3), y0 + high + 30 + 14 * (at // 3), 10, "#1f1f1f")
        scene.write(f"{int(low):,}", x0, y0 + high + 13, 10, "#6b6b6b")
        scene.write(f"{int(steps.max()):,} steps", x0 + wide - 70, y0 + high + 13, 10, "#6b6b6b")
    return scene


def _some(count: int, most: int) -> list[int]:
    """At most so many of the numbers below `count`, first and last among them."""
    return sorted(set(np.linspace(0, count - 1, min(count, most)).round().astype(int).tolist()))
