"""Agreement with people's moves, on a folder of a few positions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tabiya import _core
from tabiya.arena.evaluation import Examiner
from tabiya.arena.human import agreement, load_human_moves, measure_human_moves
from tabiya.data.shards import FORMAT, RECORD, VERSION
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player

FENS = [
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
    "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2",
]


class First(Player):
    """Plays the first move in the order of their names."""

    name = "first"

    def play(self, board: _core.Board, limit: Limit) -> Decision:
        return Decision(move=board.legal_moves()[0], nodes=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six positions: the first move of all is played in four of them."""
    records = np.zeros(6, RECORD)
    records["packed"] = np.concatenate([_core.pack_fens(FENS)] * 3)
    firsts = [_core.Board(fen).legal_moves()[0] for fen in FENS]
    moves = [*firsts, *firsts, "e7e5", "g1f3"]
    records["move"] = [_core.uci_to_code(move) for move in moves]
    records["ply"] = 20
    records["white_elo"], records["black_elo"] = 2150, [2410, 2410, 2410, 2410, 2410, 0]
    records.tofile(tmp_path / "a.validation.pos")
    records[:0].tofile(tmp_path / "a.train.pos")
    shards = [{"name": "a", "train": 0, "validation": 6}]
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "shards": shards, "options": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


def test_a_player_agrees_where_its_move_was_played_by_the_mover_s_rating(folder: Path):
    played = load_human_moves(folder, 100)
    assert len(played) == 6
    with Examiner("first", lambda _name: First(), Limit(nodes=1)) as examiner:
        figures = measure_human_moves(played, examiner)
    assert figures["positions"] == 6
    assert figures["top1"] == pytest.approx(4 / 6)
    # Black has 2410 and moves in the first, third and fifth; White has 2150.
    assert [(band["from"], band["positions"]) for band in figures["by_rating"]] == [(2000, 3), (2400, 3)]
    assert [band["top1"] for band in figures["by_rating"]] == [pytest.approx(2 / 3)] * 2


def test_a_choice_among_equals_counts_in_part(folder: Path):
    played = load_human_moves(folder, 100)
    figures = agreement(played, np.array([1.0, 0.5, 0.0, 0.5, 0.0, 1.0]))
    assert figures["top1"] == 0.5
    low, high = figures["top1_95"]
    assert low < 0.5 < high


def test_one_seed_gives_one_sample(folder: Path):
    first, again, other = (load_human_moves(folder, 3, seed).moves.tolist() for seed in (1, 1, 2))
    assert len(first) == 3
    assert first == again
    assert first != other


def test_a_folder_without_later_positions_is_refused(folder: Path):
    with pytest.raises(UserError, match="no position of held-out games after 30 half-moves"):
        load_human_moves(folder, 10, from_ply=30)
