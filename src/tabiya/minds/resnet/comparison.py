"""Two networks side by side: how long a pass takes, and how far their answers differ.

Latency is measured on single positions, as a game asks for them. The two
networks take turns on every position, so that whatever else the machine does
hurts both alike and their ratio stays honest where the milliseconds do not.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board, legal_indices
from tabiya.arena.evaluation import wilson
from tabiya.learn.fidelity import policy_fidelity
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.resnet.player import ResNetPlayer
from tabiya.player import Limit
from tabiya.protocols.onnx_session import expected_score

HEADS = ("policy", "wdl", "value_bins")
"""What one decision of the player asks the network for."""

WARM_UP = 20
"""Passes of each network before any clock starts."""

_TOGETHER = 128


def latency(
    networks: Sequence[OnnxNetwork],
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
    first: ResNetPlayer,
    second: ResNetPlayer,
    packed: NDArray[np.uint8],
    advance: Callable[[int], None] = lambda _positions: None,
) -> dict[str, Any]:
    """How the players' networks and the moves they choose differ over positions that are not over.

    Differences of outputs are taken over legal moves: of the policy's and
    Q's logits the largest, of the value the average in expected points.
    """
    fidelity = {"positions": 0, "same_move": 0, "divergence": 0.0}
    chosen, largest = 0, {"policy": 0.0, "q": 0.0, "wdl": 0.0, "value_bins": 0.0}
    value, q_chance = 0.0, []
    for start in range(0, len(packed), _TOGETHER):
        rows = packed[start : start + _TOGETHER]
        boards = [Board.from_packed(row.tobytes()) for row in rows]
        rows = rows[[board.outcome(claim=False) is None for board in boards]]
        boards = [board for board in boards if board.outcome(claim=False) is None]
        if not boards:
            continue
        ours, theirs = (player.network.evaluate(rows, list(largest)) for player in (first, second))
        part = policy_fidelity(rows, ours["policy"], theirs["policy"])
        fidelity["positions"] += part.positions
        fidelity["same_move"] += part.same_move
        fidelity["divergence"] += part.divergence * part.positions
        offsets, indices = legal_indices(rows, "planes", "mover")
        row_of = np.repeat(np.arange(len(rows)), np.diff(offsets))
        for head in largest:
            places = (row_of, indices) if head in ("policy", "q") else ()
            difference = np.abs(ours[head] - theirs[head])[places]
            largest[head] = max(largest[head], float(difference.max()))
        values = [expected_score(outputs["value_bins"]) for outputs in (ours, theirs)]
        value += float(np.abs(values[0] - values[1]).sum())
        chances = [0.5 + 0.5 * np.tanh(outputs["q"][row_of, indices] / 2) for outputs in (ours, theirs)]
        q_chance.append(np.abs(chances[0] - chances[1]))
        moves = [player.play_batch(boards, Limit()) for player in (first, second)]
        chosen += sum(one.move == other.move for one, other in zip(*moves, strict=True))
        advance(len(rows))
    positions = int(fidelity["positions"])
    if not positions:
        return {"positions": 0}
    return {
        "positions": positions,
        "same_choice": round(chosen / positions, 5),
        "same_choice_95": _rounded(wilson(chosen, positions)),
        "same_policy_move": round(fidelity["same_move"] / positions, 5),
        "policy_divergence": round(fidelity["divergence"] / positions, 7),
        "value_difference": round(value / positions, 6),
        "q_difference": round(float(np.concatenate(q_chance).mean()), 6),
        "largest_output_difference": {head: round(each, 5) for head, each in largest.items()},
    }


def _rounded(interval: list[float] | None) -> list[float] | None:
    return None if interval is None else [round(end, 5) for end in interval]
