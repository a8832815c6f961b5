"""A teacher's own move in positions of games and beside them: a folder to train on like one of games.

One search of a teacher costs a fifth of scoring every move and chooses better.
So where policies want many positions rather than much about each, it is asked
for its move alone. The records are those of `shards.RECORD`, with the teacher's
move as the one played and its score as the evaluation; there is no result. A search
that found a move has also found how it would go on: with `line`, the positions on that
line are kept too, at no cost, and a line is what a record calls a game.

Positions are drawn from a folder of games or a list. Some of them *wander*: a move of
chance is made first, so that the teacher refutes what no strong player does and
a network may. Others are *stripped* (`stripping.py`). Shards are finished in
order, and one counts once the manifest names it: after a kill the same command
goes on, and the folder can be trained on at any time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.extract import Manifest
from tabiya.data.extract_worker import SPLITS, read_exclusion
from tabiya.data.label_source import tasks_of
from tabiya.data.labels import MoveLabels, held_out
from tabiya.data.scale import LONGEST_MATE, MOVE_MATE, VALUE_MATE, is_mate
from tabiya.data.shards import NO_RESULT, RECORD, ShardFolder
from tabiya.data.stripping import stripped
from tabiya.data.teaching import Chunk, Pupil, Taught, Teaching, refuse_another
from tabiya.errors import UserError
from tabiya.files import claimed, refuse_other_settings, replacing
from tabiya.scale.executor import Crew

SHARD = 32_768
"""Positions drawn for a shard; less is asked: not what was met before, nor what has another number of men."""


class Lines(NamedTuple):
    """A teacher's moves: of each position asked, and of those that follow on the line it expects."""

    offsets: NDArray[np.int64]
    """Where each line begins, and the number of all positions at the end."""
    packed: NDArray[np.uint8]
    moves: NDArray[np.uint16]
    scores: NDArray[np.int16]
    """For whoever moves there."""


@dataclass(frozen=True)
class Choosers:
    """Hires choosers of one teaching, wherever the work is done."""

    teaching: Teaching

    def __call__(self) -> Chooser:
        return Chooser(self.teaching)


class Chooser(Pupil[Lines]):
    """Asks one teacher for its moves and how it would go on."""

    def _ask(self, teacher: _core.Teacher, packed: NDArray[np.uint8], labels: MoveLabels | None) -> Lines:
        teacher.new_game()
        teaching = self._teaching
        return Lines(
            *teacher.best_lines(
                packed, teaching.line, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime
            )
        )


