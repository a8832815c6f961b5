"""`tabiya data …`: each verb is a module of its own, loaded when it is called."""

from __future__ import annotations

import argparse

from tabiya.cli.common import add_verbs
from tabiya.cli.common import run_verb as run

__all__ = ["add_arguments", "run"]

VERBS: dict[str, str] = {
    "extract": "games (PGN, also compressed) to shards of positions",
    "label": "positions or games to labels by a UCI engine, resumable",
    "choose": "positions of games and beside them to a UCI engine's own moves, resumable",
    "value": "positions of games to move labels by a network's own value of every successor",
    "selfplay": "a network's games against itself to a list of positions for a teacher",
    "join": "several files of move labels as one to train on",
    "forcing": "deep but narrow test positions out of games, verified by an engine",
    "curate": "the hard positions out of labelled ones",
    "stats": "what a folder of positions holds, as tables and a plot",
    "download": "monthly Lichess files, resumable, sums checked",
    "export": "positions to JSON lines",
    "import": "JSON lines to a folder of positions",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, "data", VERBS)
