"""All that was measured of `implicit`'s networks, as gains of one kind of network over another.

Elo comes from the games of one size and with the anchors; puzzles, the
teacher's and people's moves from the answers that both gave. The base stands
for all of its seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from tabiya.arena.ratings import Game
from tabiya.learn.lab.exams import Figures, answers
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.standings import played_games
from tabiya.minds.transformer.lab.gains import Answers, Gain, Noise, elo_gains, noise_of, paired
from tabiya.minds.transformer.lab.plan import ImplicitLab, Size
from tabiya.minds.transformer.lab.play import TWICE_PUZZLES, kinds
from tabiya.minds.transformer.lab.questions import from_bits
from tabiya.minds.transformer.lab.variants import BASE, TWICE, bases, entrants_of, variants_of

ELO = "elo"
SHARES = ("puzzles", "teacher", "people")
MEASURES = (ELO, *SHARES)
SHORT, LONG = 1, 3
"""Moves of the solver: a short puzzle has one, a long one at least three."""


class Findings:
    """Gains between the networks of an experiment, from its games and answers so far."""

    def __init__(self, lab: ImplicitLab, folder: LabFolder) -> None:
        self.lab = lab
        self.kinds = {BASE, TWICE, *(variant.kind for variant in variants_of(lab))}
        self.exams: dict[str, dict[str, Figures]] = {
            variant.name: answers(folder, variant.name, kinds(lab)) for variant in variants_of(lab)
        }
        played = played_games(folder)
        anchors = {anchor.player for anchor in lab.measures.anchors}
        self._games: dict[str, list[Game]] = {}
        for size in lab.sizes:
            inside = {entrant.name for entrant in entrants_of(lab, size)} | anchors
            self._games[size.name] = [game for game in played if {game.white, game.black} <= inside]

    @property
    def largest(self) -> Size:
        return max(self.lab.sizes, key=_extent)

    @property
    def smallest(self) -> Size:
        return min(self.lab.sizes, key=_extent)

    def gain(self, size: Size, better: str, worse: str, measure: str) -> Gain | None:
        """What `better` is ahead of `worse`, by their kinds, seeds' luck included; None: not known."""
        if TWICE in (better, worse):
            return self._twice(size, measure)
        plain = self._plain(size, better, worse, measure)
        if plain is None:
            return None
        counts = [len(self._names(size, kind)) for kind in (better, worse)]
        return self.noise[measure].added(plain, *counts)

    def by_length(self, size: Size, better: str, worse: str) -> Gain | None:
        """How much more of the long puzzles than of the short ones `better` is ahead by."""
        both = [name for kind in (better, worse) for name in self._names(size, kind)]
        asked = [self.exams[name]["puzzles"]["lengths"] for name in both if "puzzles" in self.exams[name]]
        lengths = np.array(asked[0] if asked else [], np.int64)
        ours, theirs = (self._answers(self._names(size, kind), "puzzles") for kind in (better, worse))
        deep, shallow = paired(ours, theirs, lengths >= LONG), paired(ours, theirs, lengths == SHORT)
        if deep is None or shallow is None:
            return None
        counts = len(ours), len(theirs)
        # A seed's luck on the long ones and on the short ones is not the same luck.
        return self.noise["puzzles"].added(deep, *counts) - self.noise["puzzles"].added(shallow, *counts)

    def elo_from_base(self, size: Size) -> dict[str, Gain]:
        """Every player's Elo from the size's first base, each seed by itself."""
        return elo_gains(self._games[size.name], bases(self.lab, size)[0])

    @cached_property
    def noise(self) -> dict[str, Noise]:
        """The seeds' luck, by measure, from the bases of all sizes."""
        found = {}
        groups: list[list[float]] = []
        errors: list[float] = []
        for size in self.lab.sizes:
            _, *others = bases(self.lab, size)
            told = self.elo_from_base(size)
            known = [told[name] for name in others if name in told]
            groups.append([0.0, *(gain.value for gain in known)])
            errors += [gain.error for gain in known]
        found[ELO] = noise_of(groups, errors)
        for measure in SHARES:
            groups, errors = [], []
            for size in self.lab.sizes:
                each = self._answers(bases(self.lab, size), measure)
                groups.append([float(one.mean()) for one in each])
                pairs = [paired([one], [other]) for one, other in combinations(each, 2)]
                errors += [gain.error for gain in pairs if gain is not None]
            found[measure] = noise_of(groups, errors)
        return found

    def _plain(self, size: Size, better: str, worse: str, measure: str) -> Gain | None:
        ours, theirs = self._names(size, better), self._names(size, worse)
        if not ours or not theirs:
            return None
        if measure != ELO:
            return paired(self._answers(ours, measure), self._answers(theirs, measure))
        first, *others = bases(self.lab, size)
        told = elo_gains(self._games[size.name], theirs[0], dict.fromkeys(others, first))
        return told.get(ours[0])

    def _twice(self, size: Size, measure: str) -> Gain | None:
        """A second look against a first one of the same networks: no seed has a part in it."""
        names = bases(self.lab, size)
        if measure == ELO:
            return self.elo_from_base(size).get(f"{names[0]}-{TWICE}")
        if measure != "puzzles":
            return None
        return paired(self._answers(names, TWICE_PUZZLES), self._answers(names, "puzzles"))

    def _names(self, size: Size, kind: str) -> list[str]:
        """The networks of a kind: of the base all seeds."""
        return [
            variant.name for variant in variants_of(self.lab) if variant.size == size and variant.kind == kind
        ]

    def _answers(self, names: Sequence[str], exam: str) -> list[Answers]:
        return [from_bits(self.exams[name][exam]["each"]) for name in names if exam in self.exams[name]]


def _extent(size: Size) -> int:
    return size.layers * size.width**2
