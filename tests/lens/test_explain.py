"""Explanations: sentences that were tested, a page that needs nothing, a picture without a library."""

from __future__ import annotations

import json
import re
import struct
import zlib

import numpy as np
import pytest

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.lens import claims
from tabiya.lens.explain import explain
from tabiya.lens.interface import look_into
from tabiya.lens.letters import LETTERS, strokes, wrapped
from tabiya.lens.occlusion import occlude
from tabiya.lens.page import page, write
from tabiya.lens.pieces import SIZE, shapes
from tabiya.lens.scene import Scene, png
from tabiya.lens.words import part_named, percent
from tabiya.player import Decision, Limit, Player

MATE = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
FORK = "r1b1k2r/ppp2ppp/8/3N4/8/8/PPP2PPP/R3K2R w KQkq - 0 1"
BLACK = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
KEYS = {"move", "squares", "pairs", "claims", "dropped"}


def read_png(content: bytes) -> np.ndarray:
    """A reader of its own, so that a mistake has to be made twice."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, data, size = 8, b"", (0, 0)
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        (checked,) = struct.unpack_from(">I", content, at + 8 + length)
        assert checked == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">2I", body[:8])
            assert body[8:] == bytes([8, 2, 0, 0, 0])
        data += body if kind == b"IDAT" else b""
        at += 12 + length
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(size[1], 1 + 3 * size[0])
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(size[1], size[0], 3)


@pytest.fixture(scope="module")
def fork(resnet):
    return explain(resnet, Board(FORK))


def test_every_sentence_holds_when_its_intervention_is_made_again(resnet, fork):
    subject = look_into(resnet, Board(FORK))
    chosen = subject.blank([()]).choices[0]
    assert fork.move == chosen
    assert 3 <= len(fork.sentences) <= 5
    assert all(sentence.holds and sentence.intervention for sentence in fork.sentences)
    singles = [each for each in fork.sentences if each.text.startswith("With the ")]
    assert singles
    for sentence in singles:
        (choice,) = subject.blank([sentence.about]).choices
        assert choice != chosen
        assert f"it plays {fork.board.san(choice)} instead of {fork.board.san(chosen)}" in sentence.text


def test_a_claim_that_fails_is_not_printed_and_is_counted(resnet):
    case = claims.Case(look_into(resnet, Board(MATE)), occlude(look_into(resnet, Board(MATE))))
    proposed = claims.single_pieces(case)
    failed = [finding for finding in proposed if not finding.holds]
    assert failed
    found = explain(resnet, Board(MATE), pairs="none")
    assert found.dropped >= len(failed)
    printed = [each["text"] for each in found.shown()["claims"]]
    assert not {finding.text for finding in failed} & set(printed)


def test_the_json_has_what_others_rely_on(fork):
    shown = json.loads(json.dumps(fork.shown(), allow_nan=False))
    assert set(shown) >= KEYS
    assert shown["move"] == "d5c7"
    assert shown["squares"]["a8"] > shown["squares"]["h2"]
    assert all({"from", "to", "weight"} == set(pair) for pair in shown["pairs"])
    assert all(
        {"text", "intervention", "holds"} == set(claim) and claim["holds"] for claim in shown["claims"]
    )
    assert shown["line_san"][0] == "Nxc7+"
    assert set(shown["inputs"]) == {
        "turn",
        "half-moves",
        "en passant",
        "repetition",
        *(
            f"{who} castling {wing}"
            for who in ("White's", "Black's")
            for wing in ("king's side", "queen's side")
        ),
    } & set(shown["inputs"])


@pytest.mark.parametrize("variant", ["flipped", "unflipped", "separate"])
def test_a_transformer_is_explained_with_pairs_beside_random_ones(transformer, variant):
    found = explain(transformer(variant), Board(BLACK))
    shown = found.shown()
    assert len(shown["pairs"]) == 6
    assert shown["baseline"]["random_pairs"] > 10
    assert shown["baseline"]["strongest_together"] is not None
    assert "renormalised" in shown["pairs_how"]
    assert "cut in all layers" in page(found)
    looks = [claim for claim in shown["claims"] if claim["text"].startswith("It looks from")]
    assert all("random pairs" in claim["intervention"] for claim in looks)


def test_attention_can_be_cut_in_one_head_alone(transformer):
    found = explain(transformer(), Board(BLACK), layer=1, head=2)
    assert "layer 1, head 2" in found.pairs_how
    assert np.array(found.shown()["heads"]).shape == (2, 2)
    with pytest.raises(UserError, match="layers 1 to 2, not 3"):
        explain(transformer(), Board(BLACK), layer=3)
    with pytest.raises(UserError, match="no layers"):
        explain(_Slow(), Board(BLACK), head=1)


class _Slow(Player):
    """Says that it thought for ten seconds, and what it was allowed."""

    name = "slow"

    def play(self, board: Board, limit: Limit) -> Decision:
        return Decision(move=board.legal_moves()[0], seconds=10.0, nodes=limit.nodes or 0)


def test_a_slow_thinker_is_asked_shorter_questions_and_it_is_said():
    board = Board("8/5k2/8/8/8/8/3P1K2/8 w - - 0 1")
    found = explain(_Slow(), board, pairs="none")
    assert found.decision.nodes == 1000
    assert any("1,000 nodes" in note for note in found.notes)
    asked = explain(_Slow(), board, Limit(nodes=777), pairs="none")
    assert (asked.decision.nodes, asked.notes) == (777, [])


def test_the_reconsidering_player_is_told_that_its_first_pass_is_shown(transformer):
    found = explain(transformer(passes="2"), Board(BLACK), pairs="none")
    assert any("first pass" in note for note in found.notes)


@pytest.mark.parametrize("name", ["nnue", "turing", "random?seed=2"])
def test_any_mind_is_explained(name):
    from tabiya.roster import open_player

    ending = Board("8/5k2/8/3r4/8/8/3P1K2/3R4 b - - 0 1")
    with open_player(name) as player:
        found = explain(player, ending, Limit(nodes=300))
    assert ending.is_legal(found.move)
    assert page(found).startswith("<!doctype html>")
    assert found.shown()["claims"] or found.dropped


def test_a_genome_is_explained_by_its_genes(genetic):
    found = explain(genetic, Board(BLACK), Limit(nodes=1000))
    assert found.shown()["own"]["kind"] == "genes"
    assert len(found.shown()["own"]["rows"]) == 12
    assert "Castling Possible" in page(found)


def test_an_outside_engine_is_explained_by_taking_pieces(stockfish):
    from tabiya.roster import open_player

    with open_player(f"uci:{stockfish}") as player:
        found = explain(player, Board(FORK), Limit(nodes=500))
    assert found.move == "d5c7"
    assert found.occlusion.parts["a8"].choice != "d5c7"
    assert len(found.sentences) >= 3


def there_and_back(player, fen: str) -> Board:
    """A position that stands for the second time, so that its favourite would repeat the one after."""
    board = Board(fen)
    favourite = player.play(board, Limit()).move
    board.push(favourite)
    for reply in board.legal_moves():
        walk = board.copy()
        try:
            for move in (reply, favourite[2:4] + favourite[:2], reply[2:4] + reply[:2]):
                walk.push(move)
        except ValueError:
            continue
        if walk.fen().split()[:2] == fen.split()[:2]:
            return walk
    raise AssertionError("the favourite cannot be taken back")


def test_the_rule_about_repetitions_is_named_where_it_made_the_choice(transformer):
    # With this margin it always takes itself to be better; and it hardly reads the count of repetitions.
    player, fresh = transformer("unflipped", margin="-0.5"), Board("8/8/8/3k4/8/8/8/KQ6 w - - 0 1")
    favourite = player.play(fresh, Limit()).move
    assert explain(player, fresh, pairs="none").own.findings == ()
    found = explain(player, there_and_back(player, fresh.fen()), pairs="none")
    assert found.move != favourite
    (finding,) = found.own.findings
    assert f"would play {fresh.san(favourite)}, which brings an earlier position back" in finding.text
    assert finding in found.sentences


def test_the_rule_about_stalemate_is_named_where_it_made_the_choice(transformer):
    player, free = (transformer("unflipped", margin="-0.5", stalemate=rule) for rule in ("refuse", "allow"))
    # A king on the first rank, and the last rook beside it: to take that draws.
    ranks = ("Kr6", "1Kr5", "2Kr4", "3Kr3", "4Kr2", "5Kr1", "6Kr", "rK6", "1rK5", "2rK4", "3rK3", "4rK2")
    boards = [Board(f"3k4/8/8/8/8/8/8/{rank} w - - 0 1") for rank in ranks]
    favourites = {board.fen(): free.play(board, Limit()).move for board in boards}
    board = next(board for board in boards if board.draws_after(favourites[board.fen()]))
    favourite = favourites[board.fen()]
    found = explain(player, board, pairs="none")
    assert found.move != favourite
    (finding,) = found.own.findings
    assert f"would play {board.san(favourite)}, which ends the game in a draw" in finding.text


def test_the_page_loads_nothing_from_elsewhere(fork):
    text = page(fork)
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", text)
    assert "url(" not in text
    assert "<script" not in text
    assert "Nxc7+" in text
    for sentence in fork.sentences:
        assert sentence.text.replace("'", "&#x27;") in text


def test_three_files_are_written_and_none_before_it_is_whole(fork, tmp_path):
    paths = write(fork, tmp_path / "new")
    assert set(paths) == {"html", "png", "json"}
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        p.name for p in paths.values()
    )
    pixels = read_png(paths["png"].read_bytes())
    assert pixels.shape[0] > 450
    # Something warm, something of the arrow's colour, and paper.
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
    assert json.loads(paths["json"].read_text())["move"] == "d5c7"


def test_a_picture_has_the_colours_where_they_were_put():
    scene = Scene(20, 10, "#ffffff")
    scene.box(0, 0, 10, 10, "#ff0000")
    scene.stroke([(15, 2), (15, 8)], "#0000ff", 2)
    pixels = read_png(scene.png())
    assert pixels.shape == (10, 20, 3)
    assert pixels[5, 5].tolist() == [255, 0, 0]
    assert pixels[5, 14].tolist() == [0, 0, 255]
    assert pixels[0, 19].tolist() == [255, 255, 255]
    assert np.array_equal(read_png(png(pixels)), pixels)


def test_half_a_colour_lets_what_is_below_through():
    scene = Scene(4, 4, "#000000")
    scene.box(0, 0, 4, 4, "#ffffff", 0.5)
    assert 126 <= scene.pixels()[2, 2, 0] <= 128


def test_all_six_pieces_of_the_page_are_read():
    found = shapes()
    assert set(found) == set("pnbrqk")
    for shape in found.values():
        corners = np.array([point for outline in shape.outlines for point in outline])
        assert corners.min() > 0
        assert corners.max() < SIZE
        assert len(shape.outlines) >= 2


def test_every_letter_of_a_sentence_has_strokes():
    words = "With the white bishop on c4 blanked, it plays Qh4+ instead of Qxf7#: 81 % to 1.8 %; (3 … 5)!?"
    assert set(words) - set(LETTERS) == {" "}
    assert all(strokes(letter) for letter in LETTERS)
    assert " ".join(wrapped(words, 12, 120)) == words


def test_parts_have_names():
    board = Board(BLACK)
    assert part_named(board, "b5") == "the white bishop on b5"
    assert part_named(board, "e6") == "the empty square e6"
    assert part_named(board, "White's castling king's side") == "White's castling king's side"
    assert (percent(0.5), percent(0.0), percent(float("nan"))) == ("50 %", "0 %", "unknown")


def test_the_page_gets_what_it_draws(resnet):
    from tabiya.lens.explain import for_page
    from tabiya.web.why import checked

    shown = checked(for_page(resnet, Board(FORK)))
    assert shown["move"] == "d5c7"
    assert max(pair["weight"] for pair in shown["pairs"]) == 1.0
    assert all(claim["holds"] for claim in shown["claims"])
    assert shown["squares"]["a8"] > 0
