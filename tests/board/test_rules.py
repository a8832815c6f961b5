"""Moves, FENs and endings held against python-chess, game by game."""

from __future__ import annotations

from collections.abc import Iterator

import chess
import pytest

from tabiya._core import Board, IllegalError, pack_fens, unpack_fens
from tabiya.bench import reference

REASONS = {
    chess.Termination.CHECKMATE: "checkmate",
    chess.Termination.STALEMATE: "stalemate",
    chess.Termination.INSUFFICIENT_MATERIAL: "insufficient material",
    chess.Termination.SEVENTYFIVE_MOVES: "75 moves",
    chess.Termination.FIVEFOLD_REPETITION: "fivefold repetition",
    chess.Termination.FIFTY_MOVES: "50 moves",
    chess.Termination.THREEFOLD_REPETITION: "threefold repetition",
}

KNIGHTS_OUT_AND_BACK = ("g1f3", "g8f6", "f3g1", "f6g8")

# name: (FEN, moves, how it stands without a claim, how it stands with one)
ENDINGS = {
    "fool's mate": (chess.STARTING_FEN, ("f2f3", "e7e5", "g2g4", "d8h4"), "0-1 checkmate", "0-1 checkmate"),
    "back-rank mate": ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", ("d1d8",), "1-0 checkmate", "1-0 checkmate"),
    "stalemate": ("7k/8/5K2/8/8/8/6Q1/8 w - - 0 1", ("g2g6",), "1/2-1/2 stalemate", "1/2-1/2 stalemate"),
    "the last pawn falls": (
        "8/8/8/3k4/4P3/8/8/4K3 b - - 0 1",
        ("d5e4",),
        "1/2-1/2 insufficient material",
        "1/2-1/2 insufficient material",
    ),
    "bishops of one colour": (
        "8/8/3k4/8/2b5/8/3K4/5B2 w - - 0 1",
        (),
        "1/2-1/2 insufficient material",
        "1/2-1/2 insufficient material",
    ),
    "bishops of two colours can mate": ("8/8/3k4/8/3b4/8/3K4/5B2 w - - 0 1", (), None, None),
    "two knights can mate": ("8/8/3k4/8/8/8/3K4/4NN2 w - - 0 1", (), None, None),
    "stalemate with a lone bishop": (
        "7k/5K2/6B1/8/8/8/8/8 b - - 0 1",
        (),
        "1/2-1/2 insufficient material",
        "1/2-1/2 insufficient material",
    ),
    "third occurrence": (
        chess.STARTING_FEN,
        KNIGHTS_OUT_AND_BACK * 2,
        None,
        "1/2-1/2 threefold repetition",
    ),
    "second occurrence": (chess.STARTING_FEN, KNIGHTS_OUT_AND_BACK, None, None),
    "fifth occurrence": (
        chess.STARTING_FEN,
        KNIGHTS_OUT_AND_BACK * 4,
        "1/2-1/2 fivefold repetition",
        "1/2-1/2 fivefold repetition",
    ),
    "lost castling rights make another position": (
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        ("e1e2", "e8e7", "e2e1", "e7e8") * 2,
        None,
        None,
    ),
    "a possible en passant capture makes another position": (
        "4k1n1/8/8/8/1p6/8/P7/4K1N1 w - - 0 1",
        ("a2a4", *("g8f6", "g1f3", "f6g8", "f3g1") * 2),
        None,
        None,
    ),
    "an en passant square without a capture does not": (
        "4k1n1/8/8/8/8/8/P7/4K1N1 w - - 0 1",
        ("a2a4", *("g8f6", "g1f3", "f6g8", "f3g1") * 2),
        None,
        "1/2-1/2 threefold repetition",
    ),
    "fifty moves": ("8/8/3k4/8/8/8/3K4/R7 w - - 99 90", ("a1a2",), None, "1/2-1/2 50 moves"),
    "a pawn move starts the count again": ("8/8/3k4/8/8/8/P2K4/R7 w - - 99 90", ("a2a3",), None, None),
    "seventy-five moves": (
        "8/8/3k4/8/8/8/3K4/R7 w - - 149 120",
        ("a1a2",),
        "1/2-1/2 75 moves",
        "1/2-1/2 75 moves",
    ),
    "mate with the last of seventy-five moves": (
        "6k1/5ppp/8/8/8/8/8/K2R4 w - - 149 120",
        ("d1d8",),
        "1-0 checkmate",
        "1-0 checkmate",
    ),
}


def python_outcome(board: chess.Board, claim: bool) -> tuple[str, str] | None:
    """python-chess's verdict; a claim counts on what stands on the board, not on what could be played."""
    outcome = board.outcome()
    if outcome is not None:
        return outcome.result(), REASONS[outcome.termination]
    if claim and board.is_fifty_moves():
        return "1/2-1/2", REASONS[chess.Termination.FIFTY_MOVES]
    if claim and board.is_repetition(3):
        return "1/2-1/2", REASONS[chess.Termination.THREEFOLD_REPETITION]
    return None


