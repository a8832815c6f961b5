"""Whatever is sent to the servers: they never die and still answer isready and ping."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tabiya.minds.simple.random_mover import RandomMover
from tabiya.protocols import uci_server, xboard_server

UCI_WORDS = """
    uci isready ucinewgame setoption name value Seed position startpos fen moves go wtime btime winc binc
    movestogo movetime nodes depth mate infinite ponder searchmoves stop ponderhit debug on register
    e2e4 e7e5 e1g1 a7a8q 0000 -1 0 1 99999999999999999999 1e9 nan <empty>
    rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 8/8/8/8/8/8/8/8
"""
XBOARD_WORDS = """
    xboard protover 2 new force go playother white black level st sd time otim ping result undo remove
    hard easy post nopost draw ? usermove setboard variant normal option Seed=3 edit . analyze bk hint
    40 5:30 : 0 -1 1e400 nan inf 0.1 e2e4 e7e5 e1g1 O-O Nf3 1-0 {x} accepted
    rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 8/8/8/8/8/8/8/8
"""


def lines_of(vocabulary: str) -> st.SearchStrategy[list[bytes]]:
    """Lines of known words in any order, mixed with lines of any bytes."""
    words = st.sampled_from(vocabulary.split())
    sensible = st.lists(words, min_size=1, max_size=8).map(lambda line: " ".join(line).encode() + b"\n")
    noise = st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"") + b"\n")
    return st.lists(st.one_of(sensible, sensible, noise), max_size=12)


def quits(lines: list[bytes]) -> bool:
    return any(b"quit" in line for line in lines)


@settings(max_examples=150, deadline=None)
@given(lines_of(UCI_WORDS))
def test_the_uci_reader_survives_anything_and_is_ready_after(lines):
    said: list[str] = []
    uci_server.serve(RandomMover(seed=1), [*lines, b"stop\n", b"isready\n"], said.append)
    assert quits(lines) or said.count("readyok") >= 1
    assert all("\n" not in line and "\r" not in line for line in said)


@settings(max_examples=150, deadline=None)
@given(lines_of(XBOARD_WORDS))
def test_the_xboard_reader_survives_anything_and_answers_ping_after(lines):
    said: list[str] = []
    xboard_server.serve(RandomMover(seed=1), [*lines, b"force\n", b"ping 4711\n"], said.append)
    assert quits(lines) or "pong 4711" in said
    assert all("\n" not in line and "\r" not in line for line in said)
