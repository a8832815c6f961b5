"""What each gene sees: positions scored by hand, and both sides alike."""

from __future__ import annotations

import chess
import pytest

from tabiya._core import Board, Genome, random_positions, unpack_fens

# Standard values: the starting army without its king weighs 39 pawns.
STANDARD = {"P": 1, "N": 3, "B": 3, "R": 5, "Q": 9, "K": 0}

# gene, properties, position, White's score, Black's score; each worked out by hand.
POSITIONS = [
    ("Total Force", {}, "4k3/8/8/8/8/8/P7/R3K3 w - - 0 1", 6 / 39, 0),
    ("Total Force", {}, Board().fen(), 1, 1),
    ("Freedom to Move", {}, Board().fen(), 20 / 200, 20 / 200),
    # King a2 b1 b2, rook six along the rank and seven up the file.
    ("Freedom to Move", {}, "k7/8/8/8/8/8/8/K6R w - - 0 1", 16 / 200, 3 / 200),
    ("Pawn Advancement", {"Non-linearity": 0}, "4k3/p7/8/3P4/8/8/8/4K3 w - - 0 1", 3 / 64, 0),
    ("Pawn Advancement", {"Non-linearity": 1}, "4k3/p7/8/3P2p1/8/8/8/4K3 w - - 0 1", 9 / 64, 4 / 64),
    # White: c3 has d5 ahead on one of three files, a2 nothing on either of two; Black: c3 ahead of d5.
    ("Passed Pawn", {}, "4k3/8/8/3p4/8/2P5/P7/4K3 w - - 0 1", (2 / 3 + 1) / 16, 2 / 3 / 16),
    # Pawns side by side have passed each other.
    ("Passed Pawn", {}, "4k3/8/8/3pP3/8/8/8/4K3 w - - 0 1", 1 / 16, 1 / 16),
    ("Opponent Pieces Targeted", {}, "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", 9 / 39, 1 / 39),
    # The pawn on e4 and nothing else; attacked twice it counts once.
    ("Opponent Pieces Targeted", {}, "4k3/8/8/3q4/4P3/8/4r3/2K5 b - - 0 1", 9 / 39, 1 / 39),
    # King, six along the rank and seven up the file: 15 squares, b1 twice.
    (
        "Sphere of Influence",
        {"Legal Square Score": 1, "Illegal Square Score": 0, "King Target Factor": 0},
        "k7/8/8/8/8/8/8/K6R w - - 0 1",
        15 / 64,
        3 / 64,
    ),
    # Behind its own king the rook would reach a1.
    (
        "Sphere of Influence",
        {"Legal Square Score": 0, "Illegal Square Score": 1, "King Target Factor": 0},
        "k7/8/8/8/8/8/8/K6R w - - 0 1",
        1 / 64,
        0,
    ),
    # White has b1, two steps from a3; Black has b3, two steps from a1, and a4 and b4, three steps.
    (
        "Sphere of Influence",
        {"Legal Square Score": 1, "Illegal Square Score": 0, "King Target Factor": 2},
        "8/8/8/8/8/k7/8/K7 w - - 0 1",
        (1 + 2 / 3) / 64,
        (1 + 2 / 3 + 2 * (1 + 2 / 4)) / 64,
    ),
    # Five friends around the king and no free square but its own.
    (
        "King Confinement",
        {"Friendly Block Score": 1, "Enemy Block Score": -1, "Maximum Distance": 1},
        "4k3/8/8/8/8/8/3PPP2/3QKB2 w - - 0 1",
        5 / 20,
        0,
    ),
    # The rook bars d7 and d8, four squares are free; White's king has one friend and five free squares.
    (
        "King Confinement",
        {"Friendly Block Score": 1, "Enemy Block Score": -1, "Maximum Distance": 1},
        "4k3/8/8/8/8/8/8/3RK3 b - - 0 1",
        1 / 5 / 20,
        -2 / 4 / 20,
    ),
    ("King Confinement", {"Maximum Distance": 0}, "4k3/8/8/8/8/8/3PPP2/3QKB2 w - - 0 1", 0, 0),
    ("King Protection", {}, Board().fen(), 1, 1),
    # From the corner 7 diagonal squares, 14 along rank and file, 2 knight's leaps.
    ("King Protection", {}, "k7/8/8/8/8/8/8/K7 w - - 0 1", 12 / 35, 12 / 35),
    (
        "Castling Possible",
        {"Kingside Preference": 3, "Queenside Preference": 2},
        "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1",
        3 / 5,
        0,
    ),
    # Two pieces in the way, three squares safe.
    (
        "Castling Possible",
        {"Kingside Preference": 3, "Queenside Preference": 2},
        Board().fen(),
        1.8 / 5,
        1.8 / 5,
    ),
    # f1 is attacked.
    (
        "Castling Possible",
        {"Kingside Preference": 3, "Queenside Preference": 2},
        "3k1r2/8/8/8/8/8/8/4K2R w K - 0 1",
        3 * 4 / 5 / 5,
        0,
    ),
    ("Stacked Pawns", {}, "4k3/8/8/8/P7/P7/P6p/4K3 w - - 0 1", -2 / 8, 0),
    # Files a and b, d, g and h.
    ("Pawn Islands", {}, "4k3/p7/8/8/8/8/PP1P2PP/4K3 w - - 0 1", 5 / 3 / 16, 1 / 16),
    ("Checkmate Material", {}, "4k3/8/8/8/8/8/p7/2B1KN2 w - - 0 1", 1, 0),
    ("Checkmate Material", {}, "3bkb2/8/8/8/8/8/8/4KN2 w - - 0 1", 0, 0),
    ("Checkmate Material", {}, "2b1kb2/8/8/8/8/8/8/4K2R w - - 0 1", 1, 1),
]


