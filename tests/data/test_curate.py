"""Hard positions: by the gap, by a player's loss, by a swing in the game."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.data.curate import choices, hard_moves, labels_of, select, swings, write_hard
from tabiya.data.labels import MoveLabels, load_move_labels, offsets_of, write_move_labels, write_value_labels
from tabiya.data.scale import win_probability
from tabiya.data.shards import FORMAT, RECORD, VERSION, ShardFolder
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

KINGS = "7k/7p/8/8/8/8/8/K7 w - - 0 1"  # a1a2, a1b1, a1b2
CORNER = "7k/8/8/8/8/8/1r6/K7 w - - 0 1"  # a1b2 alone
STALEMATE = "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"


def made(*rows: tuple[str, list[int]]) -> MoveLabels:
    packed = _core.pack_fens([fen for fen, _ in rows])
    scores = np.array([score for _, row in rows for score in row], np.int16)
    return packed, offsets_of(np.array([len(row) for _, row in rows], np.int64)), scores


class Stubborn(Player):
    """Plays the first legal move, whatever happens."""

    name = "stubborn"

    def __init__(self) -> None:
        self.asked = 0

    def play(self, board: _core.Board, limit: Limit) -> Decision:
        self.asked += 1
        return Decision(move=board.legal_moves()[0])


def test_the_gap_is_between_the_first_and_the_second_move() -> None:
    labels = made((KINGS, [0, 300, 100]), (CORNER, [500]), (KINGS, [80, 80, 0]), (STALEMATE, []))
    choice = choices(labels)
    expected = [win_probability(300) - win_probability(100), 0, 0, 0]
    assert choice.gap.tolist() == pytest.approx(expected)
    assert choice.best[:3].tolist() == pytest.approx([win_probability(cp) for cp in (300, 500, 80)])


def test_a_mate_is_certain_but_a_quicker_mate_is_no_better() -> None:
    choice = choices(
        made((KINGS, [29999, 29990, 0]), (KINGS, [29999, 0, 0]), (KINGS, [-29999, -29998, -29990]))
    )
    assert choice.gap.tolist() == [0, 0.5, 0]
    assert choice.best.tolist() == [1, 1, 0]


def test_only_large_gaps_are_hard() -> None:
    labels = made((KINGS, [0, 300, 100]), (KINGS, [0, 10, 20]), (KINGS, [900, -900, 0]))
    indices, counts = hard_moves(labels, gap=0.15)
    assert indices.tolist() == [0, 2]
    assert counts == {"looked_at": 3, "by_gap": 2, "by_loss": 0}
    assert hard_moves(labels, gap=0.15, maximum=1)[0].tolist() == [0]


def test_a_player_is_judged_by_what_its_move_loses() -> None:
    labels = made((KINGS, [0, 300, 0]), (KINGS, [300, 300, 0]), (CORNER, [-500]), (STALEMATE, []))
    player = Stubborn()
    indices, counts = hard_moves(labels, loss=0.1, player=player)
    assert indices.tolist() == [0]
    assert counts == {"looked_at": 4, "by_gap": 0, "by_loss": 1}
    assert player.asked == 2, "where there is no choice nobody need be asked"


def test_both_signs_together_take_either() -> None:
    labels = made((KINGS, [0, 300, 300]), (KINGS, [300, 0, 0]), (KINGS, [0, 0, 0]))
    indices, counts = hard_moves(labels, gap=0.1, loss=0.1, player=Stubborn())
    assert indices.tolist() == [0, 1]
    assert (counts["by_gap"], counts["by_loss"]) == (1, 1)


def test_the_search_ends_when_enough_are_found() -> None:
    labels = made(*[(KINGS, [0, 300, 0])] * 9)
    player = Stubborn()
    assert hard_moves(labels, loss=0.1, player=player, maximum=4)[0].tolist() == [0, 1, 2, 3]
    assert player.asked == 4


def test_labels_are_found_by_their_positions(tmp_path: Path) -> None:
    write_move_labels(tmp_path / "all.moves", made((KINGS, [1, 2, 3]), (CORNER, [4]), (STALEMATE, [])))
    # Counters and later moves do not make another position.
    (tmp_path / "some.fen").write_text("7k/8/8/8/8/8/1r6/K7 w - - 9 40\n")
    packed, _, scores = labels_of(tmp_path / "some.fen", tmp_path / "all.moves")
    assert (len(packed), scores.tolist()) == (1, [4])
    with pytest.raises(UserError, match="give them with --labels"):
        labels_of(tmp_path / "some.fen", None)
    with pytest.raises(UserError, match="neither a folder"):
        labels_of(tmp_path / "games.pgn", tmp_path / "all.moves")


def game_folder(
    path: Path, values: list[int], fens: list[str], games: list[int], plies: list[int]
) -> ShardFolder:
    path.mkdir()
    records = np.zeros(len(fens), RECORD)
    records["packed"] = _core.pack_fens(fens)
    records["game"], records["ply"], records["eval"] = games, plies, values
    records.tofile(path / "a.train.pos")
    (path / "a.validation.pos").touch()
    shards = [{"name": "a", "train": len(fens), "validation": 0}]
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "shards": shards}
    (path / "manifest.json").write_text(json.dumps(manifest))
    return ShardFolder.open(path)


def kings(side: str, number: int) -> str:
    return f"7k/8/8/8/8/8/8/K7 {side} - - 0 {number}"


def test_a_swing_counts_against_the_one_who_moved(tmp_path: Path) -> None:
    fens = [kings(side, number) for number in (1, 2, 3) for side in "wb"]
    # White throws it away with the 1st move, Black with the 4th; Black's 2nd and White's 3rd are fine.
    folder = game_folder(tmp_path / "data", [400, 0, 0, 0, 400, 400], fens, [0] * 6, list(range(6)))
    packed, counts = swings(folder, 0.2)
    assert _core.unpack_fens(packed) == [kings("w", 1), kings("b", 2)]
    assert counts == {"looked_at": 6, "pairs": 5, "by_swing": 2}
    assert len(swings(folder, 0.2, maximum=1)[0]) == 1
    assert len(swings(folder, 0.4)[0]) == 0


def test_only_neighbours_in_one_game_with_values_are_compared(tmp_path: Path) -> None:
    fens = [kings("w", number) for number in range(1, 7)]
    values = [400, 0, 400, -400, 400, 32767]
    folder = game_folder(tmp_path / "data", values, fens, [0, 1, 1, 1, 2, 2], [0, 0, 2, 3, 0, 1])
    packed, counts = swings(folder, 0.2)
    assert counts["pairs"] == 1
    assert _core.unpack_fens(packed) == [kings("w", 3)]


def test_labels_come_before_the_evaluations_of_the_games(tmp_path: Path) -> None:
    folder = game_folder(tmp_path / "data", [32767, 32767], [kings("w", 1), kings("b", 1)], [0, 0], [0, 1])
    with pytest.raises(UserError, match="run `tabiya data label"):
        swings(folder, 0.2)
    (tmp_path / "data" / "labels").mkdir()
    write_value_labels(tmp_path / "data" / "labels" / "a.train.i16", np.array([300, -300], np.int16))
    assert len(swings(folder, 0.2)[0]) == 1


def test_hard_positions_are_written_with_their_counts(tmp_path: Path) -> None:
    labels = select(made((KINGS, [1, 2, 3]), (CORNER, [4]), (KINGS, [5, 6, 7])), np.array([0, 2]))
    write_hard(tmp_path / "h.moves", labels[0], labels, {"hard": 2})
    write_hard(tmp_path / "h.fen", labels[0], labels, {"hard": 2})
    assert load_move_labels(tmp_path / "h.moves")[2].tolist() == [1, 2, 3, 5, 6, 7]
    assert (tmp_path / "h.fen").read_text() == f"{KINGS}\n{KINGS}\n"
    assert json.loads((tmp_path / "h.moves.json").read_text()) == {"hard": 2}
    with pytest.raises(UserError, match=r"ends in \.fen, \.epd, \.txt, not h\.moves"):
        write_hard(tmp_path / "h.moves", labels[0], None, {})
