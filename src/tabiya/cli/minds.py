"""`tabiya minds`: the players at hand, what they are, and how strong they were measured to be."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--results", default="results", metavar="DIR", help="where measured ratings are looked for (results)"
    )


def run(args: argparse.Namespace) -> int:
    from tabiya.roster import KINDS

    ratings = measured_ratings(Path(args.results))
    minds = [
        {"kind": kind, "what": what, "rating": None, "rating_95": None, "measured_in": None}
        | ratings.get(kind, {})
        for kind, (_module, what) in KINDS.items()
    ]
    if args.json:
        print_json({"minds": minds})
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("kind", "what it is", "rating"):
        table.add_column(column, overflow="fold")
    for mind in minds:
        table.add_row(str(mind["kind"]), str(mind["what"]), _shown(mind))
    Console(highlight=False).print(table)
    return 0


def measured_ratings(folder: Path) -> dict[str, dict[str, Any]]:
    """The ratings by player in the rating lists under `folder`; the newest list has the last word.

    A rating list is a JSON file with `players`, each with a `name` and a
    `rating`, as `tabiya tournament` writes it. Other files are none of ours.
    """
    found: dict[str, dict[str, Any]] = {}
    files = [path for path in folder.rglob("*.json") if path.is_file()]
    for path in sorted(files, key=lambda path: (path.stat().st_mtime, str(path))):
        try:
            players = json.loads(path.read_text(encoding="utf-8"))["players"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for player in players if isinstance(players, list) else ():
            if not isinstance(player, dict) or not isinstance(player.get("name"), str):
                continue
            if isinstance(player.get("rating"), int | float):
                found[player["name"]] = {
                    "rating": player["rating"],
                    "rating_95": player.get("rating_95"),
                    "measured_in": str(path),
                }
    return found


def _shown(mind: dict[str, Any]) -> str:
    if mind["rating"] is None:
        return "not measured"
    ends = mind["rating_95"]
    if isinstance(ends, list) and len(ends) == 2 and None not in ends:
        return f"{mind['rating']:.0f} ({ends[0]:.0f} to {ends[1]:.0f})"
    return f"{mind['rating']:.0f}"
