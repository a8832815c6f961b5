"""`tabiya data stats FOLDER`: what a data folder holds, as tables, as JSON, as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json, progress

MOST_ROWS = 24
"""Rows of a terminal histogram; finer ones are joined until they fit."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="a data folder, as `tabiya data extract` makes them")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them into a .png or .svg file")


def run(args: argparse.Namespace) -> int:
    from tabiya.data.shards import ShardFolder
    from tabiya.data.stats import folder_stats
    from tabiya.reports.data_plot import check_plot, plot_stats

    if args.plot:
        check_plot(args.plot)
    folder = ShardFolder.open(args.folder)
    total = folder.count("train") + folder.count("validation")
    with progress("reading", total, unit="positions") as meter:
        stats = folder_stats(folder, report=meter.advance)
    if args.plot:
        plot_stats(stats, args.plot)
    if args.json:
        print_json(stats)
    else:
        _print_tables(stats)
    return 0


def _print_tables(stats: dict[str, Any]) -> None:
    from rich.console import Console

    from tabiya.reports.bars import bar_table

    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{stats['folder']}: {stats['positions']:,} positions of {stats['games']:,} games", markup=False
    )
    tables = [
        bar_table("split", list(stats["splits"].items())),
        bar_table("result", [(name, entry["positions"]) for name, entry in stats["results"].items()]),
        bar_table(_with_range("average rating", stats["ratings"]), _rows(stats["ratings"]["histogram"])),
        bar_table(_with_range("half-moves played", stats["plies"]), _rows(stats["plies"]["histogram"])),
        bar_table("tier", [(entry["name"], entry["positions"]) for entry in stats["tiers"]]),
    ]
    for table in tables:
        if table.row_count:
            console.print()
            console.print(table)
    console.print()
    for line in _sentences(stats):
        console.print(line, markup=False)


def _with_range(title: str, figures: dict[str, Any]) -> str:
    if figures["mean"] is None:
        return title
    return f"{title} ({figures['least']} to {figures['greatest']}, mean {figures['mean']:.1f})"


def _rows(histogram: list[dict[str, int]]) -> list[tuple[str, int]]:
    """At most MOST_ROWS rows: neighbours are joined, and a long thin tail becomes one row."""
    total = sum(bin["positions"] for bin in histogram)
    seen, shown = 0, 0
    for bin in histogram:
        seen += bin["positions"]
        shown += 1
        if seen >= 0.995 * total:
            break
    joined = -(-shown // MOST_ROWS)
    rows = [
        (f"{group[0]['from']}–{group[-1]['to'] - 1}", sum(bin["positions"] for bin in group))
        for start in range(0, shown, joined)
        if (group := histogram[start : min(start + joined, shown)])
    ]
    if tail := sum(bin["positions"] for bin in histogram[shown:]):
        rows.append((f"{histogram[shown]['from']} and more", tail))
    return rows


def _sentences(stats: dict[str, Any]) -> list[str]:
    found, evaluations, labels = stats["duplicates"], stats["evaluations"], stats["labels"]
    how = "" if found["method"] == "exact" else f", estimated from one key in {found['one_in']}"
    lines = [
        f"duplicates    {found['duplicates']:,}{_percent(found['share'])}{how}; "
        f"{found['in_both_splits']:,} distinct positions in both splits",
        f"evaluations   {evaluations['present']:,}{_percent(evaluations['share'])}, "
        f"{evaluations['mates']:,} of them mates",
    ]
    if stats["ratings"]["unknown"]:
        lines.append(f"no rating     {stats['ratings']['unknown']:,}")
    if stats["without_move"]:
        lines.append(f"no move       {stats['without_move']:,}")
    if not labels:
        lines.append("labels        none")
    for entry in labels:
        count = "" if entry["labelled"] is None else f", {entry['labelled']:,} positions labelled"
        lines.append(f"labels        {entry['file']}: {entry['bytes']:,} bytes{count}")
    return lines


def _percent(share: float | None) -> str:
    return "" if share is None else f" ({100 * share:.2f} %)"
