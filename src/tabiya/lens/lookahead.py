"""What the look-ahead records add up to: effects by layer with intervals, a table, a figure.

For each layer: the mean effect of patching the squares where the 1st, 2nd and
3rd half-move of the line land, of the squares where the twin differs, and of
the other square that has the largest effect in each puzzle (a high bar: the
best of some sixty). A difference is taken puzzle by puzzle before it is averaged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.lens.interface import SQUARES
from tabiya.lens.scene import Scene

GROUPS = ("1st", "2nd", "3rd", "changed", "other (largest)", "other (mean)")
COLOURS = ("#2b8a3e", "#8a6d1d", "#c92a2a", "#868e96", "#3b5bdb", "#91a7ff")


def read_records(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of records; one that was cut off at the end is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            if number < len(lines):
                raise UserError(f"{path}:{number} is no record of the experiment") from None
    return found


def mean_95(values: NDArray[np.float64]) -> list[float | None]:
    """Mean, and the ends of its 95 % interval; None where there are too few."""
    if len(values) < 2:
        return [None, None, None] if not len(values) else [round(float(values[0]), 4), None, None]
    mean = float(values.mean())
    reach = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5
    return [round(mean, 4), round(mean - reach, 4), round(mean + reach, 4)]


def grouped(records: Sequence[dict[str, Any]]) -> dict[str, NDArray[np.float64]]:
    """[puzzles, layers] for each group; not a number where a puzzle has no such square."""
    number = {square: at for at, square in enumerate(SQUARES)}
    found: dict[str, list[NDArray[np.float64]]] = {group: [] for group in GROUPS}
    for each in records:
        effects = np.array(each["squares"], np.float64)
        first, second, third = (number[square] for square in each["targets"])
        changed = [number[square] for square in each["changed"]]
        involved = {first, second, third, *changed}
        others = effects[:, [at for at in range(64) if at not in involved]]
        nothing = np.full(len(effects), np.nan)
        found["1st"].append(effects[:, first])
        # Where the reply takes back on the same square, nobody can tell the two apart.
        found["2nd"].append(effects[:, second] if second not in (first, third) else nothing)
        found["3rd"].append(effects[:, third])
        found["changed"].append(effects[:, changed].max(1))
        found["other (largest)"].append(others.max(1))
        found["other (mean)"].append(others.mean(1))
    return {group: np.array(rows) for group, rows in found.items()}


def summary(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All figures of one network."""
    kept = [each for each in records if "skipped" not in each]
    reasons: dict[str, int] = {}
    for each in records:
        if "skipped" in each:
            reasons[each["skipped"]] = reasons.get(each["skipped"], 0) + 1
    if not kept:
        return {"puzzles": 0, "skipped": reasons, "layers": []}
    groups = grouped(kept)
    layers = []
    for layer in range(len(kept[0]["squares"])):
        row: dict[str, Any] = {"layer": layer + 1}
        for group, values in groups.items():
            own = values[:, layer]
            row[group] = mean_95(own[np.isfinite(own)])
        third, largest = groups["3rd"][:, layer], groups["other (largest)"][:, layer]
        row["3rd less largest other"] = mean_95(third - largest)
        row["3rd above largest other"] = round(float((third > largest).mean()), 4)
        layers.append(row)
    best = max(layers, key=lambda row: row["3rd"][0])
    heads = [np.array(each["heads"]) for each in kept if each.get("heads")]
    found = {
        "puzzles": len(kept),
        "skipped": reasons,
        "mean_log_odds": round(float(np.mean([each["log_odds"] for each in kept])), 4),
        "mean_twin_log_odds": round(float(np.mean([each["twin_log_odds"] for each in kept])), 4),
        "layers": layers,
        "strongest_layer_of_3rd": best["layer"],
        "verdict": verdict(best),
    }
    if heads:
        mean = np.mean(heads, axis=0)
        order = np.argsort(-mean, axis=None)[:5]
        found["heads"] = [
            {
                "layer": int(at // mean.shape[1]) + 1,
                "head": int(at % mean.shape[1]) + 1,
                "effect": mean_95(np.array([each.ravel()[at] for each in heads])),
            }
            for at in order.tolist()
        ]
    return found


def verdict(row: dict[str, Any]) -> str:
    """The outcome in a sentence."""
    _, low, high = row["3rd less largest other"]
    where = f"after layer {row['layer']}"
    third, other = row["3rd"][0], row["other (largest)"][0]
    figures = f"{third:.2f} against {other:.2f} for the largest other square"
    if low is None:
        return f"too few puzzles to say: {figures} {where}"
    what = "the square of the 3rd move stands out" if low > 0 else "no sign of looking beyond the first move"
    return f"{what} {where}: {figures} (difference {low:.2f} to {high:.2f})"


def markdown(found: dict[str, dict[str, Any]]) -> str:
    """A table for each network."""
    parts = ["# lookahead: does the network look ahead?"]
    for name, each in found.items():
        parts.append(f"## {name}")
        if not each["puzzles"]:
            parts.append("No puzzle could be measured.")
            continue
        said = each["verdict"]
        parts.append(f"{each['puzzles']} puzzles. {said[:1].upper()}{said[1:]}.")
        parts.append(
            f"The right move's log-odds are {each['mean_log_odds']:.2f} on average, in the twins "
            f"{each['mean_twin_log_odds']:.2f}."
        )
        head = ["layer", *GROUPS, "3rd less largest other"]
        rows = [head, ["---"] * len(head)]
        rows += [[str(row["layer"]), *(_cell(row[key]) for key in head[1:])] for row in each["layers"]]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        if each.get("heads"):
            heads = ", ".join(f"{h['layer']}.{h['head']} ({_cell(h['effect'])})" for h in each["heads"])
            parts.append(f"Heads with the largest effect (layer.head): {heads}.")
        if each["skipped"]:
            parts.append("Left out: " + ", ".join(f"{why} {n}" for why, n in each["skipped"].items()) + ".")
    parts.append("Effects are falls of the right move's log-odds, with 95 % intervals.")
    return "\n\n".join(parts) + "\n"


def _cell(figure: list[float | None]) -> str:
    mean, low, high = figure
    if mean is None:
        return "–"
    return f"{mean:.2f}" if low is None or high is None else f"{mean:.2f} ({low:.2f} to {high:.2f})"


def figure(found: dict[str, dict[str, Any]]) -> Scene:
    """Effects by layer, a panel for each network, bands for the intervals."""
    shown = {name: each for name, each in found.items() if each["puzzles"]}
    wide, high, left, top = 430.0, 300.0, 52.0, 40.0
    scene = Scene(max(1, len(shown)) * (wide + left) + 20, high + top + 90)
    values = [
        v
        for each in shown.values()
        for row in each["layers"]
        for g in GROUPS
        for v in row[g]
        if v is not None
    ]
    ceiling, floor = float(max([*values, 0.1])) * 1.08, float(min([*values, 0.0]))
    for number, (name, each) in enumerate(shown.items()):
        x0, layers = left + number * (wide + left), each["layers"]

        def x(layer: int, x0: float = x0, count: int = len(layers)) -> float:
            return x0 + wide * (layer + 0.5) / count

        def y(value: float) -> float:
            return top + high * (1 - (value - floor) / (ceiling - floor))

        scene.write(f"{name}: {each['puzzles']} puzzles", x0, 22, 14, "#1f1f1f", bold=True)
        for step in range(5):
            value = floor + (ceiling - floor) * step / 4
            scene.stroke([(x0, y(value)), (x0 + wide, y(value))], "#dddddd", 1)
            scene.write(f"{value:.2f}", x0 - 34, y(value) + 4, 10, "#6b6b6b")
        for group, colour in zip(GROUPS, COLOURS, strict=True):
            known = [(at, row[group]) for at, row in enumerate(layers) if row[group][0] is not None]
            for at, (mean, low, up) in known:
                if low is not None:
                    scene.stroke([(x(at), y(low)), (x(at), y(up))], colour, 5, 0.3)
                scene.stroke([(x(at), y(mean))], colour, 5)
            if len(known) > 1:
                scene.stroke([(x(at), y(values[0])) for at, values in known], colour, 1.8)
        for at, row in enumerate(layers):
            scene.write(str(row["layer"]), x(at) - 3, top + high + 16, 10, "#6b6b6b")
        scene.write("layer", x0 + wide / 2 - 14, top + high + 32, 11, "#6b6b6b")
    for number, (group, colour) in enumerate(zip(GROUPS, COLOURS, strict=True)):
        place = left + 130 * (number % 3), top + high + 52 + 18 * (number // 3)
        scene.box(place[0], place[1] - 9, 10, 10, colour)
        scene.write(group, place[0] + 15, place[1], 11, "#1f1f1f")
    return scene
