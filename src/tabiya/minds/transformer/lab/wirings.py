"""Sets of wires as what evolution works on: made at random, changed, crossed.

A wiring is sorted and has no two wires between the same blocks, so two that do
the same are equal. One without wires is the base and no child of evolution.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeAlias

from tabiya.minds.transformer.lab.wiring_plan import Evolution
from tabiya.minds.transformer.shape import Wire

Wiring: TypeAlias = tuple[Wire, ...]


def wiring_of(wires: Iterable[Wire]) -> Wiring:
    """The wires in their order; of two between the same blocks the later one stays."""
    by_ends = {(wire.from_block, wire.to_block): wire for wire in wires}
    return tuple(by_ends[ends] for ends in sorted(by_ends))


def spelt(wiring: Wiring) -> str:
    """A wiring to read.

    >>> spelt((Wire(from_block=6, to_block=4, cycles=2), Wire(from_block=3, to_block=3)))
    '6→4 ×2, 3→3 ×1'
    """
    return ", ".join(f"{wire.from_block}→{wire.to_block} ×{wire.cycles}" for wire in wiring) or "no feedback"


def at_random(chance: random.Random, layers: int, limits: Evolution) -> Wiring:
    """One to `limits.wires` wires, each as likely as any other."""
    return wiring_of(_wire(chance, layers, limits) for _ in range(chance.randint(1, limits.wires)))


def mutated(wiring: Wiring, chance: random.Random, layers: int, limits: Evolution) -> Wiring:
    """One wire more, one less, or one changed in one of its three numbers."""
    wires = list(wiring)
    ways = ["change"]
    ways += ["add"] if len(wires) < limits.wires else []
    ways += ["remove"] if len(wires) > 1 else []
    way = chance.choice(ways)
    if way == "add":
        return wiring_of([*wires, _wire(chance, layers, limits)])
    place = chance.randrange(len(wires))
    if way == "remove":
        return wiring_of(wires[:place] + wires[place + 1 :])
    old, new = wires[place], _wire(chance, layers, limits)
    part = chance.choice(("from_block", "to_block", "cycles"))
    start, end, cycles = old.from_block, old.to_block, old.cycles
    if part == "from_block":
        start = max(new.from_block, end)
    elif part == "to_block":
        end = min(new.to_block, start)
    else:
        cycles = new.cycles
    wires[place] = Wire(from_block=start, to_block=end, cycles=cycles)
    return wiring_of(wires)


def crossed(one: Wiring, other: Wiring, chance: random.Random, limits: Evolution) -> Wiring:
    """Some of the wires of both, at least one."""
    both = list(wiring_of([*one, *other]))
    count = chance.randint(1, min(limits.wires, len(both)))
    return wiring_of(chance.sample(both, count))


def _wire(chance: random.Random, layers: int, limits: Evolution) -> Wire:
    ends = sorted((chance.randint(1, layers), chance.randint(1, layers)))
    return Wire(from_block=ends[1], to_block=ends[0], cycles=chance.randint(1, limits.cycles))
