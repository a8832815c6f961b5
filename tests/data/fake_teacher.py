"""A UCI engine for the tests: quick, deterministic, and ill-behaved on request.

Its score of a position depends on the FEN, on the limit, and on how many
positions it has seen since `ucinewgame`, as a real engine's does through its
hash table. So labels only come out the same after an interruption if the work
is taken up again at the same places.

    fake_teacher.py [--slow MS] [--die-once FILE] [--die-at FEN] [--mates]
"""

import argparse
import os
import sys
import time
import zlib

import chess

parser = argparse.ArgumentParser()
parser.add_argument("--slow", type=float, default=0.0)
parser.add_argument("--die-once", default="")
parser.add_argument("--die-at", default="")
parser.add_argument("--mates", action="store_true")
args = parser.parse_args()

board, multipv, seen, options = chess.Board(), 1, 0, ""


def say(text: str) -> None:
    print(text, flush=True)


def score(text: str) -> str:
    number = zlib.crc32(text.encode()) % 2001 - 1000
    if args.mates and number % 3 == 0:
        return f"mate {number % 7 + 1}" if number % 2 else f"mate {-(number % 7) - 1}"
    return f"cp {number}"


def go(words: list[str]) -> None:
    global seen
    time.sleep(args.slow / 1000)
    if args.die_once and seen == 20 and not os.path.exists(args.die_once):
        open(args.die_once, "w").close()
        sys.exit(3)
    if args.die_at and board.fen().startswith(args.die_at):
        sys.exit(3)
    limit = " ".join(words)
    moves = sorted(move.uci() for move in board.legal_moves)
    for rank, move in enumerate(moves[:multipv], 1):
        mark = f"{board.fen()} {limit} {seen} {options} {move if multipv > 1 else ''}"
        say(f"info depth 1 multipv {rank} score {score(mark)} nodes 1 pv {move}")
    say(f"bestmove {moves[0] if moves else '(none)'}")
    seen += 1


for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        say("id name Fake Teacher 1")
        say("option name Hash type spin default 16 min 1 max 1024")
        say("option name MultiPV type spin default 1 min 1 max 500")
        say("option name Taste type string default plain")
        say("uciok")
    elif words[:1] == ["isready"]:
        say("readyok")
    elif words[:1] == ["ucinewgame"]:
        seen = 0
    elif words[:3] == ["setoption", "name", "MultiPV"]:
        multipv = int(words[-1])
    elif words[:1] == ["setoption"]:
        options += " ".join(words[2:])
    elif words[:2] == ["position", "fen"]:
        board = chess.Board(" ".join(words[2:8]))
        for move in words[9:]:
            board.push_uci(move)
    elif words[:2] == ["position", "startpos"]:
        board = chess.Board()
        for move in words[3:]:
            board.push_uci(move)
    elif words[:1] == ["go"]:
        go(words[1:])
    elif words[:1] == ["quit"]:
        break
