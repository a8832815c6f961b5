"""`tabiya lab NAME`: the experiments, each loaded when it is called.

An experiment is a module under tabiya.cli with `add_arguments(parser, name)`
and `run(args) -> int`; several names may share one.
"""

from __future__ import annotations

import argparse
import difflib
import importlib

from tabiya.errors import UserError

# name: (module under tabiya.cli, what it asks)
EXPERIMENTS: dict[str, tuple[str, str]] = {
    "resnet-progress": ("lab_resnet", "what each stage of the ResNet's training adds"),
    "resnet-ablation": ("lab_resnet", "what each ingredient of the ResNet is worth"),
    "resnet-mistakes": ("lab_resnet", "whether labels of mistakes teach more than labels of any positions"),
    "resnet-data": ("lab_resnet", "how the ResNet's strength grows with the number of positions"),
    "resnet-tables": (
        "lab_resnet_tables",
        "puzzles, openings, endgames, size and cost of the ResNet as it is",
    ),
    "features": ("lab_features", "what a feature set of the NNUE costs and holds"),
    "nnue-sweep": ("lab_nnue", "sizes of the NNUE's layers"),
    "axes": ("lab_nnue", "NNUE features along ranks, files and diagonals"),
    "pairs": ("lab_nnue", "NNUE features of neighbouring pairs of pieces"),
    "mobility": ("lab_nnue", "NNUE features of mobility"),
    "attacks": ("lab_nnue", "NNUE features of attacks"),
    "symmetry": ("lab_nnue", "NNUE features under the board's symmetries"),
    "piece-move": ("lab_nnue", "NNUE features of pieces and their moves"),
    "statistical": ("lab_nnue", "NNUE features found by statistics"),
    "neurons": ("lab_nnue", "the NNUE's unused neurons and active features"),
    "pqr": ("lab_nnue", "the NNUE taught by triplets of positions instead of evaluations"),
    "techniques": ("lab_techniques", "what each technique of the NNUE's search is worth in games"),
    "rounding": ("lab_rounding", "how far the NNUE in integers is from the float network"),
    "search-speed": ("lab_search_speed", "nodes a second, time to depth and `stop`, beside other engines"),
    "pool": ("lab_pool", "the figures of a gene pool's run"),
    "wiring": ("lab_wiring", "an evolution of the transformer's feedback"),
    "implicit": ("lab_implicit", "what the transformer loses with each thing it is not told"),
    "lookahead": ("lab_lookahead", "whether the transformer looks ahead"),
    "patterns": ("lab_patterns", "what the transformer's attention looks at"),
    "development": ("lab_development", "when a network's abilities appear during training"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    width = max(map(len, EXPERIMENTS))
    lines = [f"  {name:<{width}}  {asks}" for name, (_, asks) in EXPERIMENTS.items()]
    parser.usage = f"{parser.prog} NAME …"
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "\n".join(["names:", *lines, "", f"`{parser.prog} NAME --help` has the options."])
    parser.add_argument("name", nargs="?", metavar="NAME", help="which experiment")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # The class of the parser in use, so that an experiment's own is refused in one sentence too.
    parser.set_defaults(parser=type(parser), prog=parser.prog)


def run(args: argparse.Namespace) -> int:
    name = args.name
    if name is None:
        raise UserError(f"which experiment? `{args.prog} --help` lists them")
    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else f"; `{args.prog} --help` lists them"
        raise UserError(f"unknown experiment {name!r}{hint}")
    module_name, asks = EXPERIMENTS[name]
    module = importlib.import_module(f"tabiya.cli.{module_name}")
    parser = args.parser(prog=f"{args.prog} {name}", description=asks[0].upper() + asks[1:] + ".")
    module.add_arguments(parser, name)
    return int(module.run(parser.parse_args(args.words)))
