"""Which of the known results of gene pools a run shows, in numbers.

The results are those of M. Harrison, "Genetic Chess" (2018), by its sections.
Each finding is a claim made of earlier pools, whether this run bears it out
(None where it has too little to say), and the figures that decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.minds.genetic.chronicle import PIECES, Games, Genes, course

_TENTHS = 10
_ENOUGH = 30
"""Games of a kind below which nothing is said of it."""

PRIORITY = "Priority"


@dataclass(frozen=True)
class Finding:
    section: str
    claim: str
    shown: bool | None
    numbers: dict[str, Any]


def findings(games: Games, genes: Genes, living: Genes) -> list[Finding]:
    return [
        _piece_order(genes, living),
        _king(genes),
        _white_advantage(games),
        _fewer_draws(games),
        _dominant_genes(genes),
        _pawn_proxy(genes),
        _promotions(games),
        _threefold(games),
        _late_bloomer(games, genes),
        _sphere(genes),
        _waiting(genes),
    ]


def in_order(strength: dict[str, float]) -> bool:
    """Queen, rook, bishop and knight in either order, pawn."""
    minor = sorted((strength["B"], strength["N"]))
    return strength["Q"] > strength["R"] > minor[1] and minor[0] > strength["P"]


def scoring_genes(genes: Genes) -> list[str]:
    return [gene for gene, properties in genes.values.items() if PRIORITY in properties]


def _piece_order(genes: Genes, living: Genes) -> Finding:
    mean = {piece: genes.last_tenth("Piece Strength Gene", piece) for piece in PIECES}
    own = living.values["Piece Strength Gene"]
    each = [in_order({piece: own[piece][at] for piece in PIECES}) for at in range(len(living.ids))]
    return Finding(
        "6.1",
        "piece values stand in the standard order: queen, rook, bishop and knight, pawn",
        in_order(mean),
        {"mean_of_last_tenth": _rounded(mean), "share_of_the_living": round(sum(each) / len(each), 3)},
    )


def _king(genes: Genes) -> Finding:
    king = genes.last_tenth("Piece Strength Gene", "K")
    return Finding("6.1.1", "the king's strength turns negative", king < 0, {"king": round(king, 4)})


def _white_advantage(games: Games) -> Finding:
    white = int(games.ended_by("White mates").sum())
    black = int(games.ended_by("Black mates").sum())
    forfeits = games.ended_by("Time forfeiture")
    by_time = (int((games.results[forfeits] == 1).sum()), int((games.results[forfeits] == -1).sum()))
    total = white + black
    share = white / total if total else 0.5
    error = 1.96 * math.sqrt(share * (1 - share) / total) if total else 0.5
    return Finding(
        "6.2",
        "of games that end in mate White wins more often (about 10 % more)",
        None if total < _ENOUGH else share - error > 0.5,
        {
            "white_mates": white,
            "black_mates": black,
            "white_more_often": round(white / black - 1, 4) if black else None,
            "white_share_95": [round(share - error, 4), round(share + error, 4)],
            "white_and_black_by_time": by_time,
        },
    )


def _fewer_draws(games: Games) -> Finding:
    tenths = course((games.results == 0).astype(np.float64), _TENTHS)
    first, last = float(tenths[0]), float(tenths[-1])
    return Finding(
        "6.2",
        "draws become rarer as players evolve",
        None if len(games) < _TENTHS * _ENOUGH else last < first,
        {"first_tenth": round(first, 4), "last_tenth": round(last, 4)},
    )


def _dominant_genes(genes: Genes) -> Finding:
    priorities = {gene: genes.last_tenth(gene, PRIORITY) for gene in scoring_genes(genes)}
    ranked = sorted(priorities, key=lambda gene: -abs(priorities[gene]))
    return Finding(
        "6.3",
        "the Total Force and the Pawn Advancement Gene have the highest priorities",
        set(ranked[:2]) == {"Total Force Gene", "Pawn Advancement Gene"},
        {"priorities_of_last_tenth": {gene: round(priorities[gene], 3) for gene in ranked}},
    )


def _pawn_proxy(genes: Genes) -> Finding:
    advancement = course(genes.values["Pawn Advancement Gene"][PRIORITY])
    pawn = course(genes.values["Piece Strength Gene"]["P"])
    peak = int(np.argmax(advancement))
    fell = float(advancement[-1]) < 0.5 * float(advancement[peak])
    rose = float(pawn[-1]) > 0 and float(pawn[-1]) > float(pawn[peak])
    return Finding(
        "6.3.1",
        "Pawn Advancement stands in for the pawn's strength and falls when the pawn is valued",
        fell and rose,
        {
            "advancement_peak": round(float(advancement[peak]), 3),
            "advancement_last": round(float(advancement[-1]), 3),
            "pawn_at_peak": round(float(pawn[peak]), 4),
            "pawn_last": round(float(pawn[-1]), 4),
        },
    )


def _promotions(games: Games) -> Finding:
    counts = games.promotions
    total = sum(counts.values())
    return Finding(
        "6.4",
        "the queen is the most popular promotion",
        None if total < _ENOUGH else counts["Q"] > total / 2,
        {**counts, "queen_share": round(counts["Q"] / total, 4) if total else None},
    )


def _threefold(games: Games) -> Finding:
    drawn = {
        name: int((games.ended_by(name) & (games.results == 0)).sum())
        for name in games.names
        if (games.results[games.ended_by(name)] == 0).any()
    }
    return Finding(
        "6.5",
        "threefold repetition is the most common draw",
        None
        if sum(drawn.values()) < _ENOUGH
        else max(drawn, key=drawn.__getitem__) == "Threefold repetition",
        dict(sorted(drawn.items(), key=lambda each: -each[1])),
    )


def _late_bloomer(games: Games, genes: Genes) -> Finding:
    forfeits = games.ended_by("Time forfeiture")
    tenths = course(forfeits.astype(np.float64), _TENTHS).tolist()
    default = course(genes.values["Look Ahead Gene"]["Speculation-Default"], _TENTHS)
    return Finding(
        "6.6",
        "the Look Ahead Gene is a late bloomer: time forfeits come only when the scoring genes are tuned",
        None if int(forfeits.sum()) < _ENOUGH else tenths[0] < 0.5 * max(tenths[1:]),
        {
            "forfeits_by_tenth": [round(share, 4) for share in tenths],
            "speculation_default_by_tenth": [round(float(value), 3) for value in default],
        },
    )


def _sphere(genes: Genes) -> Finding:
    legal = genes.last_tenth("Sphere of Influence Gene", "Legal Square Score")
    illegal = genes.last_tenth("Sphere of Influence Gene", "Illegal Square Score")
    return Finding(
        "6.7",
        "the Sphere of Influence Gene counts squares of legal moves for less than others",
        legal < illegal,
        {"legal": round(legal, 3), "illegal": round(illegal, 3)},
    )


def _waiting(genes: Genes) -> Finding:
    """Genes by their final priority against the time at which they first had half of it."""
    size, settled = [], []
    for gene in scoring_genes(genes):
        series = course(genes.values[gene][PRIORITY])
        final = float(series[-1])
        size.append(abs(final))
        reached = series * (1 if final >= 0 else -1) >= 0.5 * abs(final)
        settled.append(_from_then_on(reached) / len(series))
    correlation = _spearman(np.asarray(size), np.asarray(settled))
    return Finding(
        "6.8",
        "genes of lower priority settle after those of higher priority",
        None if correlation is None else correlation < 0,
        {"rank_correlation_of_priority_and_settling": None if correlation is None else round(correlation, 3)},
    )


def _from_then_on(reached: NDArray[np.bool_]) -> int:
    """From which part on it is true to the end."""
    missed = np.flatnonzero(~reached)
    return int(missed[-1]) + 1 if len(missed) else 0


def _spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    ranks = [_ranks(each) for each in (a, b)]
    if min(float(each.std()) for each in ranks) == 0:
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0, equal values sharing the mean of theirs."""
    return np.asarray([float(np.mean(np.flatnonzero(np.sort(values) == value))) for value in values])


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}
