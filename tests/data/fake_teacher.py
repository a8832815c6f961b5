"""A UCI engine for the tests: quick, deterministic, and ill-behaved on request.

Its score of a position depends on the FEN, on the limit, and on how many
positions it has seen since `ucinewgame`, as a real engine's does through its
hash table. So labels only come out the same after an interruption if the work
is taken up again at the same places.
"""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from pathlib import Path

import chess

GREETING = """\
id name Fake Teacher 1
option name Hash type spin default 16 min 1 max 1024
option name MultiPV type spin default 1 min 1 max 500
option name Taste type string default plain
uciok"""


class FakeTeacher:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.board = chess.Board()
        self.lines, self.seen, self.options = 1, 0, ""

    def obey(self, words: list[str]) -> None:
        match words:
            case ["uci"]:
                print(GREETING, flush=True)
            case ["isready"]:
                print("readyok", flush=True)
            case ["ucinewgame"]:
                self.seen = 0
            case ["setoption", "name", "MultiPV", "value", number]:
                self.lines = int(number)
            case ["setoption", "name", *setting]:
                self.options += " ".join(setting)
            case ["position", "fen", *fen]:
                self.board = chess.Board(" ".join(fen))
            case ["go", *limit]:
                self.go(" ".join(limit))
            case ["quit"]:
                sys.exit()

    def go(self, limit: str) -> None:
        time.sleep(self.args.slow / 1000)
        if self.args.die_once and self.seen == 20 and not self.args.die_once.exists():
            self.args.die_once.touch()
            sys.exit(3)
        if self.args.die_at and self.board.fen().startswith(self.args.die_at):
            sys.exit(3)
        moves = sorted(move.uci() for move in self.board.legal_moves)
        for rank, move in enumerate(moves[: self.lines], 1):
            mark = f"{self.board.fen()} {limit} {self.seen} {self.options} {move if self.lines > 1 else ''}"
            print(f"info depth 1 multipv {rank} score {self.score(mark)} nodes 1 pv {self.line(move)}")
        print(f"bestmove {moves[0] if moves else '(none)'}", flush=True)
        self.seen += 1

    def line(self, move: str) -> str:
        """The move and how it would go on: always the first move by name."""
        board, line = self.board.copy(stack=False), [move]
        board.push_uci(move)
        while len(line) < self.args.line and (replies := sorted(reply.uci() for reply in board.legal_moves)):
            line.append(replies[0])
            board.push_uci(replies[0])
        return " ".join(line)

    def score(self, mark: str) -> str:
        number = zlib.crc32(mark.encode()) % 2001 - 1000
        if self.args.mates and number % 3 == 0:
            return f"mate {number % 7 + 1}" if number % 2 else f"mate {-(number % 7) - 1}"
        return f"cp {number}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--slow", type=float, default=0.0, help="milliseconds for a position")
    parser.add_argument("--die-once", type=Path, help="die once, and leave this file as a mark")
    parser.add_argument("--die-at", help="die of positions whose FEN begins so")
    parser.add_argument("--mates", action="store_true", help="announce mates, too")
    parser.add_argument("--line", type=int, default=1, help="moves of the line it tells")
    teacher = FakeTeacher(parser.parse_args())
    for line in sys.stdin:
        teacher.obey(line.split())


if __name__ == "__main__":
    main()
