"""`tabiya lab pool`: the report of a gene pool's run, which its own mind makes."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser, name: str) -> None:
    from tabiya.minds.genetic import lab

    lab.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from tabiya.minds.genetic import lab

    return lab.run(args)
