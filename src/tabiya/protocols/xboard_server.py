"""Any of our players as an xboard engine (protocol version 2), for programs that prefer it to UCI.

As the protocol wants it: a wrong move is answered with `Illegal move`, a wrong
command with `Error`, and neither changes anything; `ping` is answered when
everything before it is done, which includes a move under way. Our players do
not ponder (`hard` is taken note of and no more), there is no analysis mode,
and `edit` and `nps` are refused in favour of `setboard` and `st`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable
from typing import ClassVar

from tabiya import __version__
from tabiya._core import Board, IllegalError
from tabiya.player import Decision, Player, PlayerOption, Report
from tabiya.protocols.lines import LineWriter, converse
from tabiya.protocols.scores import Centipawns, mate_in, shown_score
from tabiya.protocols.thinking import Thought
from tabiya.protocols.xboard_clock import XboardClock

_XBOARD_MATE = 100_000
_QUIT_SECONDS = 2.0
_STOP_SECONDS = 10.0
_MOVE = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?|O-O(-O)?", re.IGNORECASE)
# Half a point less a little: an offer is taken by a player that stands worse than that.
_TAKES_DRAW_BELOW = 0.45


def serve(
    player: Player,
    lines: Iterable[bytes] | None = None,
    write: Callable[[str], None] | None = None,
    centipawns: Centipawns | None = None,
) -> None:
    """Speak xboard for `player` until `quit` or the end of input.

    `centipawns` turns the expected points of a player without scores into one.
    """
    converse(XboardServer(player, write or LineWriter(), centipawns), lines)


class XboardServer:
    """The game as the program tells it, and the search for our move.

    Commands come from one thread and moves from another; `_lock` keeps the
    game whole between them.
    """

    def __init__(
        self, player: Player, write: Callable[[str], None], centipawns: Centipawns | None = None
    ) -> None:
        self._player = player
        self._write = write
        self._centipawns = centipawns
        self._lock = threading.RLock()
        self._board = Board()
        self._clock = XboardClock()
        self._own_color: bool | None = False
        """True for White, False for Black, None in force mode."""
        self._over = False
        self._post = False
        player.report = self._report
        self._last: Decision | None = None
        self._thought: Thought | None = None
        self._pings: list[str] = []

    def handle(self, line: str) -> bool:
        """Obey one line; False once it was `quit`."""
        words = line.split()
        if not words:
            return True
        command, rest = words[0], words[1:]
        if command == "quit":
            return False
        with self._lock:
            try:
                if command in self._COMMANDS:
                    self._COMMANDS[command](self, rest)
                elif command in self._REFUSED:
                    self._write(f"Error (command not supported): {command}")
                elif command in self._IGNORED:
                    pass
                elif _MOVE.fullmatch(command):
                    self._usermove([command])
                else:
                    self._write(f"Error (unknown command): {_printable(line)}")
            except Exception as error:
                # Not even a bug in a player may take the engine away from the program that runs it.
                self._write(f"Error ({_printable(str(error))}): {_printable(command)}")
        return True

    def end(self) -> None:
        """Drop the search and leave."""
        thought = self._thought
        if thought is not None:
            thought.disown()
            thought.wait(_QUIT_SECONDS)

    # the game

    def _new(self, _words: list[str]) -> None:
        self._abandon()
        self._board = Board()
        self._own_color, self._over, self._last = False, False, None
        self._clock.depth = None
        self._player.new_game()

    def _setboard(self, words: list[str]) -> None:
        try:
            board = Board(" ".join(words))
        except ValueError as error:
            self._write(f"tellusererror Illegal position: {_printable(str(error))}")
            return
        self._abandon()
        self._board, self._over, self._last = board, False, None

    def _usermove(self, words: list[str]) -> None:
        text = "".join(words[:1])
        if self._thought is not None and self._thought.running and self._own_color is not None:
            self._write(f"Illegal move (not your turn): {_printable(text)}")
            return
        try:
            move = self._board.parse(text)
        except IllegalError:
            self._write(f"Illegal move: {_printable(text)}")
            return
        except ValueError:
            self._write(f"Illegal move (not a move): {_printable(text)}")
            return
        self._board.push(move)
        if self._own_color is not None and not self._claim():
            self._think_if_to_move()

    def _go(self, _words: list[str]) -> None:
        self._abandon()
        self._own_color, self._over = self._board.white_to_move, False
        if self._board.legal_moves():
            self._think_if_to_move()
        else:
            self._claim()

    def _force(self, _words: list[str]) -> None:
        self._abandon()
        self._own_color = None

    def _playother(self, _words: list[str]) -> None:
        self._abandon()
        self._own_color, self._over = not self._board.white_to_move, False

    def _white(self, _words: list[str]) -> None:
        self._turn_to("w")

    def _black(self, _words: list[str]) -> None:
        self._turn_to("b")

    def _turn_to(self, color: str) -> None:
        """The old `white` and `black`: that side is to move, and we play the other."""
        self._abandon()
        fields = self._board.fen().split()
        if fields[1] != color:
            fields[1], fields[3] = color, "-"
            self._board = Board(" ".join(fields))
        self._own_color = color != "w"

    def _undo(self, _words: list[str]) -> None:
        self._abandon()
        if not self._board.moves:
            raise ValueError("no move to take back")
        self._board.pop()
        self._over = False

    def _remove(self, _words: list[str]) -> None:
        self._abandon()
        if len(self._board.moves) < 2:
            raise ValueError("no two moves to take back")
        self._board.pop()
        self._board.pop()
        self._over = False

    def _result(self, _words: list[str]) -> None:
        self._abandon()
        self._over = True

    def _draw(self, _words: list[str]) -> None:
        """Accepted by a player whose last opinion was that it stands worse."""
        wdl = self._last.wdl if self._last is not None else None
        if wdl is not None and wdl[0] + wdl[1] / 2 < _TAKES_DRAW_BELOW:
            self._write("offer draw")

    # the search

    def _think_if_to_move(self) -> None:
        if self._over or self._own_color != self._board.white_to_move:
            return
        played = len(self._board.moves) // 2
        limit = self._clock.limit(self._board.white_to_move, played)
        self._thought = thought = Thought(
            self._player, self._board, limit, lambda answer: self._answer(thought, answer)
        )
        thought.start()

    def _answer(self, thought: Thought, answer: Decision | Exception) -> None:
        with self._lock:
            if thought is not self._thought:
                return
            self._thought = None
            if isinstance(answer, Exception):
                self._write(f"tellusererror {self._player.name} failed: {_printable(str(answer))}")
                self._write("resign")
                self._over = True
            else:
                self._move(answer)
            self._answer_pings()

    def _move(self, decision: Decision) -> None:
        self._last = decision
        if self._post:
            score = shown_score(decision, self._centipawns)
            line = decision.pv or (decision.move,)
            self._write(post_line(decision.depth, score, decision.seconds, decision.nodes, line))
        if decision.wants == "resign":
            self._write("resign")
            self._over = True
            return
        self._board.push(decision.move)
        self._write(f"move {decision.move}")
        if decision.wants == "draw":
            self._write("offer draw")
        self._claim()

    def _report(self, report: Report) -> None:
        """Thinking output on the way; the last line comes with the move."""
        if self._post and report.line == 1:
            self._write(post_line(report.depth, report.score, report.seconds, report.nodes, report.pv))

    def _claim(self) -> bool:
        """Tell the result if the game is over or a draw can be claimed."""
        outcome = self._board.outcome()
        if outcome is None:
            return False
        result, reason = outcome
        if reason == "checkmate":
            reason = f"{'White' if result == '1-0' else 'Black'} mates"
        self._write(f"{result} {{{reason[:1].upper() + reason[1:]}}}")
        self._over = True
        return True

    def _move_now(self, _words: list[str]) -> None:
        if self._thought is not None:
            self._thought.stop()

    def _abandon(self) -> None:
        """The position is about to change: whatever is being thought is of no use."""
        thought, self._thought = self._thought, None
        if thought is not None:
            thought.disown()
            # Not for the thread's end: it may be waiting for the lock that we hold.
            thought.wait_decided(_STOP_SECONDS)
        self._answer_pings()

    # talk

    def _protover(self, _words: list[str]) -> None:
        self._write("feature done=0")
        self._write(f'feature myname="Tabiya {__version__} {self._player.name}"')
        self._write('feature ping=1 setboard=1 usermove=1 colors=0 san=0 playother=1 variants="normal"')
        self._write("feature sigint=0 reuse=1 analyze=0 time=1 draw=1 nps=0 name=0 debug=1")
        for option in self._player.options():
            self._write(f'feature option="{_option_text(option)}"')
        self._write("feature done=1")

    def _ping(self, words: list[str]) -> None:
        self._pings.append(" ".join(words))
        if self._thought is None:
            self._answer_pings()

    def _answer_pings(self) -> None:
        for ping in self._pings:
            self._write(f"pong {_printable(ping)}")
        self._pings.clear()

    def _option(self, words: list[str]) -> None:
        name, _, value = " ".join(words).partition("=")
        self._abandon()
        self._player.set_option(name.strip(), value.strip())

    def _variant(self, words: list[str]) -> None:
        if words != ["normal"]:
            raise ValueError("only normal chess is played here")

    def _post_on(self, _words: list[str]) -> None:
        self._post = True

    def _post_off(self, _words: list[str]) -> None:
        self._post = False

    def _book(self, _words: list[str]) -> None:
        # The protocol wants lines that begin with a blank, closed by an empty one.
        self._write(" there is no book")
        self._write("")

    def _level(self, words: list[str]) -> None:
        self._clock.level(words)

    def _st(self, words: list[str]) -> None:
        self._clock.st(words)

    def _sd(self, words: list[str]) -> None:
        self._clock.sd(words)

    def _time(self, words: list[str]) -> None:
        self._clock.time(words)

    def _otim(self, words: list[str]) -> None:
        self._clock.otim(words)

    _COMMANDS: ClassVar[dict[str, Callable[[XboardServer, list[str]], None]]] = {
        "protover": _protover,
        "new": _new,
        "setboard": _setboard,
        "usermove": _usermove,
        "go": _go,
        "force": _force,
        "playother": _playother,
        "white": _white,
        "black": _black,
        "undo": _undo,
        "remove": _remove,
        "result": _result,
        "draw": _draw,
        "?": _move_now,
        "level": _level,
        "st": _st,
        "sd": _sd,
        "time": _time,
        "otim": _otim,
        "ping": _ping,
        "option": _option,
        "variant": _variant,
        "post": _post_on,
        "nopost": _post_off,
        "bk": _book,
    }
    _REFUSED = frozenset({"edit", "nps", "analyze", "exclude", "include", "setscore"})
    _IGNORED = frozenset(
        {
            "xboard", "accepted", "rejected", "random", "hard", "easy", "hint", "computer", "name",
            "rating", "ics", "pause", "resume", "memory", "cores", "egtpath", "exit", ".",
        }
    )  # fmt: skip


def post_line(
    depth: int | None, score: float | None, seconds: float, nodes: int, line: tuple[str, ...]
) -> str:
    """Thinking output: depth, score in centipawns, time in centiseconds, nodes, line.

    The field for the score cannot be left empty; a player without one shows 0.
    """
    mate = None if score is None else mate_in(score)
    shown = round(score or 0.0)
    if mate is not None:
        shown = mate + (_XBOARD_MATE if mate > 0 else -_XBOARD_MATE)
    return f"{depth or 1} {shown} {round(100 * seconds)} {nodes} {' '.join(line)}"


def _option_text(option: PlayerOption) -> str:
    if option.kind == "spin":
        return f"{option.name} -spin {option.default} {option.low} {option.high}"
    if option.kind == "check":
        return f"{option.name} -check {1 if option.default == 'true' else 0}"
    if option.kind == "combo":
        shown = (f"*{each}" if each == option.default else each for each in option.choices)
        return f"{option.name} -combo {' /// '.join(shown)}"
    if option.kind == "button":
        return f"{option.name} -button"
    return f"{option.name} -string {option.default}"


def _printable(text: str) -> str:
    """One line that cannot be taken for several."""
    return " ".join(text.split())[:200]
