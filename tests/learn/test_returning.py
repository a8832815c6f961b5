"""Moves that bring a position back, told from the records of a game alone."""

from __future__ import annotations

import random

import numpy as np

from tabiya import _core
from tabiya.data.shards import RECORD
from tabiya.learn.returning import FARTHEST, returning


def shuffled_games(count: int, seed: int) -> tuple[np.ndarray, set[tuple[int, int, int]]]:
    """Records of games that like to repeat, and what the board says of each move that does."""
    chance = random.Random(seed)
    records, truth = [], set()
    starts = [None, "4k2r/8/8/8/8/8/3R4/4K2R w Kk - 0 1", "k7/8/8/3pP3/8/8/8/K6R w - d6 0 1"]
    for game in range(count):
        board = _core.Board(starts[game % len(starts)])
        for ply in range(90):
            moves = board.legal_moves()
            if not moves or board.outcome(claim=True):
                break
            again = {move: board.repetitions_after(move) for move in moves}
            if board.halfmove_clock <= FARTHEST:
                truth |= {(len(records), slot, n) for slot, n in enumerate(again.values()) if n}
            back = [move for move, times in again.items() if times]
            move = chance.choice(back if back and chance.random() < 0.5 else moves)
            record = np.zeros((), RECORD)
            record["packed"] = np.frombuffer(board.packed(), np.uint8)
            record["game"], record["ply"] = game, ply
            records.append(record)
            board.push(move)
    return np.array(records, RECORD), truth


def test_every_returning_move_of_a_game_is_found_and_no_other():
    records, truth = shuffled_games(36, seed=1)
    found = returning(records)
    soon = set(np.flatnonzero(records["packed"][:, 26] <= FARTHEST).tolist())
    rows = zip(found.rows.tolist(), found.slots.tolist(), found.times.tolist(), strict=True)
    assert {row for row in rows if row[0] in soon} == truth
    assert len(truth) > 100
    assert max(times for _, _, times in truth) > 1


def test_another_game_s_positions_do_not_return():
    records, _ = shuffled_games(6, seed=2)
    records["game"] = np.arange(len(records))
    assert len(returning(records).rows) == 0


def test_no_records_have_no_returns():
    assert len(returning(np.zeros(0, RECORD)).rows) == 0
