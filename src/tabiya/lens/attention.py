"""Who looks at whom, found by keeping them from it: pairs of squares cut apart, one after the other.

A map has a row for the square that looks and a column for the one that is
looked at. It is read beside a baseline, because cutting anything changes
something: as many pairs drawn at random, cut together, again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabiya.lens.interface import SQUARES, Answers, AttentiveSubject, Pair
from tabiya.lens.occlusion import log_odds, total_variation

CHUNK = 256
"""Cuts in one question: their masks must fit into memory, and a progress bar must move."""
ALL_PAIRS: tuple[Pair, ...] = tuple((by, at) for by in SQUARES for at in SQUARES)

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Cuts:
    """What cutting each of some sets of pairs did."""

    sets: list[tuple[Pair, ...]]
    tv: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    """How far the chosen move's log-odds fell."""
    choices: list[str | None]

    def order(self) -> list[int]:
        """The sets' numbers, those that changed most first."""
        return [int(each) for each in np.argsort(-self.tv, kind="stable")]


def cut_each(
    subject: AttentiveSubject,
    sets: Sequence[Sequence[Pair]],
    *,
    where: NDArray[np.float32] | None = None,
    renormalise: bool = True,
    advance: Advance = lambda _count: None,
) -> Cuts:
    """Cut each set in turn, in batches."""
    whole = subject.blank([()])
    chosen = whole.choices[0]
    assert chosen is not None
    column = whole.moves.index(chosen)
    tv, odds = [], []
    choices: list[str | None] = []
    for start in range(0, len(sets), CHUNK):
        answers: Answers = subject.cut(sets[start : start + CHUNK], where, renormalise)
        tv.append(total_variation(whole.p[0], answers.p))
        odds.append(log_odds(whole.p[0, column]) - log_odds(answers.p[:, column]))
        choices += answers.choices
        advance(len(answers))
    joined = [np.concatenate(each) if each else np.zeros(0) for each in (tv, odds)]
    return Cuts([tuple(each) for each in sets], joined[0], joined[1], choices)


@dataclass(frozen=True)
class PairMap:
    """What each directed pair of squares is worth to the move."""

    tv: NDArray[np.float64]
    """[64, 64]: by the square that looks, then the one looked at; not a number where a pair was not cut."""
    log_odds: NDArray[np.float64]
    renormalised: bool

    def strongest(self, count: int) -> list[tuple[str, str, float]]:
        """The pairs that changed most: (looks, looked at, total variation), squares that look at
        themselves left out."""
        told = np.isfinite(self.tv) & ~np.eye(64, dtype=np.bool_)
        flat = np.where(told, self.tv, -np.inf).ravel()
        order = np.argsort(-flat, kind="stable")[:count]
        return [
            (SQUARES[each // 64], SQUARES[each % 64], float(flat[each]))
            for each in order.tolist()
            if np.isfinite(flat[each])
        ]


def pair_map(
    subject: AttentiveSubject,
    pairs: Sequence[Pair] = ALL_PAIRS,
    *,
    where: NDArray[np.float32] | None = None,
    renormalise: bool = True,
    advance: Advance = lambda _count: None,
) -> PairMap:
    """Cut each pair of squares on its own: all 4,096 of them unless told which."""
    cuts = cut_each(
        subject, [(pair,) for pair in pairs], where=where, renormalise=renormalise, advance=advance
    )
    number = {square: at for at, square in enumerate(SQUARES)}
    tv, odds = np.full((64, 64), np.nan), np.full((64, 64), np.nan)
    for (by, at), shift, fall in zip(pairs, cuts.tv, cuts.log_odds, strict=True):
        tv[number[by], number[at]], odds[number[by], number[at]] = shift, fall
    return PairMap(tv, odds, renormalise)


def likely_pairs(subject: AttentiveSubject, count: int = 12, renormalise: bool = True) -> list[Pair]:
    """Pairs among the squares that look, or are looked at, to most effect: where the strong ones will be.

    128 cuts (each square kept from looking at any other, and from being seen by any other), and then
    `count` × `count` pairs to try instead of 4,096.
    """
    looking = [tuple((by, at) for at in SQUARES if at != by) for by in SQUARES]
    looked = [tuple((by, at) for by in SQUARES if at != by) for at in SQUARES]
    cuts = cut_each(subject, looking + looked, renormalise=renormalise)
    rows = np.argsort(-cuts.tv[:64], kind="stable")[:count]
    columns = np.argsort(-cuts.tv[64:], kind="stable")[:count]
    return [(SQUARES[by], SQUARES[at]) for by in rows.tolist() for at in columns.tolist() if by != at]


@dataclass(frozen=True)
class Baseline:
    """What random cuts of one size do."""

    size: int
    draws: int
    tv: NDArray[np.float64]

    @property
    def mean(self) -> float:
        return float(self.tv.mean())

    @property
    def high(self) -> float:
        """What one in twenty of them reaches."""
        return float(np.quantile(self.tv, 0.95))

    def below(self, tv: float) -> int:
        """How many of them change less."""
        return int((self.tv < tv).sum())


def random_cuts(
    subject: AttentiveSubject,
    size: int = 1,
    draws: int = 64,
    seed: int = 0,
    *,
    where: NDArray[np.float32] | None = None,
    renormalise: bool = True,
) -> Baseline:
    """Sets of `size` different pairs of different squares, drawn at random and cut together."""
    chance = np.random.default_rng(seed)
    others = [pair for pair in ALL_PAIRS if pair[0] != pair[1]]
    sets = [
        [others[each] for each in chance.choice(len(others), size, replace=False).tolist()]
        for _ in range(draws)
    ]
    return Baseline(size, draws, cut_each(subject, sets, where=where, renormalise=renormalise).tv)


def head_map(subject: AttentiveSubject, advance: Advance = lambda _count: None) -> NDArray[np.float64]:
    """[layers, heads]: the total variation when a head gives nothing."""
    whole = subject.blank([()])
    found = np.zeros((subject.layers, subject.heads))
    for layer in range(subject.layers):
        for head in range(subject.heads):
            found[layer, head] = total_variation(whole.p[0], subject.silence(layer, head).p)[0]
            advance(1)
    return found
