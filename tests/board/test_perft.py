"""Legal moves, counted: every number here is a published one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabiya._core import perft

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"

# FEN: the leaves at depth 1, 2, 3, …
TABLE = {
    START: (20, 400, 8_902, 197_281, 4_865_609, 119_060_324),
    KIWIPETE: (48, 2_039, 97_862, 4_085_603, 193_690_690),
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1": (14, 191, 2_812, 43_238, 674_624, 11_030_083),
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1": (6, 264, 9_467, 422_333, 15_833_292),
    "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1": (6, 264, 9_467, 422_333),
    "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8": (44, 1_486, 62_379, 2_103_487),
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10": (
        46,
        2_079,
        89_890,
        3_894_594,
    ),
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1": (24, 496, 9_483, 182_838, 3_605_103),
}

# One rule each, to one depth: what a move generator forgets first.
SINGLE_RULES = [
    ("an en passant capture that uncovers a check", "3k4/3p4/8/K1P4r/8/8/8/8 b - - 0 1", 6, 1_134_888),
    ("an en passant capture on a pinned diagonal", "8/8/4k3/8/2p5/8/B2P2K1/8 w - - 0 1", 6, 1_015_133),
    ("an en passant capture that gives check", "8/8/1k6/2b5/2pP4/8/5K2/8 b - d3 0 1", 6, 1_440_467),
    ("castling that gives check on the king's side", "5k2/8/8/8/8/8/8/4K2R w K - 0 1", 6, 661_072),
    ("castling that gives check on the queen's side", "3k4/8/8/8/8/8/8/R3K3 w Q - 0 1", 6, 803_711),
    ("castling rights lost with a captured rook", "r3k2r/1b4bq/8/8/8/8/7B/R3K2R w KQkq - 0 1", 4, 1_274_206),
    ("castling through attacked squares", "r3k2r/8/3Q4/8/8/5q2/8/R3K2R b KQkq - 0 1", 4, 1_720_476),
    ("a promotion out of check", "2K2r2/4P3/8/8/8/8/8/3k4 w - - 0 1", 6, 3_821_001),
    ("a check uncovered by a knight", "8/8/1P2K3/8/2n5/1q6/8/5k2 b - - 0 1", 5, 1_004_658),
    ("a promotion that gives check", "4k3/1P6/8/8/8/8/K7/8 w - - 0 1", 6, 217_342),
    ("an underpromotion that gives check", "8/P1k5/K7/8/8/8/8/8 w - - 0 1", 6, 92_683),
    ("stalemate of the side to move", "K1k5/8/P7/8/8/8/8/8 w - - 0 1", 6, 2_217),
    ("stalemate and checkmate", "8/k1P5/8/1K6/8/8/8/8 w - - 0 1", 7, 567_584),
    ("double check", "8/8/2k5/5q2/5n2/8/5K2/8 b - - 0 1", 4, 23_527),
]
RULE_NAMES = [line[0].replace(" ", "-") for line in SINGLE_RULES]


@pytest.mark.parametrize(
    ("fen", "depth", "leaves"),
    [(fen, depth, leaves) for fen, counts in TABLE.items() for depth, leaves in enumerate(counts, 1)],
)
def test_the_tree_of_moves_has_the_published_number_of_leaves(fen: str, depth: int, leaves: int) -> None:
    assert perft(fen, depth) == leaves


@pytest.mark.parametrize(("fen", "depth", "leaves"), [line[1:] for line in SINGLE_RULES], ids=RULE_NAMES)
def test_one_rule_alone_gives_the_published_number_of_leaves(fen: str, depth: int, leaves: int) -> None:
    assert perft(fen, depth) == leaves


def test_a_tree_of_no_depth_is_the_position_itself() -> None:
    assert perft(START, 0) == 1


def test_the_developers_table_holds_to_depth_four(data_folder: Path) -> None:
    table = data_folder / "suites/perft.epd"
    if not table.exists():
        pytest.skip(f"no {table}")
    for line in table.read_text().replace("\0", "").splitlines():
        fen, *counts = line.split(";")
        for depth, leaves in (count.split() for count in counts if count.strip()):
            if int(depth[1:]) <= 4 or len(counts) == 1:
                assert perft(fen.strip(), int(depth[1:])) == int(leaves), line
