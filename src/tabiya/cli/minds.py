"""`tabiya minds`: the players at hand, what they are, and how strong they were measured to be."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json
from tabiya.errors import UserError

ASSETS = Path(__file__).resolve().parents[1] / "assets"
"""The shipped minds, a folder for each kind."""


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
        | {"parameters": None, "bytes": None}
        | ratings.get(kind, {})
        # The manifest has the last word: its figures are tied to this very file, a list's only to the name.
        | shipped_figures(ASSETS / kind)
        for kind, (_module, what) in KINDS.items()
    ]
    if args.json:
        print_json({"minds": minds})
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("kind", "what it is", "size", "rating"):
        table.add_column(column, overflow="fold")
    for mind in minds:
        table.add_row(str(mind["kind"]), str(mind["what"]), _size(mind), _shown(mind))
    Console(highlight=False).print(table)
    return 0


def measured_ratings(folder: Path) -> dict[str, dict[str, Any]]:
    """The ratings by player in the rating lists under `folder`; the newest list has the last word.

    A rating list is a JSON file with `players`, each with a `name` and a
    `rating`, under `ratings` as `tabiya tournament` writes it or at its top.
    Other files are none of ours.
    """
    found: dict[str, dict[str, Any]] = {}
    files = [path for path in folder.rglob("*.json") if path.is_file()]
    for path in sorted(files, key=lambda path: (path.stat().st_mtime, str(path))):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            players = content.get("ratings", content)["players"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
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


def shipped_figures(folder: Path) -> dict[str, Any]:
    """Size and rating of the network shipped in `folder`, from its manifest; empty without one.

    The rating is `measured.elo`: a number, or an object with `rating` and,
    where they are known, `rating_95` and the `record` it was read from. A
    manifest that does not fit its network says nothing of it.
    """
    from tabiya.learn.sidecar import read_sidecar, sidecar_path

    for network in sorted([*folder.glob("*.onnx"), *folder.glob("*.nnue")]):
        try:
            manifest = read_sidecar(network)
        except UserError:
            continue
        figures = {"parameters": manifest["parameters"], "bytes": network.stat().st_size}
        measured = manifest["measured"]
        elo = measured.get("elo") if isinstance(measured, dict) else None
        if not isinstance(elo, dict):
            elo = {"rating": elo}
        if isinstance(elo.get("rating"), int | float):
            figures |= {
                "rating": elo["rating"],
                "rating_95": elo.get("rating_95"),
                "measured_in": elo.get("record") or str(sidecar_path(network)),
            }
        return figures
    return {}


def _size(mind: dict[str, Any]) -> str:
    if not mind["parameters"]:
        return ""
    return f"{mind['parameters'] / 1e6:.2f} M parameters, {mind['bytes'] / 1e6:.1f} MB"


def _shown(mind: dict[str, Any]) -> str:
    if mind["rating"] is None:
        return "not measured"
    ends = mind["rating_95"]
    if isinstance(ends, list) and len(ends) == 2 and None not in ends:
        return f"{mind['rating']:.0f} ({ends[0]:.0f} to {ends[1]:.0f})"
    return f"{mind['rating']:.0f}"
