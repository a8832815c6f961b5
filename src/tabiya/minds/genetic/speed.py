"""How fast the genetic search is: `python -m tabiya.minds.genetic.speed [--out results]`.

Leaves scored in a second of one core's own time (so that a busy machine does
not change it much), with all genes on: once with all exponents 1, once with
none 1. Then games in an hour of random genomes by a node clock, on one core and on two.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tabiya._core import Board, GeneticMind, Genome, StopFlag, genetic_game

POSITIONS = (
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NB1N2/PP3PPP/R1BQ1RK1 w - - 0 10",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "2r3k1/1p3ppp/p3p3/3bP3/1P1P4/P4N2/5PPP/2R3K1 b - - 0 25",
    "8/5pk1/3p2p1/2pP3p/1pP1P2P/1P3PP1/6K1/8 w - - 0 40",
)
DEPTH = 5
GAME_NODES = 4000


def all_on(genome: Genome, exponent: float) -> Genome:
    """The genome with every priority at least 1 and one exponent for all."""
    lines = []
    for line in genome.text().splitlines():
        name, colon, value = line.partition(": ")
        if name == "Exponent":
            continue
        if name == "Priority":
            lines.append(f"Exponent: {exponent}")
            line = f"{name}{colon}{max(1.0, abs(float(value)))}"
        lines.append(line)
    return Genome("\n".join(lines) + "\n")


def leaves_a_second(genome: Genome) -> dict[str, float]:
    leaves = nodes = 0
    began = time.thread_time()
    for fen in POSITIONS:
        found = GeneticMind(genome).play(Board(fen), StopFlag(), depth=DEPTH)
        leaves += found["leaves"]
        nodes += found["nodes"]
    seconds = time.thread_time() - began
    return {"leaves": leaves, "nodes": nodes, "leaves_a_second": round(leaves / seconds)}


def games_an_hour(workers: int, games: int) -> float:
    genomes = [Genome.random(id, id) for id in range(2 * games)]

    def play(at: int) -> None:
        genetic_game(genomes[2 * at], genomes[2 * at + 1], GAME_NODES, "nodes", StopFlag())

    began = time.perf_counter()
    with ThreadPoolExecutor(workers) as executor:
        list(executor.map(play, range(games)))
    return round(3600 * games / (time.perf_counter() - began))


def measure(games: int = 400) -> dict[str, Any]:
    genome = Genome.random(1, 1)
    return {
        "exponents_1": leaves_a_second(all_on(genome, 1.0)),
        "exponents_not_1": leaves_a_second(all_on(genome, 1.1)),
        "games_an_hour": {str(workers): games_an_hour(workers, games) for workers in (1, 2)},
        "game_nodes": GAME_NODES,
        "depth": DEPTH,
    }


def main() -> None:
    from tabiya.arena.provenance import provenance
    from tabiya.files import replacing

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", metavar="DIR", help="write genetic-speed.json there as well")
    args = parser.parse_args()
    text = json.dumps({**measure(), **provenance()}, ensure_ascii=False, indent=1)
    print(text)
    if args.out:
        with replacing(Path(args.out) / "genetic-speed.json") as temporary:
            temporary.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
