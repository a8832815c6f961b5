"""`tabiya export …`: a network made ready to be used; each verb is a module of its own."""

from __future__ import annotations

import argparse

from tabiya.cli.common import add_verbs
from tabiya.cli.common import run_verb as run

__all__ = ["add_arguments", "run"]

VERBS: dict[str, str] = {
    "onnx": "a run's checkpoint as a network that plays without torch",
    "int8": "a network in eight bits",
    "check": "size, latency, agreement with another network, Elo difference",
    "checkpoint": "a network's file as a checkpoint to go on learning from",
    "duel": "thousands of games between two networks, on a GPU",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_verbs(parser, "export", VERBS)
