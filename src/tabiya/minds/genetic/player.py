"""`genetic`: search by genes that were evolved, not taught.

The name tells the genome: `genetic` is the shipped one, `genetic:pool.txt` the
oldest survivor of a pool, `genetic:pool.txt#1234` one by its number. How far it
looks ahead is in its genes as well; docs/genetic.md has the rules.
"""

from __future__ import annotations

import time
from pathlib import Path

from tabiya._core import Board, GeneticMind, Genome, StopFlag
from tabiya.errors import UserError
from tabiya.minds.genetic.pool_files import chosen_genome
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure, PlayerName, ScoredMove
from tabiya.protocols.scores import mate_score

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "genetic"

DEFAULT_SECONDS = 1.0
"""Thought for a move when the limit names nothing."""

FLAG_MARGIN = 0.03
"""Seconds kept on a clock whatever the genes say: outside its pool a mind shall not lose by its flag."""

LARGEST_CENTIPAWNS = 20_000.0


def open_player(name: PlayerName) -> Player:
    """The player of the shipped genome, or of the one that the name's path and part stand for."""
    if name.options:
        raise PlayerError(f"genetic has no options, got {', '.join(name.options)}")
    if name.where:
        path = Path(name.where).expanduser()
        try:
            genome = chosen_genome(path, name.part)
        except UserError as error:
            raise PlayerError(str(error)) from error
        player = GeneticPlayer(genome)
        player.name = f"genetic:{path.stem}#{genome.id}"
        return player
    if name.part:
        raise PlayerError(f"#{name.part} names a genome but no file: write genetic:pool.txt#{name.part}")
    return GeneticPlayer(shipped_genome())


def shipped_genome(folder: Path = SHIPPED) -> Genome:
    found = sorted(folder.glob("*.txt"))
    if len(found) != 1:
        names = ", ".join(path.name for path in found)
        wrong = f"one shipped genome was expected, there are {names}" if found else "no genome is shipped yet"
        raise PlayerError(f"{wrong}: name one with genetic:pool.txt")
    return chosen_genome(found[0])


class GeneticPlayer(Player):
    """Plays one genome. Limits in nodes or depth make it deterministic."""

    name = "genetic"

    def __init__(self, genome: Genome) -> None:
        self.genome = genome
        self._mind = GeneticMind(genome)
        self._stop = StopFlag()

    def play(self, board: Board, limit: Limit) -> Decision:
        self._stop.clear()
        began = time.perf_counter()
        clock, increment = limit.clock(board.white_to_move)
        movetime = limit.movetime
        if clock is None and movetime is None and limit.nodes is None and limit.depth is None:
            movetime = DEFAULT_SECONDS
        try:
            found = self._mind.play(
                board,
                self._stop,
                clock=None if clock is None else max(0.001, clock - FLAG_MARGIN),
                increment=increment,
                moves_to_go=limit.moves_to_go,
                movetime=movetime,
                nodes=limit.nodes,
                depth=limit.depth,
                infinite=limit.infinite,
            )
        except ValueError as error:
            raise PlayerFailure(f"{self.name} could not move in {board.fen()}: {error}") from error
        score = _centipawns(found["value"], found["mate"], found["pawn"])
        line = tuple(found["line"])
        return Decision(
            move=line[0],
            score=score,
            # Of the other moves alpha-beta knows only that they are no better.
            moves=(ScoredMove(line[0], score=score),),
            nodes=found["nodes"],
            depth=found["depth"],
            seconds=time.perf_counter() - began,
            pv=line,
        )

    def new_game(self) -> None:
        self._mind.new_game()

    def stop(self) -> None:
        self._stop.set()


def _centipawns(value: float, mate: int | None, pawn: float) -> float | None:
    """The genome's own currency as centipawns; None if it sets no store by material."""
    if mate is not None:
        return mate_score(mate)
    if pawn <= 0:
        return 0.0 if value == 0 else None
    return max(-LARGEST_CENTIPAWNS, min(LARGEST_CENTIPAWNS, 100 * value / pawn))
