"""A gene pool's history as arrays: every game, and genomes over the course of the births.

Games are read whole, for they are counted; of many genomes a sample is
enough, evenly spread over the births. Nothing is judged here.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Genome
from tabiya.errors import UserError
from tabiya.minds.genetic import pool_files

MOST_GENOMES = 4000
"""Sampled for the course of the genes."""

PIECES = ("P", "N", "B", "R", "Q", "K")
ARMY = {"P": 8, "N": 2, "B": 2, "R": 2, "Q": 1, "K": 1}

_GAME = re.compile(
    rb'\[White "(\d+)"\]\n\[Black "(\d+)"\]\n\[Result "([^"]+)"\]\n\[PlyCount "(\d+)"\]\n'
    rb'(?:\[[^\n]*\]\n)*?\[GameEnd "([^"]+)"\]'
)
_PROMOTION = re.compile(rb"=([QRBN])")
_RESULTS = {b"1-0": 1, b"0-1": -1, b"1/2-1/2": 0}


@dataclass(frozen=True)
class Games:
    """All games of a run in the order they were recorded."""

    plies: NDArray[np.int64]
    results: NDArray[np.int8]
    """1 for White, −1 for Black, 0 for a draw."""
    endings: NDArray[np.int16]
    """Numbers into `names`."""
    names: tuple[str, ...]
    promotions: dict[str, int]

    def __len__(self) -> int:
        return len(self.plies)

    @property
    def moves(self) -> NDArray[np.int64]:
        """Full moves, one being White's and Black's together."""
        return (self.plies + 1) // 2

    def ended_by(self, name: str) -> NDArray[np.bool_]:
        return np.asarray(self.endings == (self.names.index(name) if name in self.names else -1))


@dataclass(frozen=True)
class Genes:
    """Sampled genomes in the order of their birth."""

    ids: NDArray[np.int64]
    values: dict[str, dict[str, NDArray[np.float64]]]
    """By gene and property; piece strengths as shares of the starting army."""

    def last_tenth(self, gene: str, name: str) -> float:
        """The mean over the last tenth of the births."""
        series = self.values[gene][name]
        return float(np.mean(series[-max(1, len(series) // 10) :]))


def read_games(pool: Path) -> Games:
    path = pool_files.games_file(pool)
    if not path.exists():
        raise UserError(f"no games beside {pool}: {path} is missing")
    plies, results, endings = [], [], []
    names: dict[bytes, int] = {}
    with pool_files.opened(pool, path) as content:
        for game in _GAME.finditer(content):
            plies.append(int(game[4]))
            results.append(_RESULTS.get(game[3], 0))
            endings.append(names.setdefault(game[5], len(names)))
        promotions = Counter(piece[1].decode() for piece in _PROMOTION.finditer(content))
    if not plies:
        raise UserError(f"there are no games in {path} yet: let `tabiya evolve` play some")
    return Games(
        np.asarray(plies, np.int64),
        np.asarray(results, np.int8),
        np.asarray(endings, np.int16),
        tuple(name.decode() for name in names),
        {piece: promotions[piece] for piece in "QRBN"},
    )


def read_genes(pool: Path, most: int = MOST_GENOMES) -> tuple[Genes, Genes, int]:
    """A sample over all births, the living, and how many were born in all."""
    with pool_files.opened(pool, pool) as content:
        starts = pool_files.positions(content)
        if not starts:
            raise UserError(f"there is no genome in {pool}")
        ids = sorted(starts)
        chosen = [ids[at] for at in np.unique(np.linspace(0, len(ids) - 1, min(most, len(ids))).astype(int))]
        alive = sorted(
            {id for pool_ids in pool_files.living(content).values() for id in pool_ids if id in starts}
        )
        sample = [pool_files.genome_at(content, starts[id], pool) for id in chosen]
        living = [pool_files.genome_at(content, starts[id], pool) for id in alive or ids[-1:]]
    return genes_of(sample), genes_of(living), pool_files.births(pool, len(ids))


def genes_of(genomes: list[Genome]) -> Genes:
    tables = [genome.values() for genome in genomes]
    for table in tables:
        strengths = table["Piece Strength Gene"]
        army = sum(abs(strengths[piece]) * men for piece, men in ARMY.items()) or 1.0
        table["Piece Strength Gene"] = {piece: strengths[piece] / army for piece in PIECES}
    values = {
        gene: {name: np.asarray([table[gene][name] for table in tables]) for name in properties}
        for gene, properties in tables[0].items()
    }
    return Genes(np.asarray([genome.id for genome in genomes], np.int64), values)


def course(series: NDArray[np.float64], parts: int = 60) -> NDArray[np.float64]:
    """Means over equal stretches of the births."""
    return np.asarray([part.mean() for part in np.array_split(series, min(parts, len(series)))])
