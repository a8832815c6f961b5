"""A teacher's own move in positions of games and beside them: a folder to train on like one of games.

One search of a teacher costs a fifth of scoring every move and chooses better.
So where policies want many positions rather than much about each, it is asked
for its move alone. The records are those of `shards.RECORD`, with the teacher's
move as the one played and its score as the evaluation; there is no result.

Positions are drawn from a folder of games or a list. Some of them *wander*: a move of
chance is made first, so that the teacher refutes what no strong player does and
a network may. Others are *stripped* (`stripping.py`). Shards are finished in
order, and one counts once the manifest names it: after a kill the same command
goes on, and the folder can be trained on at any time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.extract import Manifest
from tabiya.data.extract_worker import SPLITS, read_exclusion
from tabiya.data.label_source import tasks_of
from tabiya.data.label_store import Answer
from tabiya.data.labels import MoveLabels, held_out
from tabiya.data.scale import LONGEST_MATE, MOVE_MATE, VALUE_MATE, is_mate
from tabiya.data.shards import NO_RESULT, RECORD, ShardFolder
from tabiya.data.stripping import stripped
from tabiya.data.teaching import Chunk, Pupil, Taught, Teaching, refuse_another
from tabiya.errors import UserError
from tabiya.files import claimed, refuse_other_settings, replacing
from tabiya.scale.executor import Crew

SHARD = 32_768
"""Positions drawn for a shard; those that were met before leave a little less."""


@dataclass(frozen=True)
class Choosers:
    """Hires choosers of one teaching, wherever the work is done."""

    teaching: Teaching

    def __call__(self) -> Chooser:
        return Chooser(self.teaching)


class Chooser(Pupil):
    """Asks one teacher for its moves: their places among the legal ones, and their scores."""

    def _ask(self, teacher: _core.Teacher, packed: NDArray[np.uint8], labels: MoveLabels | None) -> Answer:
        teacher.new_game()
        teaching = self._teaching
        places, scores = teacher.best_moves(
            packed, depth=teaching.depth, nodes=teaching.nodes, movetime=teaching.movetime
        )
        return places.astype(np.int64), scores


@dataclass
class _Drawn:
    """The positions of one shard on their way through the teachers."""

    packed: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    """Where each position's legal moves begin in `codes`."""
    codes: NDArray[np.uint16]
    left: int
    """Chunks that are not answered yet."""
    places: NDArray[np.int64] = field(init=False)
    scores: NDArray[np.int16] = field(init=False)

    def __post_init__(self) -> None:
        self.places = np.zeros(len(self.packed), np.int64)
        self.scores = np.zeros(len(self.packed), np.int16)

    def records(self, first: int) -> NDArray[np.void]:
        """What is known now, as records whose games are numbered from `first` on."""
        records = np.zeros(len(self.packed), RECORD)
        records["packed"] = self.packed
        records["move"] = self.codes[self.offsets[:-1] + self.places]
        records["eval"] = for_white(self.scores, self.packed)
        records["game"] = first + np.arange(len(records))
        records["result"] = NO_RESULT
        return records


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
        crew: Crew[Chunk, Taught],
        *,
        positions: int,
        wander: float = 0.0,
        strip: float = 0.0,
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
        teacher = self.manifest.options["teacher"]
        drawn: dict[int, _Drawn] = {}

        def keep_finished() -> None:
            while (ready := drawn.get(len(self.manifest.shards))) is not None and ready.left == 0:
                del drawn[len(self.manifest.shards)]
                self._keep(ready, time.monotonic() - began)
                advance(self._shard)

        for chunk, taught in self._crew.answers(self._chunks(drawn)):
            refuse_another(taught, chunk, teacher, self._out, self._teaching.command)
            number, first = divmod(chunk.number, self._shard)
            assert isinstance(taught.labels, tuple)
            rows = slice(first, first + len(chunk.packed))
            drawn[number].places[rows], drawn[number].scores[rows] = taught.labels
            drawn[number].left -= 1
            keep_finished()
        keep_finished()

    def _chunks(self, drawn: dict[int, _Drawn]) -> Iterator[Chunk]:
        """Units for the teachers, shard after shard; what is drawn is entered into `drawn`."""
        size = self._teaching.chunk
        for number in range(len(self.manifest.shards), self._shards):
            packed, offsets, codes = self._draw(number)
            starts = range(0, len(packed), size)
            drawn[number] = _Drawn(packed, offsets, codes, len(starts))
            for start in starts:
                some = np.ascontiguousarray(packed[start : start + size])
                yield Chunk(
                    number * self._shard + start, f"positions from {start + 1} of shard {number}", some
                )

    def _draw(self, number: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint16]]:
        """A shard's positions, none of which was met before, and their legal moves."""
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
        # Once each; and never what stands in an exam, or the game is over.
        keys = _core.position_keys(packed)
        fresh = np.zeros(len(keys), np.bool_)
        fresh[np.unique(keys, return_index=True)[1]] = True
        fresh &= ~np.isin(keys, self._met)
        if self._exclusion is not None:
            fresh &= ~np.array(self._exclusion.near(packed), np.bool_)
        packed = np.ascontiguousarray(packed[fresh])
        offsets, _, codes = _core.successors(packed)
        playable = np.diff(offsets) > 0
        packed = np.ascontiguousarray(packed[playable])
        # Where there are no moves there is nothing to leave out of the codes.
        offsets = np.concatenate([offsets[:-1][playable], offsets[-1:]])
        self._met = np.sort(np.concatenate([self._met, _core.position_keys(packed)]))
        return packed, offsets, codes

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

    def _keep(self, shard: _Drawn, seconds: float) -> None:
        number = len(self.manifest.shards)
        records = shard.records(number * self._shard)
        examined = held_out(shard.packed)
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