@pytest.mark.parametrize(("gene", "properties", "fen", "white", "black"), POSITIONS)
def test_a_gene_scores_what_was_worked_out_by_hand(changed, gene, properties, fen, white, black):
    text = changed("Piece Strength", **STANDARD)
    for name, value in properties.items():
        text = with_value(text, gene, name, value)
    found = Genome(text).gene_scores(Board(fen))[f"{gene} Gene"]
    assert found == pytest.approx((white, black))


def with_value(text: str, gene: str, name: str, value: float) -> str:
    head, mark, rest = text.partition(f"Name: {gene} Gene\n")
    lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line for line in rest.split("\n")]
    return head + mark + "\n".join(lines)


def test_a_check_is_worth_the_kings_strength(changed):
    genome = Genome(changed("Piece Strength", **{**STANDARD, "K": 1}))
    scores = genome.gene_scores(Board("4k3/8/8/8/8/8/8/4RK2 b - - 0 1"))
    assert scores["Opponent Pieces Targeted Gene"] == pytest.approx((1 / 40, 0))
    assert scores["Total Force Gene"] == pytest.approx((5 / 40, 0))


def test_having_castled_is_remembered(changed):
    genome = Genome(changed("Castling Possible", **{"Kingside Preference": 3, "Queenside Preference": 2}))
    board = Board("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for move in ("e1g1", "e8c8"):
        board.push(move)
    assert genome.gene_scores(board)["Castling Possible Gene"] == pytest.approx((3 / 5, 2 / 5))


def test_only_the_ratio_of_piece_strengths_matters(changed):
    board = Board("r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/8/PPPP1PPP/RNBQK1NR b KQkq - 0 1")
    doubled = {piece: 2 * value for piece, value in STANDARD.items()}
    assert Genome(changed("Piece Strength", **doubled)).score(board) == pytest.approx(
        Genome(changed("Piece Strength", **STANDARD)).score(board)
    )


def test_no_strength_at_all_divides_nothing_by_zero(changed):
    genome = Genome(changed("Piece Strength", **dict.fromkeys(STANDARD, 0)))
    assert genome.gene_scores(Board())["Total Force Gene"] == (0, 0)


def test_the_score_is_priority_times_the_signed_power_of_each_gene(example, changed):
    board = Board("4k3/pp6/8/8/8/2P5/2P3PP/R3K3 w Q - 0 1")
    genome = Genome(changed("Stacked Pawns", Exponent=0.5))
    values = genome.values()
    expected = 0.0
    for gene, (white, black) in genome.gene_scores(board).items():
        power = values[gene]["Exponent"]
        signed = [(-1) ** (each < 0) * abs(each) ** power for each in (white, black)]
        expected += values[gene]["Priority"] * (signed[0] - signed[1])
    assert genome.score(board) == pytest.approx(expected)
    assert Genome(example).score(board) != pytest.approx(expected)  # there, the exponent is 1


@pytest.mark.parametrize("seed", range(4))
def test_a_mirrored_position_has_the_mirrored_score(seed):
    genome = Genome.random(1, seed)
    for fen in unpack_fens(random_positions(200, seed)):
        board, mirrored = Board(fen), Board(chess.Board(fen).mirror().fen())
        assert genome.score(mirrored) == pytest.approx(genome.score(board), abs=1e-9)
        there = genome.gene_scores(mirrored)
        for gene, (white, black) in genome.gene_scores(board).items():
            assert there[gene] == pytest.approx((black, white)), gene
