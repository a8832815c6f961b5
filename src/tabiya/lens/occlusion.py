"""Each part blanked in turn, and how far the mind's opinion shifts.

Three measures of a shift: the total variation between the two policies, the
fall of the chosen move's log-odds, and the move chosen instead. A mind that
only chooses has no policy; for it a part weighs as much as its old move is
worse than the new one once the part is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.lens.interface import SQUARES, Answers, Subject

LEAST = 1e-9


@dataclass(frozen=True)
class Shift:
    """What blanking one part (or several together) did."""

    parts: tuple[str, ...]
    weight: float
    """In [0, 1]: the total variation; of a mind that only chooses, its regret. 0 where it is unknown."""
    tv: float
    log_odds: float | None
    """How far the chosen move's log-odds fell; None of a mind that only chooses."""
    choice: str | None
    """The move now chosen; None where nothing could be asked."""
    p: float
    """Of the move chosen before."""
    expected: float

    def shown(self) -> dict[str, Any]:
        return {
            "parts": list(self.parts),
            "weight": rounded(self.weight),
            "tv": rounded(self.tv),
            "log_odds": rounded(self.log_odds),
            "choice": self.choice,
            "p": rounded(self.p),
            "expected": rounded(self.expected),
        }


def rounded(value: float | None, digits: int = 4) -> float | None:
    """For JSON, which knows no infinity and no missing number."""
    return None if value is None or not math.isfinite(value) else round(value, digits)


def total_variation(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the sum of differences along the last axis, what lies outside the legal moves included."""
    outside = np.abs(q.sum(-1) - p.sum(-1))
    return np.asarray((np.abs(p - q).sum(-1) + outside) / 2)


def log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    inside = np.clip(p, LEAST, 1 - LEAST)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def shifts(whole: Answers, changed: Answers, parts: list[tuple[str, ...]], weighs: bool) -> list[Shift]:
    """One shift for each changed answer; `whole` has the one answer to the untouched position."""
    chosen = whole.choices[0]
    assert chosen is not None
    column = whole.moves.index(chosen)
    tv = total_variation(whole.p[0], changed.p)
    odds = log_odds(whole.p[0, column]) - log_odds(changed.p[:, column])
    weight = tv if changed.regret is None else changed.regret
    weight = np.nan_to_num(np.where(np.isfinite(tv), weight, 0.0))
    return [
        Shift(
            parts=each,
            weight=float(weight[row]),
            tv=float(tv[row]),
            log_odds=float(odds[row]) if weighs else None,
            choice=changed.choices[row],
            p=float(changed.p[row, column]),
            expected=float(changed.expected[row]),
        )
        for row, each in enumerate(parts)
    ]


@dataclass(frozen=True)
class Occlusion:
    """Every part's shift."""

    chosen: str
    p: float
    """Of the chosen move on the whole board; 1 of a mind that only chooses."""
    expected: float
    parts: dict[str, Shift]

    @property
    def squares(self) -> dict[str, Shift]:
        return {part: shift for part, shift in self.parts.items() if part in SQUARES}

    @property
    def others(self) -> dict[str, Shift]:
        """Turn, rights, counters and whatever else the mind reads."""
        return {part: shift for part, shift in self.parts.items() if part not in SQUARES}

    def map(self) -> NDArray[np.float64]:
        """[8, 8], rank 1 first: the squares' weights; 0 where nothing could be asked."""
        weights = [self.parts[square].weight if square in self.parts else 0.0 for square in SQUARES]
        return np.array(weights).reshape(8, 8)


def occlude(subject: Subject) -> Occlusion:
    """Blank each of the subject's parts in turn; all are one batch where the mind can do that."""
    whole = subject.blank([()])
    names: list[tuple[str, ...]] = [(part,) for part in subject.parts]
    found = shifts(whole, subject.blank(names), names, subject.weighs) if names else []
    chosen = whole.choices[0]
    assert chosen is not None
    return Occlusion(
        chosen,
        float(whole.p[0, whole.moves.index(chosen)]),
        float(whole.expected[0]),
        {shift.parts[0]: shift for shift in found},
    )
