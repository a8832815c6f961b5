"""A gene pool small enough to come along: what the page shows of a run, and whom one may play.

A run of a night writes hundreds of megabytes. Its excerpt has genomes from all
over the births, the living, and the families of the oldest survivors, in the
same two files as a pool; the state says how many were born in all and how many
games those who are in it had won. It can be read and played against, and no run
goes on from it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.minds.genetic import pool_files
from tabiya.minds.genetic.family import GENERATIONS, ancestors_in

SAMPLE = 300
"""Genomes from all over the births."""


def write_excerpt(pool: Path, out: Path, generations: int = GENERATIONS) -> dict[str, Any]:
    """Write an excerpt of `pool` to `out` and its state beside it; what is in it comes back."""
    state = pool_files.read_state(pool)
    if state is None or "excerpt" in state:
        raise UserError(f"{pool} is not the pool of a run: an excerpt is made of what `tabiya evolve` wrote")
    if out.exists() or pool_files.state_file(out).exists():
        raise UserError(f"{out} is there already: name another file")
    wins = pool_files.wins_in(pool)
    with pool_files.opened(pool, pool) as content:
        starts, alive = pool_files.positions(content), pool_files.living(content)
        ids = sorted(starts)
        kept = {ids[at] for at in np.linspace(0, len(ids) - 1, min(SAMPLE, len(ids))).astype(int)}
        for members in alive.values():
            kept |= set(members)
            family = ancestors_in(content, starts, pool, min(members), generations, wins)
            kept |= {ancestor.id for ancestor in family}
        genomes = [pool_files.genome_at(content, starts[id], pool).text() for id in sorted(kept)]
    text = "".join(f"{genome}\n" for genome in genomes) + pool_files.living_lines(alive)
    world = state["world"]
    short = {
        "format": pool_files.FORMAT,
        "settings": state["settings"],
        "bytes": {"genomes": len(text.encode()), "games": 0},
        "world": {"turn": world["turn"], "pools": [{"games": each["games"]} for each in world["pools"]]},
        "excerpt": {"births": len(ids), "wins": {str(id): wins[id] for id in sorted(kept) if wins[id]}},
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as part:
        part.write_text(text, encoding="utf-8")
    with replacing(pool_files.state_file(out)) as part:
        part.write_text(json.dumps(short) + "\n", encoding="utf-8")
    return {"births": len(ids), "kept": len(kept), "bytes": len(text.encode())}
