"""Phases b and c at once, on one machine: the GPU trains while the processor's cores label.

One long run with one schedule. At fixed steps the network plays itself; its
mistakes, and some of its other positions, go to the teacher, whose labels join
what is learned from when they are made. At others the network values the moves
of many million game positions itself, and the policy learns from that, as it
does from the values of its own games. The teacher may review those values
instead of scoring every move anew (`tabiya.data.review`), which is so much
cheaper that every position of the games has its turn. Whenever the teacher has
nothing of that to label it works through a list of other hard positions. Nothing waits: not the
GPU for labels, not the teacher for games.

What comes when depends on steps alone, apart from how far the teacher got.
Checkpoints and labels are kept as they are made; a run that was stopped goes on
from the newest checkpoint with every label there is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from tabiya import _core
from tabiya.data.fens import read_positions
from tabiya.data.join import join
from tabiya.data.label_source import Task
from tabiya.data.labels import (
    MoveLabels,
    held_out,
    join_move_labels,
    load_move_labels,
    select,
    write_move_labels,
)
from tabiya.data.teaching import Teaching
from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.feed import Feed, Table, joined, labels_table, successors_table
from tabiya.learn.log import RunLog
from tabiya.learn.run import deadline_after
from tabiya.minds.resnet.judge import Judge
from tabiya.minds.resnet.labelling import Joined, Labelling
from tabiya.minds.resnet.pipeline.positions import first_of_each
from tabiya.minds.resnet.selfplay import Played, SelfPlaySettings, mistakes, self_play
from tabiya.minds.resnet.training import ResNetTraining, Run
from tabiya.minds.resnet.valuing import value_moves
from tabiya.protocols.engine_path import engine_command

OWN = "own"
"""The kind under which the losses of the network's own labels are reported."""

OWN_LABELS = ".own.moves"
"""What the files of the network's own labels end with, while the teacher reviews them."""

MISTAKES_NICE, REVIEW_NICE, FILLER_NICE = 5, 10, 19
"""The priorities of the teacher's processes: its own games first, all after the training itself."""


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """What happens at which step, and who labels."""

    mind: Literal["resnet"] = "resnet"
    training: ResNetTraining
    """The run; its sources of the kinds labels and successors grow by what is labelled on the way."""
    openings: str
    """FENs from which self-play begins."""
    selfplay: SelfPlaySettings = field(default_factory=SelfPlaySettings)
    selfplay_steps: tuple[int, ...]
    """The steps after which the network plays itself."""
    value_steps: tuple[int, ...]
    """The steps after which the network values the moves of further game positions."""
    value_positions: int
    """How many each time."""
    value_least: float = 0.005
    """Moves less likely than this are not valued; see `value_moves`."""
    value_kept: int = 2
    """Valuings whose labels are learned from: the newest ones, by the best network so far."""
    review_nodes: int = 0
    """Above 0, the teacher does not score the moves of mistakes: it looks for the best move of all positions
    that the network has valued, of its games and of others, with so many nodes each."""
    join_steps: tuple[int, ...] = ()
    """Further steps after which finished labels join what is learned from."""
    sampled: int = 0
    """Positions of self-play, drawn at random, that the teacher labels beside the mistakes."""
    own_share: float = 1.0
    """Share of the network's own labels, once there are some, in every batch beside the sources' shares."""
    teacher: str
    teacher_depth: int = 6
    workers: int
    fillers: tuple[str, ...] = ()
    """Lists of positions that the teacher labels when there are no mistakes, one until the next valuing."""
    puzzles: str | None = None
    """A puzzle file whose positions, and those one ply from them, are never learned from."""

    def __post_init__(self) -> None:
        steps = [*self.selfplay_steps, *self.value_steps, *self.join_steps]
        if not steps or min(steps) < 1 or max(steps) >= self.training.steps or len(set(steps)) < len(steps):
            raise UserError(
                "self-play, valuing and joining need steps of their own between 1 and the end, "
                f"got {sorted(steps)} of {self.training.steps}"
            )
        if self.value_kept < 1 or min(self.sampled, self.review_nodes) < 0:
            raise UserError("value_kept must be at least 1, sampled and review_nodes at least 0")
        if {source.kind for source in self.training.sources} != {"games", "labels", "successors"}:
            raise UserError("a campaign learns from sources of the kinds games, labels and successors")


