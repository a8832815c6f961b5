"""The record of an NNUE's experiment as tables to read.

Works on the record alone (report.json), so a table can be made again from
what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tabiya.reports.lab_table import (
    anchor_rating,
    expected_sentence,
    page,
    scale_sentence,
    share,
    signed,
    table,
)

Record = dict[str, Any]
Cell = Callable[[Record], str]


def markdown(record: Record) -> str:
    """The whole report."""
    parts = [
        record["verdict"],
        expected_sentence(record),
        _budget_sentence(record),
        _main_table(record),
        scale_sentence(record),
        *_grids(record),
        _taught_table(record),
        _choice_tables(record),
        "What each network sees, in one view of a held-out position, and what becomes of its first layer:",
        _inputs_table(record),
        _NEURONS,
        _pictures(record),
    ]
    return page(record, parts)


_NEURONS = (
    "A neuron is unused if it is silent in every view, at its ceiling in every view (constant), or heard by "
    "no neuron of the second layer; seldom if it is active in fewer than one view in a thousand. Weights "
    "have the less room the more features could be active at once, because no sum may overflow."
)


def _budget_sentence(record: Record) -> str:
    budget, rows = record["budget"], record["rows"]
    seconds, devices = [row["seconds"] for row in rows], sorted({row["device"] for row in rows})
    return (
        f"Every network: {budget['steps']:,} steps of {budget['batch']:,} positions or triplets, learning "
        f"rate {budget['peak_rate']:g}, seed {budget['seed']}, {min(seconds):.0f} to {max(seconds):.0f} s "
        f"each on {', '.join(devices)}. {record['games']:,} games, {record['pace']}."
    )


def _main_table(record: Record) -> str:
    head = ["network", "what it is", "features", "inputs", "layers", "loss"]
    head += [f"Elo from {record['baseline']}", "Elo"]
    cells: list[Cell] = [
        lambda row: row["name"],
        lambda row: row["title"],
        lambda row: f"`{row['features']}`",
        lambda row: f"{row['inputs']['size']:,}",
        _layers,
        lambda row: _loss(row["loss"]),
        lambda row: signed(row, "difference"),
        lambda row: signed(row, "rating"),
    ]
    if any("puzzles" in row["exams"] for row in record["rows"]):
        head += ["puzzles, moves right", "puzzles solved"]
        cells += [
            lambda row: share(row["exams"].get("puzzles"), "moves_right_share", "moves_right_95"),
            lambda row: share(row["exams"].get("puzzles"), "solved_share", "solved_95"),
        ]
    head += ["nodes a second", "parameters", "seconds"]
    cells += [
        lambda row: _speed(row),
        lambda row: f"{row['parameters']:,}",
        lambda row: f"{row['seconds']:.0f}",
    ]
    rows = [[cell(row) for cell in cells] for row in record["rows"]]
    for anchor in record["anchors"]:
        rows.append([anchor["name"], "anchor", *[""] * 5, anchor_rating(anchor), *[""] * (len(head) - 8)])
    return table(head, rows)


def _layers(row: Record) -> str:
    sizes = [f"2 × {row['l1']}", row["l2"], *([row["extra"]] if row["extra"] else []), 1]
    return " → ".join(map(str, sizes))


def _loss(value: float | None) -> str:
    return "–" if value is None else f"{value:.5f}"


def _speed(row: Record) -> str:
    found = row["exams"].get("speed")
    return f"{found['nps']:,.0f}" if found else "–"


GRIDS: dict[str, tuple[str, Callable[[Record], float | None]]] = {
    "loss": (".5f", lambda row: row["loss"]),
    "Elo": ("+.0f", lambda row: row.get("difference")),
    "puzzle moves right, %": (".1f", lambda row: _moves_right(row)),
    "nodes a second": (",.0f", lambda row: row["exams"].get("speed", {}).get("nps")),
}
"""What is shown over L1 and L2: how a number is written, and where it stands in a row."""


def _moves_right(row: Record) -> float | None:
    right = row["exams"].get("puzzles", {}).get("moves_right_share")
    return None if right is None else 100 * right


def grid_of(record: Record) -> tuple[list[int], list[int], dict[tuple[int, int], Record]] | None:
    """The sizes of L1 and L2 that were tried with each other, without a layer more; None if none were."""
    plain = {(row["l1"], row["l2"]): row for row in record["rows"] if not row["extra"]}
    l1, l2 = sorted({size[0] for size in plain}), sorted({size[1] for size in plain})
    return (l1, l2, plain) if record["experiment"] == "nnue-sweep" and plain else None


def _grids(record: Record) -> list[str]:
    found = grid_of(record)
    if found is None:
        return []
    firsts, seconds, rows = found
    tables = []
    for what, (form, number) in GRIDS.items():
        known = {size: value for size, row in rows.items() if (value := number(row)) is not None}
        if not known:
            continue
        head = [f"{what}: L1 down, L2 across", *map(str, seconds)]
        lines = []
        for l1 in firsts:
            cells = [known.get((l1, l2)) for l2 in seconds]
            lines.append([str(l1), *("–" if cell is None else f"{cell:{form}}" for cell in cells)])
        tables.append(table(head, lines))
    return tables


def _taught_table(record: Record) -> str:
    """How each was taught, and how it agrees with people; where that is the question or was asked."""
    rows = record["rows"]
    asked = any("human" in row["exams"] for row in rows)
    if not asked and all(row["prefers_played"] is None for row in rows):
        return ""
    head = ["network", "taught by", "own loss", "played move above a random one"]
    head += ["people's move", "people's move, without search"] if asked else []
    bands = sorted({(band["from"], band["to"]) for row in rows for band in _bands(row)})
    head += [f"by {low}–{high}" for low, high in bands]
    lines = []
    for row in rows:
        method = row["method"] if row["after"] is None else f"{row['method']}, after {row['after']}"
        prefers = "–" if row["prefers_played"] is None else f"{100 * row['prefers_played']:.1f} %"
        line = [row["name"], method, _loss(row["own_loss"]), prefers]
        if asked:
            human = row["exams"].get("human", {})
            line += [share(human, "top1", "top1_95")]
            line += [share(human.get("without_search"), "top1", "top1_95")]
        by_band = {(band["from"], band["to"]): band["top1"] for band in _bands(row)}
        line += [f"{100 * by_band[band]:.1f} %" if band in by_band else "–" for band in bands]
        lines.append(line)
    return table(head, lines)


def _bands(row: Record) -> list[Record]:
    found: list[Record] = row["exams"].get("human", {}).get("by_rating", [])
    return found


def _choice_tables(record: Record) -> str:
    chosen = record["choices"]
    if not chosen:
        return ""
    lines = [
        [
            name,
            f"{one['count']:,}",
            one["by"],
            f"{100 * one['share_of_pairs_seen']:.1f} %",
            "; ".join(one["first"][:4]),
        ]
        for name, one in chosen["sets"].items()
    ]
    head = ["network", "pairs chosen", "by", "share of all pairs seen", "the first of them"]
    said = [f"Pairs of pieces, counted on {chosen['positions']:,} positions:", table(head, lines)]
    if chosen["in_both"]:
        both = [f"{one['in_both']:,} of {one['count']:,}" for one in chosen["in_both"]]
        said.append(f"Chosen by both ways: {', '.join(both)}.")
    return "\n\n".join(said)


def _inputs_table(record: Record) -> str:
    head = ["network", "inputs", "dead", "seen", "active", "share", "weights within"]
    timed = any("features" in row["exams"] for row in record["rows"])
    head += ["added a move", "removed", "made anew"] if timed else []
    head += ["L1", "unused", "silent", "constant", "unheard", "seldom", "active on average"]
    lines = []
    for row in record["rows"]:
        inputs, neurons = row["inputs"], row["neurons"]
        line = [row["name"], *(f"{inputs[key]:,}" for key in ("size", "dead", "seen"))]
        line += [f"{inputs['active']:.1f}", f"{100 * inputs['active_share']:.2f} %"]
        line += [f"±{inputs['largest_weight']:.2f} ({100 * inputs['at_the_end']:.1f} % at the end)"]
        if timed:
            use = row["exams"].get("features")
            line += (
                [f"{use['added']:.2f}", f"{use['removed']:.2f}", f"{100 * use['refresh_rate']:.1f} %"]
                if use
                else ["–"] * 3
            )
        line += [f"{neurons[key]:,}" for key in ("l1", "unused", "silent", "constant", "unheard", "seldom")]
        lines.append([*line, f"{100 * neurons['active_share']:.1f} %"])
    return table(head, lines)


def _pictures(record: Record) -> str:
    pictures = record["pictures"]
    if not pictures:
        return ""
    weights = ", ".join(f"[{row['name']}]({pictures[row['name']]})" for row in record["rows"])
    baseline = pictures[record["baseline"]]
    return "\n\n".join(
        [
            f"![Loss curves, Elo and neurons]({pictures['report']})",
            f"Weights of first-layer neurons, piece by piece on the board: {weights}.",
            f"![Weights of {record['baseline']}]({baseline})",
        ]
    )
