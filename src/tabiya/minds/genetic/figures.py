"""The pictures of a gene pool's run: lengths, strengths, priorities, results, endings, promotions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.files import replacing
from tabiya.minds.genetic.chronicle import PIECES, Games, Genes, course
from tabiya.minds.genetic.findings import PRIORITY, scoring_genes
from tabiya.minds.genetic.lengths import density

_PIECE_NAMES = {"P": "pawn", "N": "knight", "B": "bishop", "R": "rook", "Q": "queen", "K": "king"}
_COLOURS = {"White": "#d9a441", "Black": "#33415c", "neither": "#8a9a8b"}


def draw_all(folder: Path, games: Games, genes: Genes, fits: dict[str, Any]) -> list[str]:
    """Draw every picture into `folder`; their names."""
    pictures: dict[str, Callable[[Any], None]] = {
        "lengths.png": lambda axes: _lengths(axes, games, fits),
        "strengths.png": lambda axes: _strengths(axes, genes),
        "priorities.png": lambda axes: _priorities(axes, genes),
        "results.png": lambda axes: _results(axes, games),
        "endings.png": lambda axes: _endings(axes, games),
        "promotions.png": lambda axes: _promotions(axes, games),
    }
    for name, drawn in pictures.items():
        _picture(folder / name, drawn)
    return list(pictures)


def _picture(path: Path, drawn: Callable[[Any], None]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    drawn(figure.subplots())
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=110)


def _lengths(axes: Any, games: Games, fits: dict[str, Any]) -> None:
    counts = np.bincount(games.moves)
    lengths = np.arange(len(counts))
    axes.bar(lengths, counts, width=1.0, color="#c5ccd3", label="games")
    for name, colour in (("log-normal", "#b5483a"), ("poisson", "#2f5d8a"), ("normal", "#4a8f5d")):
        if name in fits:
            label = f"{name}, off by {fits[name]['distance']:.3f}"
            axes.plot(lengths, fits["games"] * density(name, fits[name], lengths), color=colour, label=label)
    axes.set(title="moves in a game, and fits to games of more than 15", xlabel="moves", ylabel="games")
    axes.legend()


def _strengths(axes: Any, genes: Genes) -> None:
    ids = course(genes.ids.astype(np.float64))
    for piece in PIECES:
        axes.plot(ids, course(genes.values["Piece Strength Gene"][piece]), label=_PIECE_NAMES[piece])
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set(title="piece strengths, as shares of the army", xlabel="number at birth", ylabel="strength")
    axes.legend()


def _priorities(axes: Any, genes: Genes) -> None:
    ids = course(genes.ids.astype(np.float64))
    for gene in scoring_genes(genes):
        axes.plot(ids, course(genes.values[gene][PRIORITY]), label=gene.removesuffix(" Gene"))
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set(title="priorities of the scoring genes", xlabel="number at birth", ylabel="priority")
    axes.legend(fontsize=7, ncols=2)


def _results(axes: Any, games: Games) -> None:
    at = course(np.arange(len(games), dtype=np.float64))
    for name, result in (("White", 1), ("Black", -1), ("neither", 0)):
        shares = 100 * course((games.results == result).astype(np.float64))
        axes.plot(at, shares, label=name, color=_COLOURS[name])
    axes.set(title="who wins", xlabel="games", ylabel="% of games")
    axes.legend()


def _endings(axes: Any, games: Games) -> None:
    """Shares of all games so far, on a log-log scale."""
    at = np.unique(np.geomspace(1, len(games), 120).astype(int))
    for number, name in enumerate(games.names):
        so_far = np.cumsum(games.endings == number)[at - 1]
        axes.plot(at, np.where(so_far > 0, 100 * so_far / at, np.nan), label=name)
    axes.set(title="how games end", xlabel="games", ylabel="% of games so far", xscale="log", yscale="log")
    axes.legend(fontsize=8)


def _promotions(axes: Any, games: Games) -> None:
    names = [_PIECE_NAMES[piece] for piece in games.promotions]
    bars = axes.bar(names, list(games.promotions.values()), color="#2f5d8a")
    axes.bar_label(bars, [f"{count:,}" for count in games.promotions.values()])
    axes.set(title="promotions", ylabel="pawns")
