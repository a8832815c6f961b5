"""The page of evolution: gene pools under the server's folders, their priorities over time, their families.

Any ancestor can be played: the page names the pool by its key and the genome
by its number, and `catalogue` opens it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tabiya.minds.genetic import chronicle, family, pool_files
from tabiya.web.archive import Archive, key_of
from tabiya.web.refusal import Refusal

_STATE = "_state.json"
SAMPLE = 600
"""Genomes read for the curves."""
PARTS = 60
GENERATIONS = 5


def pools(archive: Archive) -> dict[str, Path]:
    """The pool files that a run of evolution has left, by their keys."""
    found = {}
    for state in archive.files(_STATE).values():
        pool = state.with_name(state.name.removesuffix(_STATE))
        if pool.is_file():
            found[key_of(pool)] = pool
    return found


def overview(archive: Archive) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    for key, pool in pools(archive).items():
        try:
            state = pool_files.read_state(pool) or {}
            world = state.get("world") or {}
            entry = {"key": key, "name": archive.name(pool), "broken": None}
            entry |= {
                "turn": world.get("turn"),
                "games": sum(each.get("games", 0) for each in world["pools"]),
            }
        except Exception as error:
            # One damaged pool shall not hide the others.
            entry = {"key": key, "name": archive.name(pool), "broken": str(error)[:200]}
        entries.append(entry)
    return {"pools": entries}


def history(archive: Archive, key: str, genome: int | None) -> dict[str, Any]:
    """Priorities and piece strengths over the births, the living, and the family of one of them."""
    pool = pools(archive).get(key)
    if pool is None:
        raise Refusal("there is no such gene pool here", 404)
    genes, living, births = chronicle.read_genes(pool, SAMPLE)
    tree = family.family_tree(pool, genome, GENERATIONS)
    priorities = {
        gene.removesuffix(" Gene"): _course(genes.ids, values["Priority"])
        for gene, values in genes.values.items()
        if "Priority" in values
    }
    pieces = {
        piece: _course(genes.ids, values) for piece, values in genes.values["Piece Strength Gene"].items()
    }
    return {
        "name": archive.name(pool),
        "births": births,
        "living": [int(each) for each in living.ids],
        "priorities": priorities,
        "pieces": pieces,
        "family": tree.to_json(),
    }


def _course(ids: Any, values: Any) -> list[list[float]]:
    """Means over equal stretches of the births; of some there may be few genomes, or none."""
    births, found = np.asarray(ids, float), np.asarray(values, float)
    parts = min(PARTS, len(found))
    place = np.searchsorted(np.linspace(births[0], births[-1], parts + 1)[1:-1], births)
    inside = [place == part for part in range(parts)]
    return [[round(births[at].mean()), round(float(found[at].mean()), 4)] for at in inside if at.any()]
