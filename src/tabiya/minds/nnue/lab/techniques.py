"""What each technique of the search is worth: the whole search against itself without one, by SPRT.

A technique stays in the search because games say so and not because other
engines have it. Every technique gets a match of its own in a folder of its own,
under the same limit, and the ledger has a line for each, the losses too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tabiya import _core
from tabiya.arena.campaign import Plan
from tabiya.arena.match import MatchStatus, run_match
from tabiya.arena.sprt import Sprt
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.player import OpenPlayer
from tabiya.scale.executor import Executor
from tabiya.scale.local import LOCAL

Watch = Callable[[str, MatchStatus], None]


@dataclass(frozen=True)
class Trial:
    """All techniques to be tried, and under what."""

    mind: str
    """The player; its name may hold options already."""
    plan: Plan
    """The games of one match; its players are filled in for each."""
    sprt: Sprt


def chosen_techniques(names: Sequence[str]) -> list[str]:
    """The techniques with these names as the search spells them; all without a name."""
    known = {name.lower(): name for name in _core.SearchEngine.techniques()}
    wrong = [name for name in names if name.lower() not in known]
    if wrong:
        raise UserError(f"the search has no technique {wrong[0]!r}; it has {', '.join(known.values())}")
    return [known[name.lower()] for name in names] or list(known.values())


def try_techniques(
    trial: Trial,
    names: Sequence[str],
    folder: Path,
    open_player: OpenPlayer,
    watch: Watch,
    ended: Callable[[], None],
    executor: Executor = LOCAL,
) -> dict[str, Any]:
    """Play the matches that are not decided yet, and write the ledger anew after each.

    `watch` hears of every game, `ended` of every match that is over, those decided before too.
    """
    for name in chosen_techniques(names):
        plan = replace(
            trial.plan,
            players=(trial.mind, _without(trial.mind, name)),
            question=f"What is {name} worth in the search?",
        )
        run_match(
            plan,
            folder / name,
            open_player,
            sprt=trial.sprt,
            executor=executor,
            watch=partial(watch, name),
        )
        write_ledger(folder)
        ended()
    return write_ledger(folder)


def write_ledger(folder: Path) -> dict[str, Any]:
    """ledger.json and ledger.md from all matches that lie in the folder."""
    lines = []
    for name in _core.SearchEngine.techniques():
        path = folder / name / "result.json"
        if path.exists():
            result = json.loads(path.read_text())
            lines.append(
                {"technique": name}
                | {key: result[key] for key in ("games", "wins", "draws", "losses", "elo", "elo_95")}
                | {"verdict": result["sprt"]["verdict"], "llr": result["sprt"]["llr"]}
            )
    lines.sort(key=lambda line: -(line["elo"] if line["elo"] is not None else 1e9))
    ledger = {"techniques": lines}
    with replacing(folder / "ledger.json") as part:
        part.write_text(json.dumps(ledger, indent=1) + "\n")
    with replacing(folder / "ledger.md") as part:
        part.write_text(ledger_text(lines))
    return ledger


def ledger_text(lines: Sequence[dict[str, Any]]) -> str:
    """A table: the search with a technique against the search without it."""
    rows = ["| technique | games | with it | Elo (95 %) | SPRT |", "| --- | --- | --- | --- | --- |"]
    for line in lines:
        low, high = ("…" if end is None else f"{end:+.0f}" for end in line["elo_95"])
        elo = "all won" if line["elo"] is None else f"{line['elo']:+.0f}"
        rows.append(
            f"| {line['technique']} | {line['games']} | +{line['wins']} ={line['draws']} -{line['losses']} "
            f"| {elo} ({low} to {high}) | {line['verdict']} |"
        )
    return "\n".join(rows) + "\n"


def _without(mind: str, technique: str) -> str:
    return f"{mind}{'&' if '?' in mind else '?'}without={technique}"
