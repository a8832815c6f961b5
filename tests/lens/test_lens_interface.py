"""What minds offer the lens: parts blanked in batches, pieces taken away, and no trace of it afterwards."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.lens.interface import SQUARES, AttentiveSubject, look_into
from tabiya.lens.removal import removable, without, worth_of
from tabiya.player import Decision, Limit

MATE = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
BLACK = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
PASSANT = "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3"


@pytest.mark.parametrize("variant", ["flipped", "unflipped", "separate"])
def test_a_transformer_has_85_parts_whatever_its_rows(transformer, variant):
    subject = look_into(transformer(variant), Board(BLACK))
    assert isinstance(subject, AttentiveSubject)
    assert len(subject.parts) == 85
    assert set(SQUARES) < set(subject.parts)
    assert {"turn", "White's castling king's side", "half-moves", "full moves", "repetition"} <= set(
        subject.parts
    )


def test_a_blanked_square_is_the_same_square_of_the_board_however_the_network_sees_it(transformer):
    """Black's pieces on ranks 7 and 8 are rows 1 to 16 of a network that turns the board to the mover."""
    from tabiya.minds.transformer.lens import parts_of
    from tabiya.minds.transformer.shape import TransformerShape

    turned = parts_of(TransformerShape(flipped=True), white_to_move=False)
    assert (turned["a8"], turned["h1"]) == ([1], [64])
    assert turned["Black's castling king's side"] == [66]
    plain = parts_of(TransformerShape(flipped=False, pieces="separate"), white_to_move=False)
    assert (plain["a1"], plain["h8"]) == ([1, 85], [64, 148])
    assert plain["White's castling king's side"] == [66]


def test_blanks_in_a_batch_answer_as_they_do_one_by_one(transformer):
    subject = look_into(transformer(), Board(BLACK))
    sets = [(), ("e5",), ("e5", "turn"), ("CLS",)]
    together = subject.blank(sets)
    for row, parts in enumerate(sets):
        alone = subject.blank([parts])
        assert np.allclose(alone.p[0], together.p[row], atol=1e-6)
        assert alone.choices[0] == together.choices[row]
    assert np.allclose(together.p.sum(1), 1)
    assert not np.allclose(together.p[0], together.p[1])


@pytest.mark.parametrize("variant", ["flipped", "unflipped", "separate"])
def test_looking_leaves_the_plain_answer_unchanged_to_the_bit(transformer, variant):
    player, board = transformer(variant), Board(BLACK)
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    heads = player.network.heads
    before = player.network.evaluate(packed, heads)
    decided = player.play(board, Limit())
    subject = look_into(player, board)
    subject.blank([(part,) for part in subject.parts])
    subject.cut([[("e5", "f3")], [("a1", "h8"), ("CLS", "e5")]], renormalise=False)
    subject.silence(1, 1)
    after = player.network.evaluate(packed, heads)
    assert all(np.array_equal(before[head], after[head]) for head in heads)
    assert player.play(board, Limit()).moves == decided.moves


def test_a_resnet_is_unchanged_to_the_bit_as_well(resnet):
    board = Board(MATE)
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    before = resnet.network.evaluate(packed, ["policy", "q", "wdl", "value_bins"])
    subject = look_into(resnet, board)
    blanked = subject.blank([(part,) for part in subject.parts])
    after = resnet.network.evaluate(packed, ["policy", "q", "wdl", "value_bins"])
    assert all(np.array_equal(before[head], after[head]) for head in before)
    assert len(blanked) == len(subject.parts) == 64 + len(subject.parts[64:])


def test_a_resnet_plays_on_the_whole_board_what_its_player_plays(resnet):
    for fen in (MATE, BLACK, PASSANT):
        board = Board(fen)
        whole = look_into(resnet, board).blank([()])
        decision = resnet.play(board, Limit())
        assert whole.choices == (decision.move,)
        assert math.isclose(whole.p[0].max(), decision.moves[0].p, rel_tol=1e-4)


def test_a_resnet_without_the_mating_bishop_no_longer_mates(resnet):
    answers = look_into(resnet, Board(MATE)).blank([(), ("c4",)])
    assert answers.choices[0] == "h5f7"
    assert answers.choices[1] != "h5f7"


