"""One game at the terminal between any two players, with take-back, hints, offers and saving.

The game ends by the rules, by agreement, by resignation, by a player that
broke, or because the person left; in every case it is saved if that was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tabiya._core import Board
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure, would_take_draw
from tabiya.protocols.board_view import draw
from tabiya.protocols.game_record import GameRecord
from tabiya.protocols.scores import mate_in
from tabiya.protocols.terminal import HumanPlayer

if TYPE_CHECKING:
    from rich.console import Console


class _Leave(Exception):  # noqa: N818 - not an error, a wish
    """The person wants to go."""


class _Again(Exception):  # noqa: N818 - not an error, a wish
    """The position has changed under the one who was asked."""


class TerminalGame:
    """Two players, a board, and the console on which they meet."""

    def __init__(
        self,
        white: Player,
        black: Player,
        board: Board,
        limit: Limit,
        console: Console,
        save: Path | None = None,
        adviser: Callable[[], Player] | None = None,
        boards: bool = True,
        flipped: bool | None = None,
    ) -> None:
        self._players = {True: white, False: black}
        self._board = board
        self._limit = limit
        self._console = console
        self._save = save
        self._open_adviser = adviser
        self._boards = boards
        self._flipped = flipped
        self._last: dict[bool, Decision] = {}
        self.record = GameRecord(white.name, black.name)
        for color, player in self._players.items():
            if isinstance(player, HumanPlayer):
                self._seat(player, color)

    def play(self) -> tuple[str, str]:
        """Play to the end; the result ("*" if somebody left) and its reason."""
        try:
            for player in set(self._players.values()):
                player.new_game()
            while self.record.result == "*":
                outcome = self._board.outcome()
                if outcome is not None:
                    self._end(*outcome)
                else:
                    self._one_move()
            self._announce()
        except (_Leave, EOFError):
            self.record.reason = "game left unfinished"
        finally:
            # Also when Ctrl-C is on its way through.
            self._save_at_the_end()
        return self.record.result, self.record.reason

    def _one_move(self) -> None:
        white = self._board.white_to_move
        player, board = self._players[white], self._board
        try:
            decision = player.play(board.copy(), self._limit)
            if not board.is_legal(decision.move):
                raise PlayerFailure(f"{player.name} played the illegal move {decision.move}")
        except _Again:
            return
        except PlayerFailure as failure:
            self._end("0-1" if white else "1-0", str(failure))
            return
        if decision.wants == "resign":
            self._end("0-1" if white else "1-0", f"{player.name} resigns")
            return
        self._last[white] = decision
        number = f"{board.fullmove_number}{'.' if white else '...'}"
        san = board.san(decision.move)
        board.push(decision.move)
        if not isinstance(player, HumanPlayer):
            self._console.print(f"{number} {san}  ({_opinion(player.name, decision)})", markup=False)
            if self._boards and not isinstance(self._players[not white], HumanPlayer):
                self._show()
        if decision.wants == "draw" and board.outcome() is None:
            self._offer(white)

    def _offer(self, white: bool) -> None:
        opponent = self._players[not white]
        if isinstance(opponent, HumanPlayer):
            answer = opponent.read(f"{self._players[white].name} offers a draw; take it? [y/N] ")
            taken = answer.strip().lower() in ("y", "yes")
        else:
            taken = would_take_draw(self._last.get(not white))
        if taken:
            self._end("1/2-1/2", "draw agreed")
        else:
            self._console.print(f"{opponent.name} declines the draw.", markup=False)

    def _end(self, result: str, reason: str) -> None:
        self.record.result, self.record.reason = result, reason

    def _announce(self) -> None:
        if self._boards:
            self._show()
        self._console.print(f"{self.record.result}  {self.record.reason}", style="bold", markup=False)

    def _show(self) -> None:
        seated = [each.flipped for each in self._players.values() if isinstance(each, HumanPlayer)]
        flipped = seated[0] if seated else self._flipped
        self._console.print(draw(self._board, self._console, bool(flipped)))

    def _save_at_the_end(self) -> None:
        if self._save is None:
            return
        try:
            self.record.save(self._board, self._save)
        except OSError:
            # The complaint follows; the game itself must not be lost with the disk.
            self._console.print(self.record.pgn(self._board), markup=False, soft_wrap=True)
            raise
        self._console.print(f"saved in {self._save}", style="dim", markup=False)

    # the words of a person who plays

    def _seat(self, player: HumanPlayer, white: bool) -> None:
        both = all(isinstance(each, HumanPlayer) for each in self._players.values())
        player.console = self._console
        if self._flipped is None and not both:
            self._flipped = not white
        player.flipped = self._flipped
        player.words = {
            "undo": (self._undo, "take back your last move"),
            "hint": (self._hint, "what another player would do"),
            "pgn": (self._pgn, "the game as PGN, or `pgn FILE` to save it"),
            "save": (self._pgn, "`save FILE`: put the game at the end of a PGN file"),
            "quit": (self._quit, "leave"),
            "exit": (self._quit, ""),
            "q": (self._quit, ""),
        }

    def _undo(self, _rest: str) -> None:
        board = self._board
        other = self._players[not board.white_to_move]
        back = 1 if isinstance(other, HumanPlayer) else 2
        if len(board.moves) < back:
            self._console.print("there is nothing to take back", style="yellow")
            return
        for _ in range(back):
            board.pop()
        raise _Again

    def _hint(self, _rest: str) -> None:
        adviser = self._players[not self._board.white_to_move]
        opened = None
        try:
            if isinstance(adviser, HumanPlayer):
                if self._open_adviser is None:
                    raise PlayerError("there is nobody to ask")
                adviser = opened = self._open_adviser()
            decision = adviser.play(self._board.copy(), self._limit)
            move = self._board.san(decision.move)
            self._console.print(f"{adviser.name} would play {move}", style="cyan", markup=False)
        except PlayerError as error:
            self._console.print(f"no hint: {error}", style="yellow", markup=False)
        finally:
            if opened is not None:
                opened.close()

    def _pgn(self, rest: str) -> None:
        path = rest or (str(self._save) if self._save else "")
        if not path:
            self._console.print(self.record.pgn(self._board), markup=False, soft_wrap=True)
            return
        try:
            self.record.save(self._board, Path(path))
        except OSError as error:
            self._console.print(
                f"cannot save {path}: {error.strerror or error}", style="yellow", markup=False
            )
        else:
            self._console.print(f"saved in {path}", style="dim", markup=False)

    def _quit(self, _rest: str) -> None:
        raise _Leave


def _opinion(name: str, decision: Decision) -> str:
    words = [name, f"{decision.seconds:.1f} s"]
    if decision.nodes:
        words.append(f"{decision.nodes:,} nodes")
    if decision.wdl is not None:
        win, draw, loss = (round(100 * each) for each in decision.wdl)
        words.append(f"win {win} draw {draw} loss {loss} %")
    elif decision.score is not None:
        mate = mate_in(decision.score)
        words.append(f"{decision.score / 100:+.2f}" if mate is None else f"mate in {mate}")
    return ", ".join(words)
