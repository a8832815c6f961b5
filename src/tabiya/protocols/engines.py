"""Outside engines of both protocols as players: `uci:/path/to/engine` and `xboard:/path/to/engine`.

An engine written by others may crash, hang, print nonsense or play an illegal
move. Here each of these becomes a `PlayerFailure` whose message is the reason
in the PGN: that game is lost, the process is ended, and the next game starts
a fresh one.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
import threading
import time

import chess
import chess.engine

from tabiya._core import Board
from tabiya.player import (
    Decision,
    Limit,
    Player,
    PlayerError,
    PlayerFailure,
    PlayerName,
    PlayerOption,
    ScoredMove,
)
from tabiya.protocols.engine_process import EngineProcess
from tabiya.protocols.engine_settings import EngineSettings, find_program, read_settings
from tabiya.protocols.python_chess import to_python_chess
from tabiya.protocols.scores import MATE_SCORE

_STOP_AGAIN_SECONDS = 0.2


def open_player(name: PlayerName) -> Player:
    """The engine that `name` stands for, started and configured."""
    if not name.where:
        raise PlayerError(f"{name.kind} needs the path of an engine, as in {name.kind}:/usr/games/stockfish")
    where = f"{name.where}#{name.part}" if name.part else name.where
    return EnginePlayer(name.kind, find_program(where), read_settings(name, where))


class EnginePlayer(Player):
    """An outside engine; broken in one game, it starts anew for the next."""

    def __init__(self, kind: str, path: str, settings: EngineSettings) -> None:
        self.name = settings.name
        self.path = path
        self._kind = kind
        self._settings = settings
        self._process: EngineProcess | None = None
        self._game: object = object()
        self._thinking = threading.Event()
        self._stopping = threading.Event()
        self._hung_after_stop = False
        if kind == "xboard" and settings.multipv > 1:
            raise PlayerError(f"xboard engines have no multipv, asked of {self.name}")
        self._start()

    def play(self, board: Board, limit: Limit) -> Decision:
        process = self._process if self._process is not None and self._process.alive else self._restart()
        outside = to_python_chess(board)
        began = time.perf_counter()
        self._stopping.clear()
        self._hung_after_stop = False
        self._thinking.set()
        try:
            answer, candidates = self._ask(process, outside, limit)
        except TimeoutError as error:
            raise self._broken(f"did not move within {self._deadline(board, limit):g} seconds") from error
        except chess.engine.EngineTerminatedError as error:
            what = "did not stop when asked" if self._hung_after_stop else "crashed"
            raise self._broken(what) from error
        except (chess.engine.EngineError, OSError, RuntimeError) as error:
            raise self._broken(_misbehaviour(str(error))) from error
        except KeyboardInterrupt:
            self._drop()
            raise
        finally:
            self._thinking.clear()
        return self._decision(board, answer, candidates, time.perf_counter() - began)

    def _ask(
        self, process: EngineProcess, board: chess.Board, limit: Limit
    ) -> tuple[chess.engine.PlayResult, list[chess.engine.InfoDict]]:
        ours = _to_engine_limit(limit, self._kind)
        protocol = process.protocol
        if self._kind == "xboard" or (self._settings.multipv == 1 and not limit.infinite):
            question = protocol.play(board, ours, game=self._game, info=chess.engine.INFO_ALL)
            return process.ask(question, self._deadline_of(board.turn, limit)), []

        # `go infinite` and several candidates exist only in python-chess's analysis.
        async def analyse() -> tuple[chess.engine.PlayResult, list[chess.engine.InfoDict]]:
            analysis = await protocol.analysis(
                board,
                None if limit.infinite else ours,
                multipv=self._settings.multipv if self._settings.multipv > 1 else None,
                game=self._game,
            )
            best = await analysis.wait()
            return chess.engine.PlayResult(best.move, best.ponder, analysis.info), list(analysis.multipv)

        return process.ask(analyse(), self._deadline_of(board.turn, limit))

    def _decision(
        self,
        board: Board,
        answer: chess.engine.PlayResult,
        lines: list[chess.engine.InfoDict],
        seconds: float,
    ) -> Decision:
        wants = "resign" if answer.resigned else "draw" if answer.draw_offered else None
        if answer.move is None and wants == "resign":
            # A resignation comes alone; the move beside it is never played.
            return Decision(move=board.legal_moves()[0], seconds=seconds, wants=wants)
        if not answer.move:
            raise self._broken("made no move")
        move = answer.move.uci()
        if not board.is_legal(move):
            raise self._broken(f"played the illegal move {move}")
        info = answer.info
        score, wdl = _score(info), _wdl(info)
        candidates = [ScoredMove(each["pv"][0].uci(), score=_score(each)) for each in lines if each.get("pv")]
        if not candidates or candidates[0].move != move:
            others = [each for each in candidates if each.move != move]
            candidates = [ScoredMove(move, score=score), *others] if score is not None or others else []
        return Decision(
            move=move,
            wdl=wdl,
            score=score,
            moves=tuple(candidates),
            nodes=info.get("nodes", 0),
            depth=info.get("depth"),
            seconds=seconds,
            pv=tuple(each.uci() for each in info.get("pv", [])),
            wants=wants,
        )

    def new_game(self) -> None:
        self._game = object()
        if self._process is None or not self._process.alive:
            # If it will not start, `play` tries once more and says why.
            with contextlib.suppress(PlayerError):
                self._restart()

    def stop(self) -> None:
        process = self._process
        if process is None or not self._thinking.is_set() or self._stopping.is_set():
            return
        self._stopping.set()
        threading.Thread(target=self._stop_until_it_does, args=(process,), daemon=True).start()

    def _stop_until_it_does(self, process: EngineProcess) -> None:
        # Said again and again: the first may come before the engine has begun to think.
        line = "stop" if self._kind == "uci" else "?"
        end = time.monotonic() + self._settings.margin
        while self._thinking.is_set() and self._stopping.is_set() and process.alive:
            if time.monotonic() > end:
                self._hung_after_stop = True
                process.kill()
                return
            process.say(line)
            time.sleep(_STOP_AGAIN_SECONDS)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.quit()

    def options(self) -> tuple[PlayerOption, ...]:
        if self._process is None:
            return ()
        kinds = {"spin": "spin", "check": "check", "combo": "combo"}
        return tuple(
            PlayerOption(
                name=option.name,
                kind=kinds.get(option.type, "string"),
                default=_spoken(option.default),
                low=option.min,
                high=option.max,
                choices=tuple(option.var or ()),
            )
            for option in self._process.protocol.options.values()
            if option.type not in ("button", "reset", "save") and not option.is_managed()
        )

    def set_option(self, name: str, value: str) -> None:
        process = self._process if self._process is not None and self._process.alive else self._restart()
        try:
            self._configure(process, {name: value})
        except PlayerError as error:
            raise ValueError(str(error)) from error
        self._settings.options[name] = value

    def _start(self) -> EngineProcess:
        seconds = self._settings.start_timeout
        try:
            process = EngineProcess.start(self._kind, [self.path, *self._settings.args], seconds)
        except TimeoutError as error:
            raise PlayerFailure(
                f"{self.name} did not answer as a {self._kind} engine within {seconds:g} seconds"
            ) from error
        except chess.engine.EngineTerminatedError as error:
            raise PlayerFailure(f"{self.name} died at start-up") from error
        except (chess.engine.EngineError, ValueError) as error:
            # An engine that lacks what we need will lack it in every game: better said before the first.
            # (One that declares nothing at all "lacks" ping first: it does not speak the protocol.)
            if lacking := re.search(r"did not declare required feature: (?!ping)(\w+)", str(error)):
                raise PlayerError(
                    f"{self.name} cannot play here: it lacks the xboard feature {lacking[1]!r}"
                ) from error
            what = f"{self.name} does not speak {self._kind}: {_one_line(str(error))}"
            raise PlayerFailure(what) from error
        except OSError as error:
            raise PlayerError(f"the engine {self.path!r} cannot be run: {error.strerror or error}") from error
        try:
            options = dict(self._settings.options)
            if "UCI_ShowWDL" in process.protocol.options:
                options.setdefault("UCI_ShowWDL", "true")
            if "UCI_Elo" in options and "UCI_LimitStrength" in process.protocol.options:
                # Whoever asks for an Elo wants it; by itself the option changes nothing.
                options.setdefault("UCI_LimitStrength", "true")
            self._configure(process, options)
        except BaseException:
            process.kill()
            raise
        self._process = process
        return process

    def _restart(self) -> EngineProcess:
        self._drop()
        try:
            return self._start()
        except PlayerFailure:
            raise
        except PlayerError as error:
            raise PlayerFailure(str(error)) from error

    def _configure(self, process: EngineProcess, options: dict[str, str]) -> None:
        offered = process.protocol.options
        for option, value in options.items():
            if option not in offered:
                close = difflib.get_close_matches(option, list(offered), n=1)
                hint = f", did you mean {close[0]!r}?" if close else ""
                raise PlayerError(f"{self.name} has no option {option!r}{hint}")
            if offered[option].is_managed():
                raise PlayerError(f"the option {option!r} of {self.name} is set by the game and not by hand")
            try:
                process.ask(
                    process.protocol.configure({option: _typed(offered[option], value)}),
                    self._settings.start_timeout,
                )
            except chess.engine.EngineTerminatedError as error:
                raise PlayerFailure(f"{self.name} died at start-up") from error
            except (chess.engine.EngineError, TimeoutError) as error:
                raise PlayerError(f"{self.name} refused {option}={value}: {_one_line(str(error))}") from error

    def _deadline(self, board: Board, limit: Limit) -> float:
        return self._deadline_of(board.white_to_move, limit) or 0.0

    def _deadline_of(self, white_to_move: bool, limit: Limit) -> float | None:
        if limit.infinite:
            return None
        if limit.movetime is not None:
            return limit.movetime + self._settings.margin
        clock, increment = limit.clock(white_to_move)
        if clock is not None:
            return clock + increment + self._settings.margin
        return self._settings.patience

    def _broken(self, what: str) -> PlayerFailure:
        self._drop()
        return PlayerFailure(f"{self.name} {what}")

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()


def _to_engine_limit(limit: Limit, kind: str) -> chess.engine.Limit:
    if limit.infinite:
        # xboard has no endless thought outside analysis: an hour, ended by `?`.
        return chess.engine.Limit(time=3600.0) if kind == "xboard" else chess.engine.Limit()
    clocked = limit.white_clock is not None or limit.black_clock is not None
    return chess.engine.Limit(
        time=limit.movetime,
        depth=limit.depth,
        nodes=limit.nodes,
        white_clock=limit.white_clock,
        black_clock=limit.black_clock,
        white_inc=limit.white_increment if clocked else None,
        black_inc=limit.black_increment if clocked else None,
        remaining_moves=limit.moves_to_go,
    )


def _score(info: chess.engine.InfoDict) -> float | None:
    score = info.get("score")
    return None if score is None else float(score.relative.score(mate_score=MATE_SCORE))


def _wdl(info: chess.engine.InfoDict) -> tuple[float, float, float] | None:
    wdl = info.get("wdl")
    if wdl is None or not wdl.relative.total():
        return None
    each = wdl.relative
    return each.winning_chance(), each.drawing_chance(), each.losing_chance()


def _typed(option: chess.engine.Option, value: str) -> str | bool | None:
    if option.type == "check":
        return value.lower() in ("true", "1", "yes", "on")
    return None if option.type in ("button", "reset", "save") else value


def _spoken(default: object) -> str:
    if isinstance(default, bool):
        return "true" if default else "false"
    return "" if default is None else str(default)


def _misbehaviour(error: str) -> str:
    """python-chess's complaint as a clause that follows the engine's name."""
    illegal = re.match(r"(?:illegal uci: |illegal san: |no matching legal move for )'?([^' ]+)", error)
    if illegal:
        return f"played the illegal move {illegal[1]}"
    return f"answered nonsense ({_one_line(error)})"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."


# asyncio.TimeoutError is the built-in one from Python 3.11 on; the handlers above rely on it.
assert asyncio.TimeoutError is TimeoutError