def test_long_random_games_go_as_in_python_chess(long_game: Iterator[chess.Board]) -> None:
    ours = Board()
    for theirs in long_game:
        if theirs.move_stack:
            ours.push(theirs.peek().uci())
        assert ours.fen() == theirs.fen()
        assert ours.legal_moves() == sorted(move.uci() for move in theirs.legal_moves)
        assert ours.is_check == theirs.is_check()
        assert ours.outcome(claim=False) == python_outcome(theirs, claim=False)
        assert ours.outcome() == python_outcome(theirs, claim=True)
    assert ours.moves == [move.uci() for move in theirs.move_stack]
    assert ours.ply == theirs.ply()


def test_what_a_position_is_called_goes_as_in_python_chess(long_game: Iterator[chess.Board]) -> None:
    ours = Board()
    for theirs in long_game:
        if theirs.move_stack:
            ours.push(theirs.peek().uci())
        if theirs.ply() % 5 == 0:
            for move in theirs.legal_moves:
                san = theirs.san(move)
                assert ours.san(move.uci()) == san
                assert ours.parse(san) == ours.parse(move.uci()) == move.uci()
                assert ours.is_capture(move.uci()) == theirs.is_capture(move)


def test_packing_a_game_counts_repetitions_as_the_reference_does(long_game: Iterator[chess.Board]) -> None:
    ours = Board()
    for theirs in long_game:
        if theirs.move_stack:
            ours.push(theirs.peek().uci())
        assert ours.packed() == reference.pack(theirs)


def test_taking_everything_back_ends_where_it_began(long_game: Iterator[chess.Board]) -> None:
    ours, fens = Board(), []
    for theirs in long_game:
        if theirs.move_stack:
            ours.push(theirs.peek().uci())
        fens.append(theirs.fen())
    while ours.ply:
        assert ours.fen() == fens.pop()
        ours.pop()
    assert ours.fen() == fens.pop() == chess.STARTING_FEN
    with pytest.raises(ValueError, match="no move to take back"):
        ours.pop()


@pytest.mark.parametrize("name", ENDINGS)
def test_every_way_a_game_ends_has_its_result_and_reason(name: str) -> None:
    fen, moves, forced, claimed = ENDINGS[name]
    ours, theirs = Board(fen), chess.Board(fen)
    for move in moves:
        assert ours.outcome(claim=False) is None
        ours.push(move)
        theirs.push_uci(move)
    verdicts = [ours.outcome(claim=False), ours.outcome()]
    assert [verdict and " ".join(verdict) for verdict in verdicts] == [forced, claimed]
    assert verdicts == [python_outcome(theirs, claim=False), python_outcome(theirs, claim=True)]


def test_a_move_tells_how_often_its_position_stood_before() -> None:
    board = Board()
    for move in KNIGHTS_OUT_AND_BACK * 2:
        expected = board.repetitions_after(move)
        board.push(move)
        assert board.repetitions() == expected
    assert board.repetitions() == 2


def test_a_move_tells_whether_it_ends_the_game_drawn_on_the_board(awkward_fen: str) -> None:
    positions = [Board(fen) for fen in (awkward_fen, *(fen for fen, *_ in ENDINGS.values()))]
    told = 0
    for board in positions:
        for move in board.legal_moves():
            after = chess.Board(board.fen())
            after.push_uci(move)
            drawn = after.is_stalemate() or after.is_insufficient_material()
            assert board.draws_after(move) == drawn, (board.fen(), move)
            told += drawn
    assert told >= 2


def test_a_copy_goes_its_own_way() -> None:
    board = Board()
    copy = board.copy()
    copy.push("e2e4")
    assert (board.moves, copy.moves) == ([], ["e2e4"])
    assert board.key() != copy.key()


def test_a_fen_survives_reading_packing_and_writing(awkward_fen: str) -> None:
    expected = chess.Board(awkward_fen).fen()
    assert Board(awkward_fen).fen() == expected
    assert unpack_fens(pack_fens([awkward_fen])) == [expected]
    assert Board.from_packed(Board(awkward_fen).packed()).fen() == expected


def test_the_key_of_a_position_leaves_out_its_clocks() -> None:
    early, late = "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "4k3/8/8/8/8/8/8/4K2R w K - 30 70"
    assert Board(early).key() == Board(late).key()
    assert Board(early).key() != Board("4k3/8/8/8/8/8/8/4K2R b K - 0 1").key()
    assert Board(early).key() != Board("4k3/8/8/8/8/8/8/4K2R w - - 0 1").key()


def test_an_illegal_move_is_refused_with_the_position_it_was_tried_in() -> None:
    board = Board()
    with pytest.raises(IllegalError, match=r"e2e5.*rnbqkbnr/pppppppp"):
        board.push("e2e5")
    assert board.moves == []


def test_an_ambiguous_move_names_what_it_could_mean() -> None:
    with pytest.raises(IllegalError, match=r"Nbd2 or Nfd2|Nfd2 or Nbd2"):
        Board("4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1").parse("Nd2")


NO_POSITIONS = {
    "nothing": "",
    "a move": "e2e4",
    "no king": "8/8/8/8/8/8/8/8 w - - 0 1",
    "one king": "4k3/8/8/8/8/8/8/8 w - - 0 1",
    "the waiting side in check": "4k3/4Q3/8/8/8/8/8/4K3 w - - 0 1",
}


@pytest.mark.parametrize("name", NO_POSITIONS)
def test_what_is_no_position_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="FEN"):
        Board(NO_POSITIONS[name])
