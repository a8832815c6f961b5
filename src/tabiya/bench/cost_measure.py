"""What a label, a game and a stored position take on this machine: seconds of a core, and bytes.

Time is the processor's, of this process and of the engines it starts together:
what a core of one's own would need, whoever else uses the machine. Only games
with a clock are timed by the clock on the wall, because it decides how long
they keep a core. Sizes are those of files, written as the commands write them.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.arena.books import Book
from tabiya.arena.game import GameRules, Pace
from tabiya.arena.pgn import game_to_pgn
from tabiya.arena.record import GameRecord
from tabiya.arena.runner import Event, Fixture, entrants, play_all
from tabiya.data.extract import extract
from tabiya.data.labels import write_move_labels, write_value_labels
from tabiya.data.teaching import Chunk, LabelPupil, Teaching
from tabiya.errors import UserError
from tabiya.player import OpenPlayer

Advance = Callable[[], None]


@dataclass
class Spent:
    """Seconds, one for each time it was done."""

    core_seconds: list[float] = field(default_factory=list)
    wall_seconds: list[float] = field(default_factory=list)

    @contextmanager
    def once(self) -> Iterator[None]:
        """Adds what is spent inside; engines count once they have ended."""
        wall, core = time.perf_counter(), _processor_seconds()
        yield
        self.core_seconds.append(round(_processor_seconds() - core, 4))
        self.wall_seconds.append(round(time.perf_counter() - wall, 4))

    def as_json(self) -> dict[str, Any]:
        return {"core_seconds": self.core_seconds, "wall_seconds": self.wall_seconds}


def _processor_seconds() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


@dataclass(frozen=True)
class GameKind:
    """Games that are counted together."""

    name: str
    players: tuple[str, str]
    pace: Pace
    share: float = 1.0
    """Of the games asked for: long ones are played less often."""


GAME_KINDS = (
    GameKind("resnet", ("resnet?threads=1",) * 2, Pace(nodes=1)),
    GameKind("transformer", ("transformer?threads=1",) * 2, Pace(nodes=1), 0.5),
    GameKind("nnue-10000", ("nnue", "nnue"), Pace(nodes=10_000)),
    GameKind("nnue-clock", ("nnue", "nnue"), Pace(clock=1.0, increment=0.01), 0.5),
)


def measure_games(
    kind: GameKind, games: int, open_player: OpenPlayer, pgn: Path, advance: Advance = lambda: None
) -> dict[str, Any]:
    """Games on one opening each, one after the other; `pgn` gets their text."""
    rules = GameRules(pace=kind.pace)
    event = Event(
        entrants=entrants(kind.players),
        openings=Book.built_in().openings(games, 0),
        rules=rules,
        open_player=open_player,
    )
    played: list[GameRecord] = []

    def finished(record: GameRecord) -> bool:
        played.append(record)
        advance()
        return True

    spent = Spent()
    with spent.once():
        play_all(event, [Fixture(n, n, n % 2, 1 - n % 2) for n in range(games)], finished)
    pace = (kind.pace.time_control(), kind.pace.words())
    pgn.write_text("".join(game_to_pgn(record, pace=pace) for record in played), encoding="utf-8")
    return {
        "players": list(kind.players),
        "pace": kind.pace.words(),
        "clock": kind.pace.clock is not None,
        "games": games,
        "moves": sum(len(record.moves) for record in played),
        "bytes": pgn.stat().st_size,
        **spent.as_json(),
    }


@dataclass(frozen=True)
class LabelKind:
    """Labels that are counted together."""

    name: str
    depth: int
    all_moves: bool


LABEL_KINDS = (
    LabelKind("value-5", 5, False),
    LabelKind("moves-6", 6, True),
    LabelKind("moves-12", 12, True),
)


def measure_labels(
    kind: LabelKind,
    packed: NDArray[np.uint8],
    words: Sequence[str],
    rounds: int,
    folder: Path,
    advance: Advance = lambda: None,
) -> dict[str, Any]:
    """The same positions labelled so many times, each time by a teacher started anew."""
    teaching = Teaching(
        command=words[0], arguments=tuple(words[1:]), depth=kind.depth, all_moves=kind.all_moves
    )
    spent, name = Spent(), ""
    answers: list[Any] = []
    for _ in range(rounds):
        pupil, answers = LabelPupil(teaching), []
        with spent.once():
            try:
                for number, first in enumerate(range(0, len(packed), teaching.chunk)):
                    chunk = Chunk(number, f"chunk {number}", packed[first : first + teaching.chunk])
                    taught = pupil.answer(chunk)
                    name = taught.teacher
                    answers.append(taught.labels)
            finally:
                pupil.close()
        advance()
    target = folder / f"{kind.name}.{teaching.kind}"
    if kind.all_moves:
        counts = np.concatenate([np.diff(offsets) for offsets, _ in answers])
        scores = np.concatenate([each for _, each in answers])
        write_move_labels(target, (packed, np.concatenate([[0], np.cumsum(counts)]), scores))
    else:
        scores = np.concatenate(answers)
        write_value_labels(target, scores)
    return {
        "teacher": name,
        "depth": kind.depth,
        "all_moves": kind.all_moves,
        "chunk": teaching.chunk,
        "positions": len(packed),
        "scores": len(scores),
        "bytes": target.stat().st_size,
        **spent.as_json(),
    }


def measure_extraction(
    games: Path, rounds: int, folder: Path, advance: Advance = lambda: None
) -> dict[str, Any]:
    """A file of games made into shards, every position kept, by one thread."""
    spent = Spent()
    for number in range(rounds):
        with spent.once():
            manifest = extract([games], folder / str(number), threads=1)
        advance()
    kept = manifest["counts"].get("positions_kept", 0)
    if not kept:
        raise UserError(f"no position in {games}")
    shards = (folder / "0").glob("*.pos")
    return {"positions": kept, "bytes": sum(shard.stat().st_size for shard in shards), **spent.as_json()}


TRAINING = {
    "resnet": ("resnet-train-speed.json", "fed_per_second"),
    "transformer": ("transformer-train-speed.json", "fed_per_second"),
    "nnue": ("nnue-train-speed.json", "resident_per_second"),
    "nnue-streamed": ("nnue-train-speed.json", "streamed_per_second"),
}
"""Where the rates of training are kept, and under which name."""


def read_training(results: Path) -> dict[str, Any]:
    """Positions a second of one GPU, as they were measured there and kept."""
    found = {}
    for name, (file, rates) in TRAINING.items():
        try:
            kept = json.loads((results / file).read_text(encoding="utf-8"))
            found[name] = {
                "file": file,
                "network": _network(kept),
                "rates": rates,
                "positions_per_second": list(map(float, kept[rates])),
            }
        except (OSError, ValueError, KeyError, TypeError):
            raise UserError(
                f"{results / file} has no {rates}, which is measured on a GPU: "
                "name the folder that has it with --results"
            ) from None
    return found


def _network(kept: dict[str, Any]) -> str:
    """What was trained, as far as the record says it."""
    shape = kept.get("shape")
    if isinstance(shape, dict):
        return f"{shape['blocks']} blocks of {shape['channels']} channels"
    if shape:
        return " → ".join([kept["features"], *(str(width) for width in shape if width)])
    return f"{kept['parameters'] / 1e6:.1f} million parameters"