def test_a_cut_of_every_weight_in_no_head_changes_nothing(transformer):
    subject = look_into(transformer(), Board(BLACK))
    pairs = [[(by, at) for by in SQUARES for at in SQUARES]]
    nowhere = subject.cut(pairs, np.zeros((2, 2), np.float32))
    assert np.array_equal(nowhere.p[0], subject.blank([()]).p[0])
    assert not np.array_equal(subject.cut(pairs).p[0], nowhere.p[0])


def test_renormalised_or_not_is_not_the_same(transformer):
    subject = look_into(transformer(), Board(BLACK))
    pairs = [[(by, "e5") for by in SQUARES]]
    assert not np.array_equal(subject.cut(pairs).p, subject.cut(pairs, renormalise=False).p)


def test_what_may_be_missing_is_taken_from_the_board():
    board = Board(PASSANT)
    assert set(removable(board)) == {
        *(square for square in SQUARES if board.piece_at(square) not in (None, "K", "k")),
        "castling",
        "en passant",
    }
    assert without(board, ["en passant"]).fen().split()[3] == "-"
    assert without(board, ["f5"]).fen().split()[3] == "-"
    assert without(board, ["h1"]).fen().split()[2] == "Qkq"
    assert without(board, ["castling"]).fen().split()[2] == "-"
    assert without(board, ["e1"]) is None
    assert board.fen() == Board(PASSANT).fen()


def test_what_the_rules_forbid_is_not_asked(genetic):
    # Without the pawn on f7 the queen gives check and it is White's turn.
    subject = look_into(genetic, Board(MATE), Limit(nodes=500))
    answers = subject.blank([("f7",), ("a7",)])
    assert answers.choices[0] is None
    assert np.isnan(answers.p[0]).all()
    assert answers.choices[1] is not None


def test_a_player_that_searches_answers_the_same_way_each_time(genetic):
    board = Board(BLACK)
    subject = look_into(genetic, board, Limit(nodes=2000))
    first = subject.blank([(), ("f3",), ("e5",)])
    again = look_into(genetic, board, Limit(nodes=2000)).blank([(), ("f3",), ("e5",)])
    assert first.choices == again.choices
    assert np.array_equal(first.expected, again.expected, equal_nan=True)


def test_any_player_can_be_looked_into_by_taking_pieces():
    from tabiya.roster import open_player

    with open_player("random?seed=1") as player:
        answers = look_into(player, Board("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1")).blank([(), ("a1",)])
    assert len(answers) == 2
    assert all(answers.choices)


def test_a_worse_loss_is_told_from_a_loss():
    assert worth_of(Decision(move="e2e4", score=-1500.0)) < worth_of(Decision(move="e2e4", score=-900.0))
    assert worth_of(Decision(move="e2e4", score=29_999.0)) > worth_of(Decision(move="e2e4", score=2000.0))


def test_a_finished_game_has_nothing_to_explain(genetic):
    with pytest.raises(UserError, match="no move to explain"):
        look_into(genetic, Board("R5k1/5ppp/8/8/8/8/5PPP/6K1 b - - 0 1"))


def test_what_minds_offer_the_lens_never_leads_to_torch():
    import importlib.util
    from pathlib import Path

    # As the house's own test does, from the modules that the lens finds by name.
    path = Path(__file__).resolve().parents[1] / "test_architecture.py"
    spec = importlib.util.spec_from_file_location("architecture_rules", path)
    rules = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rules)
    roots = [name for name in rules.MODULES if name.startswith("tabiya.minds.") and name.endswith(".lens")]
    assert len(roots) >= 4
    assert [name for name in rules.reached_from(roots) if name.split(".")[0] == "torch"] == []


def test_what_measures_on_a_training_machine_needs_neither_python_chess_nor_zstandard():
    import subprocess
    import sys

    pytest.importorskip("torch")
    modules = [
        "tabiya.lens.gallery",
        "tabiya.lens.lookahead",
        "tabiya.lens.development",
        *(
            f"tabiya.minds.transformer.lens_{name}"
            for name in ("maps", "patterns", "lookahead", "patching", "development")
        ),
    ]
    program = "import sys; sys.modules['chess'] = None; sys.modules['zstandard'] = None; import " + ", ".join(
        modules
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stderr == ""
