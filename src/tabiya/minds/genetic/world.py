"""Gene pools from turn to turn: who meets whom, who lives, who is born, who moves on.

A turn is one round in every pool. Nothing here plays or writes: a turn is
handed its pairings' results and changes the world. All chance hangs on the
seed, the turn and the pool, so the order in which games end changes nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tabiya._core import Genome
from tabiya.minds.genetic.config import PoolConfig


@dataclass
class Member:
    """A living player and its record, kept when it is copied to another pool."""

    id: int
    wins: int = 0
    win_streak: int = 0
    draws: int = 0
    draw_streak: int = 0
    games: int = 0
    """Games survived."""
    mark: str = ""
    """`*` for new blood, `T` for one copied from another pool."""


@dataclass
class Pool:
    members: list[Member]
    games: int = 0
    white_wins: int = 0
    black_wins: int = 0
    draws: int = 0
    new_blood: int = 0
    most_wins: tuple[int, int] = (0, 0)
    """The count, and who had it."""
    longest_lived: tuple[int, int] = (0, 0)

    def best(self) -> Member:
        """The longest lived, then the one with most wins, then the oldest."""
        return max(self.members, key=lambda member: (member.games, member.wins, -member.id))


@dataclass
class Transfer:
    """The best of a pool copied to the next; how long it lives there tells how strong its pool is."""

    id: int
    origin: int
    target: int
    turn: int
    games_before: int
    survived: int | None = None
    """Games in the new pool until its death; None while it lives."""


@dataclass(frozen=True)
class Pairing:
    pool: int
    white: int
    black: int


@dataclass(frozen=True)
class Outcome:
    """A game as the pool remembers it."""

    winner: str | None
    """`White`, `Black` or None."""
    reason: str
    plies: int
    movetext: str
    """As PGN has it, with the result."""
    left: tuple[float, float]
    nodes: int
    leaves: int


@dataclass(frozen=True)
class Fate:
    """What came of a game: who died, who was born, and whether of a random mate."""

    pairing: Pairing
    outcome: Outcome
    dead: int
    born: int
    new_blood: bool


@dataclass
class World:
    seed: int
    turn: int
    next_id: int
    pools: list[Pool]
    transfers: list[Transfer] = field(default_factory=list)
    seconds: float = 0.0
    """Of all runs together."""

    @classmethod
    def begin(cls, config: PoolConfig, seed: int) -> tuple[World, list[Genome]]:
        """The first generation: random genomes, numbered from 1."""
        chance = random.Random(f"{seed} first generation")
        size, count = config.gene_pool_population, config.gene_pool_count
        genomes = [Genome.random(id, chance.getrandbits(63)) for id in range(1, size * count + 1)]
        pools = [
            Pool([Member(genome.id) for genome in genomes[at * size : (at + 1) * size]])
            for at in range(count)
        ]
        return cls(seed, 0, len(genomes) + 1, pools), genomes

    @property
    def games(self) -> int:
        return sum(pool.games for pool in self.pools)

    def living(self) -> set[int]:
        return {member.id for pool in self.pools for member in pool.members}

    def pairings(self) -> list[Pairing]:
        """This turn's games: every member of every pool in one of them."""
        found = []
        for number, pool in enumerate(self.pools):
            order = [member.id for member in pool.members]
            random.Random(f"{self.seed} pairings {self.turn} {number}").shuffle(order)
            found += [
                Pairing(number, white, black) for white, black in zip(order[::2], order[1::2], strict=True)
            ]
        return found

    def conclude(
        self,
        config: PoolConfig,
        pairings: Sequence[Pairing],
        outcomes: Sequence[Outcome],
        genomes: dict[int, Genome],
    ) -> tuple[list[Fate], list[Genome]]:
        """Bury the losers, let the offspring take their places, and end the turn."""
        fates, newborn = [], []
        chances = [random.Random(f"{self.seed} births {self.turn} {at}") for at in range(len(self.pools))]
        for pairing, outcome in zip(pairings, outcomes, strict=True):
            chance, pool = chances[pairing.pool], self.pools[pairing.pool]
            # All is drawn every time, so that one game's end does not shift another's chance.
            coin, blood, seed = chance.random() < 0.5, chance.random(), chance.getrandbits(63)
            white_dies = coin if outcome.winner is None else outcome.winner == "Black"
            dead = pairing.white if white_dies else pairing.black
            new_blood = outcome.winner is None and blood < config.new_blood_probability
            first: Genome = genomes[pairing.white]
            second: Genome | None = genomes[pairing.black]
            if new_blood:
                first, second = genomes[dead], None
            child = Genome.child(self.next_id, first, second, seed)
            self.next_id += 1
            newborn.append(child)
            fates.append(Fate(pairing, outcome, dead, child.id, new_blood))
            _settle(pool, fates[-1])
            self._bury(pairing.pool, dead)
            pool.members.append(Member(child.id, mark="*" if new_blood else ""))
        before = self.pools[0].games - config.gene_pool_population // 2
        self.turn += 1
        if self.pools[0].games // config.pool_swap_interval > before // config.pool_swap_interval:
            self._transfer()
        return fates, newborn

    def _bury(self, number: int, dead: int) -> None:
        pool = self.pools[number]
        member = next(member for member in pool.members if member.id == dead)
        pool.members.remove(member)
        for transfer in self.transfers:
            if (transfer.id, transfer.target, transfer.survived) == (dead, number, None):
                transfer.survived = member.games - transfer.games_before

    def _transfer(self) -> None:
        """Copy the best of each pool to the next one, in place of its weakest."""
        if len(self.pools) == 1:
            return
        best = [pool.best() for pool in self.pools]
        for origin, member in enumerate(best):
            target = (origin + 1) % len(self.pools)
            others = [each for each in self.pools[target].members if each is not best[target]]
            if any(each.id == member.id for each in self.pools[target].members) or not others:
                continue
            weakest = min(others, key=lambda each: (each.wins, each.games, -each.id))
            self._bury(target, weakest.id)
            self.pools[target].members.append(replace(member, mark="T"))
            self.transfers.append(Transfer(member.id, origin, target, self.turn, member.games))

    def strength(self, number: int) -> float | None:
        """Games that the best of a pool survived in the next one, on average; None if none has died yet."""
        lived = [
            each.survived for each in self.transfers if each.origin == number and each.survived is not None
        ]
        return sum(lived) / len(lived) if lived else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> World:
        pools = [
            Pool(
                **{
                    **pool,
                    "members": [Member(**member) for member in pool["members"]],
                    "most_wins": tuple(pool["most_wins"]),
                    "longest_lived": tuple(pool["longest_lived"]),
                }
            )
            for pool in found["pools"]
        ]
        transfers = [Transfer(**transfer) for transfer in found["transfers"]]
        return cls(**{**found, "pools": pools, "transfers": transfers})


def _settle(pool: Pool, fate: Fate) -> None:
    """Enter a game into the records of its pool and of the survivor."""
    winner = fate.outcome.winner
    pool.games += 1
    pool.white_wins += winner == "White"
    pool.black_wins += winner == "Black"
    pool.draws += winner is None
    pool.new_blood += fate.new_blood
    for member in pool.members:
        if member.id not in (fate.pairing.white, fate.pairing.black) or member.id == fate.dead:
            continue
        member.games += 1
        won = winner is not None
        member.wins += won
        member.draws += not won
        member.win_streak = member.win_streak + 1 if won else 0
        member.draw_streak = 0 if won else member.draw_streak + 1
        pool.most_wins = max(pool.most_wins, (member.wins, member.id), key=lambda each: each[0])
        pool.longest_lived = max(pool.longest_lived, (member.games, member.id), key=lambda each: each[0])
