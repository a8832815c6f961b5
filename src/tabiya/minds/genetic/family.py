"""The family tree of a player: its ancestors, as data and as a picture.

A player has two parents, or one and a random genome; the first generation has
none. Ancestors met twice (cousins do mate in a pool of sixteen) are drawn once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.minds.genetic import pool_files

GENERATIONS = 6


@dataclass(frozen=True)
class Ancestor:
    id: int
    generation: int
    """0 for the player itself; the nearest where there are several."""
    parents: tuple[int, ...]
    new_blood: bool
    """Whether one parent was a random genome."""
    wins: int


@dataclass(frozen=True)
class FamilyTree:
    id: int
    ancestors: tuple[Ancestor, ...]
    """The player first, then generation by generation."""
    founders: int
    """First-generation and random genomes among them; 0 if the tree does not reach back so far."""

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "founders": self.founders,
            "ancestors": [
                {
                    "id": each.id,
                    "generation": each.generation,
                    "parents": list(each.parents),
                    "new_blood": each.new_blood,
                    "wins": each.wins,
                }
                for each in self.ancestors
            ],
        }


def family_tree(pool: Path, id: int | None = None, generations: int = GENERATIONS) -> FamilyTree:
    """The ancestors of genome `id`, or of the pool's oldest survivor."""
    if id is None:
        id = pool_files.chosen_genome(pool).id
    wins = pool_files.wins_in(pool)
    with pool_files.opened(pool, pool) as content:
        starts = pool_files.positions(content)
        if id not in starts:
            raise UserError(f"there is no genome {id} in {pool}")
        ancestors = ancestors_in(content, starts, pool, id, generations, wins)
    founders = sum(not each.parents or each.new_blood for each in ancestors)
    return FamilyTree(id, ancestors, founders)


def ancestors_in(
    content: pool_files.Content,
    starts: dict[int, int],
    pool: Path,
    id: int,
    generations: int,
    wins: Counter[int],
) -> tuple[Ancestor, ...]:
    """Genome `id` and its ancestors out of an open pool file, generation by generation."""
    found: dict[int, Ancestor] = {}
    level = [id]
    for generation in range(generations + 1):
        following: list[int] = []
        for each in level:
            if each in found or each not in starts:
                continue
            words = (pool_files.genome_at(content, starts[each], pool).parents or "").split()
            parents = tuple(int(word) for word in words if word.isdecimal())
            found[each] = Ancestor(each, generation, parents, "random" in words, wins[each])
            following += parents
        level = following
    return tuple(found.values())


def draw(tree: FamilyTree, path: Path) -> None:
    """The tree as a picture: the player at the bottom, each generation a row above."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows: dict[int, list[Ancestor]] = {}
    for each in tree.ancestors:
        rows.setdefault(each.generation, []).append(each)
    widest = max(map(len, rows.values()))
    figure = Figure(figsize=(max(7.0, 0.75 * widest), 1.1 * len(rows) + 1), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set_title(f"ancestors of {tree.id}; the number in brackets is of games won, green marks new blood")
    places = {
        each.id: ((at + 0.5) / len(row), generation)
        for generation, row in rows.items()
        for at, each in enumerate(row)
    }
    for each in tree.ancestors:
        x, y = places[each.id]
        for parent in each.parents:
            if parent in places:
                axes.plot(
                    [x, places[parent][0]], [y, places[parent][1]], color="#9aa7b4", linewidth=0.8, zorder=1
                )
        colour = "#4a8f5d" if each.new_blood else "#2f5d8a"
        axes.text(
            x,
            y,
            f"{each.id}\n({each.wins})",
            ha="center",
            va="center",
            fontsize=7,
            color="white",
            bbox={"boxstyle": "round,pad=0.3", "facecolor": colour, "edgecolor": "none"},
            zorder=2,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=110)
