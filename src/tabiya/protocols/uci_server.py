"""Any of our players as a UCI engine: reads commands, answers, and survives whatever it is sent.

A command that makes no sense is answered with an `info string` and changes
nothing. The player thinks in a thread of its own, so `stop`, `isready` and
`quit` are heard at any time; the end of input is a `quit`.

Taken as written: `wtime btime winc binc movestogo movetime nodes depth
infinite ponder`; `mate N` is a depth of 2N − 1. A `go` without limits leaves
the thought to the player. `searchmoves` is not supported and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from tabiya import __version__
from tabiya._core import Board
from tabiya.player import Decision, Limit, Player, PlayerOption, Report
from tabiya.protocols.lines import LineWriter, converse
from tabiya.protocols.scores import Centipawns, mate_in, shown_score
from tabiya.protocols.thinking import Thought

_LARGEST_NUMBER = 10**12
_STOP_SECONDS = 10.0
_QUIT_SECONDS = 2.0

_GO_NUMBERS = ("wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime")
_GO_WORDS = (*_GO_NUMBERS, "infinite", "ponder", "searchmoves")


def serve(
    player: Player,
    lines: Iterable[bytes] | None = None,
    write: Callable[[str], None] | None = None,
    centipawns: Centipawns | None = None,
) -> None:
    """Speak UCI for `player` until `quit` or the end of input.

    `centipawns` turns the expected points of a player without scores into one.
    """
    converse(UciServer(player, write or LineWriter(), centipawns), lines)


class UciServer:
    """The state between commands: the position, the search, two options of our own."""

    def __init__(
        self, player: Player, write: Callable[[str], None], centipawns: Centipawns | None = None
    ) -> None:
        self._player = player
        self._write = write
        self._centipawns = centipawns
        self._board = Board()
        self._thought: Thought | None = None
        self._pondered: tuple[Board, Limit] | None = None
        self._show_wdl = False
        self._noted = False
        # The last line told of the search under way.
        self._told: Report | None = None
        player.report = self._report

    def handle(self, line: str) -> bool:
        """Obey one line; False once it was `quit`."""
        words = line.split()
        # A UCI engine looks for the first word it knows: "joho debug on" is "debug on".
        while words and words[0] not in self._COMMANDS:
            if words[0] == "quit":
                return False
            if len(words) == 1 or not any(word in self._COMMANDS or word == "quit" for word in words):
                self._say(f"unknown command: {line}")
                return True
            words = words[1:]
        if words:
            try:
                self._COMMANDS[words[0]](self, words[1:])
            except Exception as error:
                # Not even a bug in a player may take the engine away from the program that runs it.
                self._say(str(error) or type(error).__name__)
        return True

    def end(self) -> None:
        """Stop thinking, say the last move if there is one under way, and leave."""
        if self._thought is not None:
            self._thought.stop()
            self._thought.wait(_QUIT_SECONDS)

    def _uci(self, _words: list[str]) -> None:
        self._write(f"id name Tabiya {__version__} {self._player.name}")
        self._write("id author the Tabiya authors")
        for option in self._player.options():
            self._write(_option_line(option))
        self._write("option name Ponder type check default false")
        self._write("option name UCI_ShowWDL type check default false")
        self._write("uciok")

    def _isready(self, _words: list[str]) -> None:
        if self._player.note and not self._noted:
            self._noted = True
            self._say(self._player.note)
        self._write("readyok")

    def _debug(self, _words: list[str]) -> None:
        """There is nothing more to tell."""

    def _register(self, _words: list[str]) -> None:
        """There is nothing to register; `later` and names are both fine."""

    def _ucinewgame(self, _words: list[str]) -> None:
        self._settle()
        self._board = Board()
        self._player.new_game()

    def _setoption(self, words: list[str]) -> None:
        if not words or words[0] != "name" or len(words) < 2:
            raise ValueError("setoption must read: setoption name NAME value VALUE")
        at = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:at]), " ".join(words[at + 1 :])
        if name.lower() == "ponder":
            return
        if name.lower() == "uci_showwdl":
            self._show_wdl = value.lower() == "true"
            return
        self._settle()
        self._player.set_option(name, "" if value == "<empty>" else value)
        self._noted = False

    def _position(self, words: list[str]) -> None:
        at = words.index("moves") if "moves" in words else len(words)
        if words[:1] == ["startpos"]:
            board = Board()
        elif words[:1] == ["fen"]:
            board = Board(" ".join(words[1:at]))
        else:
            raise ValueError("position must read: position startpos|fen FEN [moves MOVE ...]")
        for move in words[at + 1 :]:
            board.push(move)
        self._board = board

    def _go(self, words: list[str]) -> None:
        self._settle()
        limit, ponder = self._limit(words)
        if not self._board.legal_moves():
            self._write("bestmove (none)")
        elif ponder:
            # Thinks without end about the expected position; `ponderhit` starts the clock.
            self._pondered = (self._board, limit)
            self._think(self._board, Limit(infinite=True), held=True)
        else:
            self._think(self._board, limit, held=limit.infinite)

    def _limit(self, words: list[str]) -> tuple[Limit, bool]:
        numbers: dict[str, int] = {}
        infinite = ponder = False
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word in _GO_NUMBERS:
                try:
                    numbers[word] = max(0, min(int(rest[0]), _LARGEST_NUMBER))
                    rest.pop(0)
                except (ValueError, IndexError):
                    self._say(f"go {word} needs a number")
            elif word == "searchmoves":
                self._say("searchmoves is not supported: every legal move is considered")
                while rest and rest[0] not in _GO_WORDS:
                    rest.pop(0)
            elif word in ("infinite", "ponder"):
                infinite, ponder = infinite or word == "infinite", ponder or word == "ponder"
            else:
                self._say(f"go does not know {word!r}")

        def seconds(word: str) -> float | None:
            return numbers[word] / 1000 if word in numbers else None

        def counted(word: str) -> int | None:
            return max(1, numbers[word]) if word in numbers else None

        depth, mate = counted("depth"), counted("mate")
        if mate is not None:
            depth = min(depth or _LARGEST_NUMBER, 2 * mate - 1)
        limit = Limit(
            white_clock=seconds("wtime"),
            black_clock=seconds("btime"),
            white_increment=seconds("winc") or 0.0,
            black_increment=seconds("binc") or 0.0,
            moves_to_go=numbers.get("movestogo") or None,
            movetime=seconds("movetime"),
            nodes=counted("nodes"),
            depth=depth,
            infinite=infinite,
        )
        return limit, ponder

    def _stop(self, _words: list[str]) -> None:
        self._pondered = None
        if self._thought is not None:
            self._thought.stop()

    def _ponderhit(self, _words: list[str]) -> None:
        if self._pondered is None or self._thought is None:
            return
        board, limit = self._pondered
        self._pondered = None
        self._thought.disown()
        self._thought.wait(_STOP_SECONDS)
        self._think(board, limit, held=limit.infinite)

    def _think(self, board: Board, limit: Limit, held: bool) -> None:
        self._told = None
        self._thought = Thought(self._player, board, limit, self._answer, held)
        self._thought.start()

    def _settle(self) -> None:
        """End a search that is still under way, as no program should ask but some do."""
        if self._thought is None:
            return
        self._pondered = None
        self._thought.stop()
        if not self._thought.wait(_STOP_SECONDS):
            self._thought.disown()
            self._say(f"{self._player.name} does not stop and is left to itself")
        self._thought = None

    def _answer(self, answer: Decision | Exception) -> None:
        if isinstance(answer, Exception):
            self._say(f"{self._player.name} failed: {answer}")
            self._write("bestmove 0000")
            return
        # A player that reported its last word already need not repeat it.
        if self._told is None or (self._told.pv, self._told.depth) != (answer.pv, answer.depth):
            self._write(info_line(answer, shown_score(answer, self._centipawns), self._show_wdl))
        ponder = f" ponder {answer.pv[1]}" if len(answer.pv) > 1 and answer.pv[0] == answer.move else ""
        self._write(f"bestmove {answer.move}{ponder}")

    def _report(self, report: Report) -> None:
        if report.line == 1:
            self._told = report
        self._write(report_line(report, self._show_wdl))

    def _say(self, text: str) -> None:
        self._write("info string " + " ".join(text.split()))

    _COMMANDS: ClassVar[dict[str, Callable[[UciServer, list[str]], None]]] = {
        "uci": _uci,
        "isready": _isready,
        "debug": _debug,
        "register": _register,
        "ucinewgame": _ucinewgame,
        "setoption": _setoption,
        "position": _position,
        "go": _go,
        "stop": _stop,
        "ponderhit": _ponderhit,
    }


def info_line(decision: Decision, score: float | None, show_wdl: bool) -> str:
    """What a decision says of itself, as one `info` line."""
    words = ["info"]
    if decision.depth is not None:
        words.append(f"depth {decision.depth}")
    words += _opinion(score, decision.wdl if show_wdl else None)
    words += _effort(decision.nodes, decision.seconds, None)
    words.append("pv " + " ".join(decision.pv or (decision.move,)))
    return " ".join(words)


def report_line(report: Report, show_wdl: bool) -> str:
    """What a player tells while it thinks, as one `info` line."""
    words = [f"info depth {report.depth}"]
    if report.seldepth is not None:
        words.append(f"seldepth {report.seldepth}")
    words.append(f"multipv {report.line}")
    words += _opinion(report.score, report.wdl if show_wdl else None)
    words += _effort(report.nodes, report.seconds, report.hashfull)
    words.append("pv " + " ".join(report.pv))
    return " ".join(words)


def _opinion(score: float | None, wdl: tuple[float, float, float] | None) -> list[str]:
    words = [] if score is None else [f"score {_spoken_score(score)}"]
    if wdl is not None:
        win, draw = round(1000 * wdl[0]), round(1000 * wdl[1])
        words.append(f"wdl {win} {draw} {1000 - win - draw}")
    return words


def _effort(nodes: int, seconds: float, hashfull: int | None) -> list[str]:
    words = [f"nodes {nodes}"]
    if seconds > 0:
        words.append(f"nps {round(nodes / seconds)}")
    if hashfull is not None:
        words.append(f"hashfull {hashfull}")
    return [*words, f"time {round(1000 * seconds)}"]


def _spoken_score(score: float) -> str:
    mate = mate_in(score)
    return f"cp {round(score)}" if mate is None else f"mate {mate}"


def _option_line(option: PlayerOption) -> str:
    words = [f"option name {option.name} type {option.kind}"]
    if option.kind != "button":
        words.append(f"default {option.default or '<empty>'}")
    if option.low is not None:
        words.append(f"min {option.low}")
    if option.high is not None:
        words.append(f"max {option.high}")
    words += [f"var {choice}" for choice in option.choices]
    return " ".join(words)
