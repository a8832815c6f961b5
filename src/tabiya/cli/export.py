"""`tabiya export …`: a network made ready to be used; each verb is a module of its own."""

from __future__ import annotations

import argparse
import importlib

VERBS: dict[str, str] = {
    "onnx": "a run's checkpoint as a network that plays without torch",
    "int8": "a network in eight bits",
    "check": "size, latency, agreement with another network, Elo difference",
    "duel": "thousands of games between two networks, on a GPU",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        module = importlib.import_module(f"tabiya.cli.export_{verb}")
        verb_parser = verbs.add_parser(verb, help=summary, description=summary[0].upper() + summary[1:] + ".")
        module.add_arguments(verb_parser)
        verb_parser.set_defaults(run=module.run)


def run(args: argparse.Namespace) -> int:
    return int(args.run(args))
