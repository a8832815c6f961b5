"""`nnue`: alpha-beta search, judged by a network that is updated move by move.

The search and the network run in Rust; this is the player around them. `nnue`
alone is the shipped network, `nnue:FILE` another, `nnue?threads=2&hash=64` has
settings. Where the shelf is empty, `nnue` plays by the handmade evaluation and
says so in its name.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tabiya._core import Board, SearchEngine, StopFlag
from tabiya.data.scale import win_draw_loss
from tabiya.minds.nnue.settings import CLEAR_HASH, Settings, find_option, options
from tabiya.minds.nnue.shelf import network_path
from tabiya.player import (
    Decision,
    Limit,
    Player,
    PlayerError,
    PlayerFailure,
    PlayerName,
    PlayerOption,
    Report,
    ScoredMove,
)
from tabiya.protocols.scores import mate_score

DEFAULT_SECONDS = 1.0
"""Thought for a move when the limit names nothing."""

QUIET_SECONDS = 0.02
"""On a clock, lines found this early are told only if nothing better follows: whoever keeps the clock would
read them on our time."""


def open_player(name: PlayerName) -> Player:
    """The player of the shipped network, or of the file or run that the name's path stands for."""
    settings = name.applied_to(Settings())
    return NnuePlayer(network_path(name.where), settings, named=bool(name.where))


class NnuePlayer(Player):
    """Searches with one network, or with the handmade evaluation where `path` is None.

    With one thread and a limit in nodes or depth it decides the same way every time.
    """

    def __init__(self, path: Path | None, settings: Settings, named: bool = False) -> None:
        self.settings = settings
        self._usual = path
        self._named = named
        self._stop = StopFlag()
        self._quiet_seconds = 0.0
        # Lines found but not told, by their number.
        self._held: dict[int, Report] = {}
        self._engine = SearchEngine(None, settings.hash, settings.threads)
        try:
            self._judge_by(settings)
            self._do_without(settings)
        except ValueError as error:
            raise PlayerError(str(error)) from error

    def _judge_by(self, settings: Settings) -> None:
        """Load the network that the settings ask for; a ValueError's sentence says what was wrong."""
        path = Path(settings.eval_file).expanduser() if settings.eval_file else self._usual
        try:
            self._engine.set_eval_file(path)
        except OSError as error:
            raise ValueError(f"no network {path}: {error.strerror}") from error
        network = self._engine.network
        if network is None:
            self.name = "nnue (handmade)"
            self.note = "there is no network here: nnue plays by its handmade evaluation"
            return
        assert path is not None
        self.name = f"nnue:{path.stem}" if self._named or settings.eval_file else "nnue"
        sizes = [f"2 x {network['l1']}", network["l2"], network["extra"] or None, 1]
        layers = " -> ".join(str(size) for size in sizes if size is not None)
        self.note = f"network {path.name}: {network['features']} -> {layers}, {network['kernel']}"

    def _do_without(self, settings: Settings) -> None:
        """Switch techniques off; a ValueError names those there are."""
        self._engine.set_without([name for name in settings.without.split(",") if name])

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stop.clear()
        began = time.perf_counter()
        clock, increment = limit.clock(board.white_to_move)
        movetime = limit.movetime
        if limit.infinite:
            clock = movetime = None
        elif clock is None and movetime is None and limit.nodes is None and limit.depth is None:
            movetime = DEFAULT_SECONDS
        self._held.clear()
        self._quiet_seconds = 0.0 if clock is None else QUIET_SECONDS
        try:
            found = self._engine.search(
                board,
                self._stop,
                clock=clock,
                increment=increment,
                moves_to_go=limit.moves_to_go,
                movetime=movetime,
                nodes=limit.nodes,
                depth=limit.depth,
                overhead=self.settings.move_overhead / 1000,
                lines=self.settings.multipv,
                report=None if self.report is None else self._tell,
            )
        except ValueError as error:
            raise PlayerFailure(f"{self.name} could not move in {board.fen()}: {error}") from error
        self._tell_held()
        lines = found["lines"]
        best = tuple(lines[0]["pv"])
        return Decision(
            move=best[0],
            wdl=_chances(lines[0]),
            score=_score(lines[0]),
            moves=tuple(ScoredMove(line["pv"][0], score=_score(line)) for line in lines),
            nodes=found["nodes"],
            depth=found["depth"],
            seconds=time.perf_counter() - began,
            pv=best,
        )

    def _tell(self, line: dict[str, Any]) -> None:
        """One line of a search under way, passed on now or, if it is early, perhaps at the end."""
        self._held[line["line"]] = Report(
            depth=line["depth"],
            pv=tuple(line["pv"]),
            line=line["line"],
            seldepth=line["seldepth"],
            score=_score(line),
            wdl=_chances(line),
            nodes=line["nodes"],
            seconds=line["seconds"],
            hashfull=line["hashfull"],
        )
        if line["seconds"] >= self._quiet_seconds:
            self._tell_held()

    def _tell_held(self) -> None:
        if self.report is not None:
            for _, report in sorted(self._held.items()):
                self.report(report)
        self._held.clear()

    def new_game(self) -> None:
        self._engine.new_game()

    def stop(self) -> None:
        self._stop.set()

    def options(self) -> tuple[PlayerOption, ...]:
        return options()

    def set_option(self, name: str, value: str) -> None:
        if find_option(name).name == CLEAR_HASH:
            self._engine.new_game()
            return
        before, after = self.settings, self.settings.changed(name, value)
        if after.eval_file != before.eval_file:
            self._judge_by(after)
        if after.without != before.without:
            self._do_without(after)
        if after.hash != before.hash:
            self._engine.set_hash(after.hash)
        if after.threads != before.threads:
            self._engine.set_threads(after.threads)
        self.settings = after


def _score(line: dict[str, Any]) -> float:
    """Centipawns, or a mate as decisions write it."""
    return float(line["score"]) if line["mate"] is None else mate_score(line["mate"])


def _chances(line: dict[str, Any]) -> tuple[float, float, float]:
    if line["mate"] is not None:
        return (1.0, 0.0, 0.0) if line["mate"] > 0 else (0.0, 0.0, 1.0)
    return win_draw_loss(line["score"])