def for_white(scores: NDArray[np.int16], packed: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Scores of moves, for the mover, as evaluations of a record.

    >>> black = _core.pack_fens(["7k/7p/8/8/8/8/8/K7 b - - 0 1"])
    >>> [int(for_white(np.array([score], np.int16), black)[0]) for score in (50, 29997)]
    [-50, -9997]
    """
    wide = scores.astype(np.int32)
    largest = VALUE_MATE - LONGEST_MATE
    value = np.where(
        is_mate(wide, MOVE_MATE),
        np.sign(wide) * (np.abs(wide) - MOVE_MATE + VALUE_MATE),
        wide.clip(-largest, largest),
    )
    black = (packed[:, 24] & 1).astype(bool)
    return np.where(black, -value, value).astype(np.int16)


def positions_of(source: Path) -> list[NDArray[np.uint8]]:
    """What there is to draw from: of a folder what minds train on, of a file everything."""
    if source.is_dir():
        parts = [shard["packed"] for _, shard in ShardFolder.open(source).shards("train")]
    else:
        parts = [task.load() for task in tasks_of(source, "i16")]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise UserError(f"{source} holds no positions to draw from")
    return parts


def drawn_rows(first: int, count: int, total: int, seed: int) -> NDArray[np.int64]:
    """Rows number `first` to `first + count` of an order in which all of `total` come once before any again.

    >>> sorted(drawn_rows(0, 5, 10, seed=3).tolist() + drawn_rows(5, 5, 10, seed=3).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    chance = np.random.default_rng(seed)
    # Near the golden ratio, any run of rows is spread evenly over the whole.
    stride = round(total * (0.618 + 0.001 * chance.random())) or 1
    while math.gcd(stride, total) > 1:
        stride += 1
    return (chance.integers(total) + (first + np.arange(count)) % total * stride) % total


class ChoosingJob:
    """Choices of one teacher for positions of one folder: open it, look at `done`, run it."""

    def __init__(
        self,
        source: Path,
        out: Path,
        teaching: Teaching,
        crew: Crew[Chunk, Taught[Lines]],
        *,
        positions: int,
        wander: float = 0.0,
        strip: float = 0.0,
        men: tuple[int, int] | None = None,
        puzzles: Path | None = None,
        seed: int = 0,
        shard: int = SHARD,
    ) -> None:
        if positions < 1:
            raise UserError(f"--positions must be at least 1, got {positions}")
        for name, share in (("wander", wander), ("strip", strip)):
            if not 0 <= share <= 1:
                raise UserError(f"--{name} is a share, between 0 and 1, got {share:g}")
        self._out, self._teaching, self._crew = out, teaching, crew
        self._wander, self._strip, self._seed, self._shard = wander, strip, seed, shard
        self._men = men
        self._parts = positions_of(source)
        self._ends = np.cumsum([len(part) for part in self._parts])
        self._exclusion = None if puzzles is None else read_exclusion(puzzles)[0]
        options = {
            "kind": "choices",
            "games": source.name,
            "drawn_from": int(self._ends[-1]),
            "puzzles": None if puzzles is None else puzzles.name,
            "wander": wander,
            "strip": strip,
            "seed": seed,
            "teacher": crew.introduce(),
            "teacher_options": teaching.options,
            "limit": teaching.limit,
            "shard_records": shard,
        }
        # Named only where they are asked for: folders from before they could be go on.
        options |= {"line": teaching.line} if teaching.line > 1 else {}
        options |= {"men": list(men)} if men else {}
        out.mkdir(parents=True, exist_ok=True)
        self.manifest = Manifest.load(out) or Manifest(options=options)
        refuse_other_settings(out, self.manifest.options, options)
        self._shards = -(-positions // shard)
        self._met = self._met_before()
        self.done = len(self.manifest.shards) * shard
        self.wanted = max(self._shards * shard, self.done)

    def _met_before(self) -> NDArray[np.uint64]:
        keys = [np.zeros(0, np.uint64)]
        if self.manifest.shards:
            folder = ShardFolder.open(self._out)
            for split in SPLITS:
                for _, shard in folder.shards(split):
                    keys.append(_core.position_keys(np.ascontiguousarray(shard["packed"])))
        return np.sort(np.concatenate(keys))

    def run(self, advance: Callable[[int], None] = lambda _amount: None) -> dict[str, Any]:
        """Draw and ask until the shards are there; the manifest's entries."""
        with claimed(self._out / ".lock") as mine:
            if not mine:
                raise UserError(f"another `tabiya data choose` is at work on {self._out}")
            self._run(advance)
        return vars(self.manifest)

    def _run(self, advance: Callable[[int], None]) -> None:
        began = time.monotonic() - self.manifest.seconds
        while (number := len(self.manifest.shards)) < self._shards:
            records = self._asked(number, self._draw(number))
            self._keep(number, records, time.monotonic() - began)
            advance(self._shard)

    def _draw(self, number: int) -> NDArray[np.uint8]:
        """A shard's positions to ask about, none of which was met before."""
        chance = np.random.default_rng([self._seed, number])
        rows = drawn_rows(number * self._shard, self._shard, int(self._ends[-1]), self._seed)
        packed = self._rows(np.sort(rows))
        wandering = np.flatnonzero(chance.random(len(packed)) < self._wander)
        luck = chance.random(len(packed))[wandering]
        offsets, after, _ = _core.successors(packed[wandering])
        moves = np.diff(offsets)
        steps = offsets[:-1] + (luck * moves).astype(np.int64)
        packed[wandering[moves > 0]] = after[steps[moves > 0]]
        if self._strip:
            robbed = chance.random(len(packed)) < self._strip
            packed = np.concatenate([packed[~robbed], stripped(packed[robbed], chance)])
        if self._men:
            men = np.unpackbits(packed[:, :8], axis=1).sum(1)
            packed = packed[(men >= self._men[0]) & (men <= self._men[1])]
        return packed[self._are_new(packed)]

    def _are_new(self, packed: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Once each; and never what stands in an exam."""
        keys = _core.position_keys(packed)
        fresh = np.zeros(len(keys), np.bool_)
        fresh[np.unique(keys, return_index=True)[1]] = True
        if len(self._met):
            places = np.searchsorted(self._met, keys).clip(max=len(self._met) - 1)
            fresh &= self._met[places] != keys
        if self._exclusion is not None:
            fresh &= ~np.array(self._exclusion.near(packed), np.bool_)
        return fresh

    def _asked(self, number: int, packed: NDArray[np.uint8]) -> NDArray[np.void]:
        """The records of a shard: what was asked, and what follows on the lines; a line is a game."""
        size, teacher = self._teaching.chunk, self.manifest.options["teacher"]
        chunks = [
            Chunk(start, f"positions from {start + 1} of shard {number}", packed[start : start + size])
            for start in range(0, len(packed), size)
        ]
        answers: dict[int, NDArray[np.void]] = {}
        for chunk, taught in self._crew.answers(chunks):
            refuse_another(taught, chunk, teacher, self._out, self._teaching.command)
            answers[chunk.number] = _records(taught.labels, number * self._shard + chunk.number)
        found = [np.zeros(0, RECORD), *(answers[chunk.number] for chunk in chunks)]
        records = np.concatenate(found)
        # A line may lead to a puzzle, or to where another was asked, whose own answer counts then.
        asked_first = np.argsort(records["ply"], kind="stable")
        new = self._are_new(np.ascontiguousarray(records["packed"][asked_first]))
        return records[np.sort(asked_first[new])]

    def _rows(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Positions of the games by their numbers, which ascend."""
        bounds = np.searchsorted(numbers, np.concatenate([[0], self._ends]))
        starts = np.concatenate([[0], self._ends[:-1]])
        return np.concatenate(
            [
                part[numbers[low:high] - start]
                for part, start, low, high in zip(self._parts, starts, bounds[:-1], bounds[1:], strict=True)
            ]
        )

    def _keep(self, number: int, records: NDArray[np.void], seconds: float) -> None:
        packed = np.ascontiguousarray(records["packed"])
        # Two sorted runs, which a stable sort merges in one go.
        self._met = np.sort(np.concatenate([self._met, np.sort(_core.position_keys(packed))]), kind="stable")
        examined = held_out(packed)
        name = f"choices-{number:05d}"
        for split, chosen in zip(SPLITS, (~examined, examined), strict=True):
            with replacing(self._out / f"{name}.{split}.pos") as part:
                records[chosen].tofile(part)
        self.manifest.shards.append(
            {
                "name": name,
                "source": self.manifest.options["games"],
                "train": int(np.count_nonzero(~examined)),
                "validation": int(np.count_nonzero(examined)),
            }
        )
        kept = self.manifest.counts.get("positions_kept", 0) + len(records)
        self.manifest.counts["positions_kept"] = kept
        self.manifest.seconds, self.manifest.complete = round(seconds, 1), True
        self.manifest.save(self._out)


def _records(lines: Lines, first: int) -> NDArray[np.void]:
    """Lines as records whose games are numbered from `first` on."""
    records = np.zeros(len(lines.packed), RECORD)
    records["packed"], records["move"] = lines.packed, lines.moves
    records["eval"] = for_white(lines.scores, lines.packed)
    lengths = np.diff(lines.offsets)
    records["game"] = first + np.repeat(np.arange(len(lengths)), lengths)
    records["ply"] = np.arange(len(records)) - np.repeat(lines.offsets[:-1], lengths)
    records["result"] = NO_RESULT
    return records
