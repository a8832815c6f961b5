"""Two networks side by side: how long a pass takes, and how far their answers differ.

Latency is measured on single positions, as a game asks for them. The two
networks take turns on every position, so that whatever else the machine does
hurts both alike and their ratio stays honest where the milliseconds do not.
They may be of two minds: moves and values can be compared all the same.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.arena.evaluation import wilson
from tabiya.learn.fidelity import legal_fidelity
from tabiya.player import Limit
from tabiya.protocols.onnx_session import expected_score
from tabiya.searchless.player import VALUES, Network, SearchlessPlayer

HEADS = ("policy", *VALUES)
"""What one decision of a player asks its network for."""

_COMPARED = ("policy", "q", *VALUES)

WARM_UP = 20
"""Passes of each network before any clock starts."""

_TOGETHER = 128


def latency(
    networks: Sequence[Network],
    packed: NDArray[np.uint8],
    *,
    threads: int,
    runs: int = 5,
    passes: int = 100,
    done: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Milliseconds of one pass at batch 1, position to outputs, of each network; `passes` in each of `runs`.

    With two networks also the ratio of the first one's median to the
    second's, run by run: its median, lowest and highest.
    """
    rows = [packed[at % len(packed)][None] for at in range(max(passes, WARM_UP))]
    for network in networks:
        for row in rows[:WARM_UP]:
            network.evaluate(row, HEADS)
    times = np.zeros((len(networks), runs, passes))
    for run in range(runs):
        for turn, row in enumerate(rows[:passes]):
            order = range(len(networks)) if turn % 2 == 0 else reversed(range(len(networks)))
            for number in order:
                began = perf_counter()
                networks[number].evaluate(row, HEADS)
                times[number, run, turn] = (perf_counter() - began) * 1000
        done()
    medians = np.median(times, axis=2).tolist()
    figures: dict[str, Any] = {
        "batch": 1,
        "threads": threads,
        "runs": runs,
        "passes": runs * passes,
        "load_average": round(os.getloadavg()[0], 2),
        "networks": [
            {
                "median_ms": round(float(np.median(own)), 3),
                "p95_ms": round(float(np.percentile(own, 95)), 3),
                "run_medians_ms": [round(each, 3) for each in by_run],
            }
            for own, by_run in zip(times, medians, strict=True)
        ],
    }
    if len(networks) == 2:
        ratios = [first / second for first, second in zip(*medians, strict=True)]
        figures["ratio"] = round(statistics.median(ratios), 3)
        figures["ratio_range"] = [round(min(ratios), 3), round(max(ratios), 3)]
    return figures


def agreement(
    first: SearchlessPlayer[Any, Any],
    second: SearchlessPlayer[Any, Any],
    packed: NDArray[np.uint8],
    advance: Callable[[int], None] = lambda _positions: None,
) -> dict[str, Any]:
    """How the players' networks and the moves they choose differ over positions that are not over.

    Differences of outputs are taken over legal moves: of the policy's and
    Q's logits the largest, of the value the average in expected points. An
    output that only one of them has, or that is of another width in each, is
    left out; so is Q unless both have it.
    """
    players = (first, second)
    heads = [head for head in _COMPARED if all(head in player.network.heads for player in players)]
    positions, same_move, divergence = 0, 0, 0.0
    chosen, value = 0, 0.0
    largest: dict[str, float] = {}
    q_chance = []
    for start in range(0, len(packed), _TOGETHER):
        rows = packed[start : start + _TOGETHER]
        boards = [Board.from_packed(row.tobytes()) for row in rows]
        rows = rows[[board.outcome(claim=False) is None for board in boards]]
        boards = [board for board in boards if board.outcome(claim=False) is None]
        if not boards:
            continue
        ours, theirs = (player.network.evaluate(rows, heads) for player in players)
        alike = [head for head in heads if ours[head].shape == theirs[head].shape]
        for player, outputs in zip(players, (ours, theirs), strict=True):
            # Each has its moves where its own numbering puts them, and all in the order of their names.
            offsets, indices = player.network.legal_indices(rows)
            row_of = np.repeat(np.arange(len(rows)), np.diff(offsets))
            outputs |= {head: outputs[head][row_of, indices] for head in heads if head in ("policy", "q")}
        part = legal_fidelity(offsets, ours["policy"], theirs["policy"])
        positions += part.positions
        same_move += part.same_move
        divergence += part.divergence * part.positions
        for head in alike:
            difference = float(np.abs(ours[head] - theirs[head]).max())
            largest[head] = max(largest.get(head, 0.0), difference)
        values = [expected_score(outputs["value_bins"]) for outputs in (ours, theirs)]
        value += float(np.abs(values[0] - values[1]).sum())
        if "q" in heads:
            chances = [0.5 + 0.5 * np.tanh(outputs["q"] / 2) for outputs in (ours, theirs)]
            q_chance.append(np.abs(chances[0] - chances[1]))
        moves = [player.play_batch(boards, Limit()) for player in players]
        chosen += sum(one.move == other.move for one, other in zip(*moves, strict=True))
        advance(len(rows))
    if not positions:
        return {"positions": 0}
    return {
        "positions": positions,
        "same_choice": round(chosen / positions, 5),
        "same_choice_95": _rounded(wilson(chosen, positions)),
        "same_policy_move": round(same_move / positions, 5),
        "policy_divergence": round(divergence / positions, 7),
        "value_difference": round(value / positions, 6),
        **({"q_difference": round(float(np.concatenate(q_chance).mean()), 6)} if q_chance else {}),
        "largest_output_difference": {head: round(each, 5) for head, each in largest.items()},
    }


def _rounded(interval: list[float] | None) -> list[float] | None:
    return None if interval is None else [round(end, 5) for end in interval]