def run_campaign(
    plan: Campaign, folder: Path, minutes: float | None = None, threads: int | None = None
) -> dict[str, Any]:
    """Carry a campaign out, or what is left of it; how much was played, labelled and learned."""
    running = _Running(plan, folder, threads or os.cpu_count() or 1)
    try:
        return running.go(minutes)
    finally:
        running.dismiss()


class _Running:
    """A campaign under way."""

    def __init__(self, plan: Campaign, folder: Path, threads: int) -> None:
        self._plan, self._folder, self._threads = plan, folder, threads
        teacher = engine_command(plan.teacher)
        if teacher is None:
            raise UserError(f"no engine {plan.teacher!r} found: install it, or name another as teacher")
        self._teacher = teacher
        self._run = Run(plan.training, folder / "train")
        sources = plan.training.sources
        self._base = [self._run.load(source, "train") for source in sources]
        self._shares = [source.share for source in sources]
        self._games = self._base[[source.kind for source in sources].index("games")]
        self._gained: list[tuple[Table, Table]] = []
        self._reviewed: list[Table] = []
        self._own: dict[str, Table] = {}
        """The network's own labels by their name; those that are reviewed leave."""
        self._judge: Judge | None = None
        self._teachers: list[Labelling] = []
        self._filler: Labelling | None = None
        self._record: dict[str, Any] = {"iterations": [], "valued": [], "started": time.time()}
        self._pick_up()

    def _pick_up(self) -> None:
        """What an earlier start of this campaign has labelled, and what it was labelling."""
        record = self._folder / "record.json"
        if not record.exists():
            return
        self._record = json.loads(record.read_text())
        for path in sorted(self._folder.glob("*.kept.moves")):
            self._learn_from(path.name.removesuffix(".kept.moves"), load_move_labels(path))
        for path in sorted(self._folder.glob(f"*{OWN_LABELS}")):
            name = path.name.removesuffix(OWN_LABELS)
            if not (self._folder / f"{name}.kept.moves").exists():
                self._teachers.append(self._reviewing(name))
        for number in range(1, len(self._record["iterations"]) + 1):
            name = f"mistakes-{number}"
            asked = (self._folder / f"{name}.fen").exists()
            if asked and not (self._folder / f"{name}.kept.moves").exists():
                self._teachers.append(self._labelling(name, self._folder / f"{name}.fen", MISTAKES_NICE))

    def go(self, minutes: float | None) -> dict[str, Any]:
        plan, run = self._plan, self._run
        ends = deadline_after(minutes)
        self._next_filler()
        exams = run.held_out()
        events: list[tuple[int, Callable[[RunLog], None]]] = [
            *((step, self._iterate) for step in plan.selfplay_steps),
            *((step, self._value) for step in plan.value_steps),
            *((step, lambda _log: self._take_finished()) for step in plan.join_steps),
        ]
        events.sort(key=lambda event: event[0])
        with run.logged() as log:
            for step, event in [*events, (plan.training.steps, lambda _log: None)]:
                if run.step > step:
                    if event == self._value:  # its labels were in memory alone
                        event(log)
                    continue
                if ends is not None and time.monotonic() >= ends:
                    break
                if run.step < step:
                    run.train_to(step, self._feed(), exams, log, ends)
                if run.step == step:
                    event(log)
        self._take_finished(stop=run.step == plan.training.steps)
        self._end_filler()
        self._save_record()
        run.export()
        return self._record

    def _feed(self) -> Feed:
        tables, shares = [], list(self._shares)
        for source, table in zip(self._plan.training.sources, self._base, strict=True):
            gained = [pair[source.kind == "successors"] for pair in self._gained if source.kind != "games"]
            gained += self._reviewed if source.kind == "labels" else []
            tables.append(joined([table, *gained]) if gained else table)
        if self._own:
            tables.append(joined(list(self._own.values())))
            shares.append(self._plan.own_share)
        config = self._plan.training
        return Feed(tables, shares, config.batch, config.seed, config.mirror)

    def _asked(self) -> Judge:
        """The network as it is now; compiled once, its weights renewed."""
        if self._judge is None:
            self._judge = Judge(self._run.averaged(), self._run.device, self._plan.training.compile)
        else:
            self._run.ema.copy_to(self._judge.network)
        return self._judge

    def _iterate(self, log: RunLog) -> None:
        """Self-play: its mistakes to the teacher, its values to the policy; labels made meanwhile join."""
        if any(each["step"] == self._run.step for each in self._record["iterations"]):
            return  # played before the campaign was stopped
        number = len(self._record["iterations"]) + 1
        began = time.monotonic()
        judge = self._asked()
        openings = Path(self._plan.openings).read_text().split("\n")
        settings = replace(self._plan.selfplay, seed=self._plan.selfplay.seed + number)
        played = self_play(judge, [fen for fen in openings if fen], settings, self._threads)
        labels = value_moves(judge, played.packed, self._threads, least=self._plan.value_least)
        wrong = mistakes(played, labels, settings.margin)
        self._take_finished()
        asked = self._ask_about(number, played, labels, wrong)
        results = [result for result, _ in played.results]
        self._record["iterations"].append(
            {
                "step": self._run.step,
                "games": len(results),
                "drawn": results.count("1/2-1/2"),
                "positions": len(played.packed),
                "mistakes": len(wrong),
                "asked": asked,
                "seconds": round(time.monotonic() - began, 1),
            }
        )
        log.note(f"self-play {number}: {self._record['iterations'][-1]}")
        self._save_record()
        self._own[f"selfplay-{number}"] = self._own_table(select(labels, first_of_each(played.packed)))

    def _ask_about(self, number: int, played: Played, labels: MoveLabels, wrong: NDArray[np.int64]) -> int:
        """Give the teacher a round's positions, mistakes first; how many."""
        others = np.random.default_rng(number).permutation(len(played.packed))
        rows = np.concatenate([wrong, others if self._plan.review_nodes else others[: self._plan.sampled]])
        rows = rows[first_of_each(played.packed[rows])]
        if self._plan.review_nodes:
            self._teachers.append(self._reviewing(f"selfplay-{number}", select(labels, rows)))
            return len(rows)
        path = self._folder / f"mistakes-{number}.fen"
        with replacing(path) as part:
            part.write_text(
                "".join(f"{fen}\n" for fen in _core.unpack_fens(np.ascontiguousarray(played.packed[rows])))
            )
        self._teachers.append(self._labelling(f"mistakes-{number}", path, MISTAKES_NICE))
        return len(rows)

    def _value(self, log: RunLog) -> None:
        """The network's own value of the moves of further game positions; the labels made meanwhile join."""
        began = time.monotonic()
        self._take_finished()
        self._end_filler()
        self._next_filler()
        generator = torch.Generator().manual_seed(self._plan.training.seed)
        order = torch.randperm(len(self._games), generator=generator)
        first = self._plan.value_positions * sum(step < self._run.step for step in self._plan.value_steps)
        rows = order[first : first + self._plan.value_positions]
        parts, valued = [], []
        for some in torch.split(rows, 1 << 20):
            packed = self._games.packed[some.to(self._games.packed.device)].cpu().numpy()
            labels = value_moves(self._asked(), packed, self._threads, least=self._plan.value_least)
            parts.append(self._own_table(labels))
            valued.append(labels)
        number = 1 + sum(step < self._run.step for step in self._plan.value_steps)
        self._own.pop(f"valued-{number - self._plan.value_kept}", None)
        self._own[f"valued-{number}"] = joined(parts)
        if self._plan.review_nodes and not (self._folder / f"valued-{number}{OWN_LABELS}").exists():
            self._teachers.append(self._reviewing(f"valued-{number}", join_move_labels(valued)))
        seconds = round(time.monotonic() - began, 1)
        self._record["valued"].append({"step": self._run.step, "positions": len(rows), "seconds": seconds})
        log.note(f"valued: {self._record['valued'][-1]}")
        self._save_record()

    def _own_table(self, labels: MoveLabels) -> Table:
        """The network's own labels: they teach which move is best, not what it is worth.

        The best of many estimates is too high.
        """
        table = labels_table(labels, self._run.device, self._threads)
        table.kind, table.value = OWN, None
        return table

    # The teacher ------------------------------------------------------------------------------------------

    def _labelling(self, name: str, positions: Path, nice: int) -> Labelling:
        teaching = self._teaching(nice, depth=self._plan.teacher_depth, all_moves=True)
        task = Task(name, self._folder / f"{name}.moves", lambda: read_positions(positions))
        return Labelling(task, teaching, self._without_exams)

    def _reviewing(self, name: str, own: MoveLabels | None = None) -> Labelling:
        """The teacher on the network's own labels, as given or as kept by an earlier start."""
        kept = self._folder / f"{name}{OWN_LABELS}"
        if own is not None:
            write_move_labels(kept, own)
        nice = MISTAKES_NICE if name.startswith("selfplay") else REVIEW_NICE
        teaching = self._teaching(nice, nodes=self._plan.review_nodes, review=True)
        target = self._folder / f"{name}.moves"
        task = Task(name, target, lambda: load_move_labels(kept)[0], lambda: load_move_labels(kept))
        return Labelling(task, teaching, self._without_exams)

    def _teaching(self, nice: int, **asked: Any) -> Teaching:
        """The campaign's teacher at a priority, asked for something."""
        return Teaching(
            command="/usr/bin/nice",
            arguments=("-n", str(nice), *self._teacher),
            options={"Hash": "16"},
            workers=self._plan.workers,
            **asked,
        )

    def _without_exams(self, file: Path) -> Joined:
        games = [source.path for source in self._plan.training.sources if source.kind == "games"]
        puzzles = None if self._plan.puzzles is None else Path(self._plan.puzzles)
        return join([file], puzzles, tuple(Path(path) for path in games))

    def _next_filler(self) -> None:
        for number, path in enumerate(self._plan.fillers, 1):
            if not (self._folder / f"filler-{number}.kept.moves").exists():
                self._filler = self._labelling(f"filler-{number}", Path(path), FILLER_NICE)
                return

    def _end_filler(self) -> None:
        if self._filler is not None:
            self._take(self._filler, stop=True)
            self._filler = None

    def dismiss(self) -> None:
        """Send the teacher home; what it has labelled is on disk."""
        for labelling in [*self._teachers, *([self._filler] if self._filler else [])]:
            labelling.dismiss()

    def _take_finished(self, stop: bool = False) -> None:
        """The labels of mistakes that are made; with `stop`, also as many of the others as there are."""
        for labelling in self._teachers:
            if stop or labelling.finished:
                self._take(labelling, stop)
        self._teachers = [each for each in self._teachers if not each.taken]

    def _take(self, labelling: Labelling, stop: bool = False) -> None:
        """Labels that are ready join what is learned from; those near puzzles or held-out games do not."""
        labels, counts = labelling.result(stop)
        write_move_labels(self._folder / f"{labelling.name}.kept.moves", labels)
        self._record[labelling.name] = {**counts, "teacher_seconds": labelling.seconds}
        self._learn_from(labelling.name, labels)

    def _learn_from(self, name: str, labels: MoveLabels) -> None:
        """Reviewed labels teach the policy and the best move's worth; of the others also every successor."""
        self._own.pop(name, None)
        exams = held_out(labels[0])
        if exams.all():
            return
        labels, device = select(labels, np.flatnonzero(~exams)), self._run.device
        if (self._folder / f"{name}{OWN_LABELS}").exists():
            self._reviewed.append(labels_table(labels, device, self._threads))
            return
        self._gained.append(
            (labels_table(labels, device, self._threads), successors_table(labels, device, self._threads))
        )

    def _save_record(self) -> None:
        self._record["seconds"] = time.time() - self._record["started"]
        with replacing(self._folder / "record.json") as part:
            part.write_text(json.dumps(self._record, indent=1) + "\n")
