"""The hypotheses about looking ahead, each answered by one rule: yes, no, or not decided.

The rule stands beside every answer. It asks for a gain in Elo at the largest
size, because that is where looking ahead should show; the other measures and
sizes stand beside it and decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tabiya.minds.transformer.lab.findings import ELO, LONG, MEASURES, SHORT, Findings
from tabiya.minds.transformer.lab.gains import Gain, average
from tabiya.minds.transformer.lab.plan import Size
from tabiya.minds.transformer.lab.variants import BASE, TWICE

LOOKING_AHEAD = ("masked", "flipped", "no-rights")
"""What is taken from the base in these is what it would need to look ahead."""
CERTAIN = 1000
"""Degrees of freedom where no seed has a part in a gain."""

Told = Callable[[Findings, Size, str], Gain | None]


@dataclass(frozen=True)
class Hypothesis:
    """A claim that some gain is above zero."""

    key: str
    claim: str
    gain: str
    """The gain in words."""
    needs: tuple[str, ...]
    """Kinds of networks without which there is nothing to say."""
    of: Told


def _over(better: str, worse: str) -> Told:
    return lambda findings, size, measure: findings.gain(size, better, worse, measure)


def _flip_costs_less(pieces: str) -> Told:
    def told(findings: Findings, size: Size, measure: str) -> Gain | None:
        with_13 = findings.gain(size, BASE, "flipped", measure)
        with_9 = findings.gain(size, pieces, f"{pieces}-flipped", measure)
        return None if with_13 is None or with_9 is None else with_13 - with_9

    return told


HYPOTHESES = (
    Hypothesis(
        "mask",
        "Learning which moves are illegal, instead of having them masked, makes it play better.",
        "base over masked",
        ("masked",),
        _over(BASE, "masked"),
    ),
    Hypothesis(
        "flip",
        "Seeing White and Black as they are plays better than a board turned to the mover.",
        "base over flipped",
        ("flipped",),
        _over(BASE, "flipped"),
    ),
    Hypothesis(
        "flip-9-added",
        "With 9 embeddings, kind and side added, turning the board costs less than with 13.",
        "(base over flipped) less (added over added-flipped)",
        ("flipped", "added", "added-flipped"),
        _flip_costs_less("added"),
    ),
    Hypothesis(
        "flip-9-separate",
        "With kind and side in tokens of their own, turning the board costs less than with 13 embeddings.",
        "(base over flipped) less (separate over separate-flipped)",
        ("flipped", "separate", "separate-flipped"),
        _flip_costs_less("separate"),
    ),
    Hypothesis(
        "rights",
        "Being asked for the castling and en passant rights after the move makes it play better.",
        "base over no-rights",
        ("no-rights",),
        _over(BASE, "no-rights"),
    ),
    Hypothesis(
        "refinement",
        "A second look at its own three best moves makes a network play better.",
        "the base looking twice over the base looking once",
        (),
        _over(TWICE, BASE),
    ),
    Hypothesis(
        "refinement-taught",
        "Having been taught to look twice, it plays better with one look too.",
        "base over no-refinement",
        ("no-refinement",),
        _over(BASE, "no-refinement"),
    ),
    Hypothesis(
        "feedback",
        "Feeding a later block's output back into an earlier one makes it play better.",
        "feedback over base",
        ("feedback",),
        _over("feedback", BASE),
    ),
    Hypothesis(
        "bias",
        "A bias for each pair of rows in attention makes it play better.",
        "base over no-bias",
        ("no-bias",),
        _over(BASE, "no-bias"),
    ),
    Hypothesis(
        "cls",
        "Moves read from CLS are at least as good as moves read from their squares.",
        "base over fromto",
        ("fromto",),
        _over(BASE, "fromto"),
    ),
)


def growth(findings: Findings, measure: str) -> Gain | None:
    """How much more the means of looking ahead are worth at the largest size than at the smallest."""
    if findings.largest == findings.smallest:
        return None
    ends = []
    for size in (findings.largest, findings.smallest):
        gains = [findings.gain(size, BASE, kind, measure) for kind in LOOKING_AHEAD if kind in findings.kinds]
        known = [gain for gain in gains if gain is not None]
        if not known or len(known) < len(gains):
            return None
        ends.append(average(known))
    return ends[0] - ends[1]


def depth(findings: Findings, size: Size) -> Gain | None:
    """How much more they are worth on puzzles with a long forced line than on short ones."""
    gains = [findings.by_length(size, BASE, kind) for kind in LOOKING_AHEAD if kind in findings.kinds]
    known = [gain for gain in gains if gain is not None]
    return average(known) if known and len(known) == len(gains) else None


def answer_all(findings: Findings) -> list[dict[str, Any]]:
    """Every hypothesis that these networks can speak of, with its answer and figures."""
    largest, found = findings.largest, []
    for each in HYPOTHESES:
        if not set(each.needs) <= findings.kinds:
            continue
        gains = {
            size.name: {
                measure: _told(findings, each.of(findings, size, measure), measure, each.key)
                for measure in MEASURES
            }
            for size in findings.lab.sizes
        }
        found.append(
            _answer(each.key, each.claim, each.gain, gains[largest.name][ELO], largest.name, ELO, gains)
        )
    if any(kind in findings.kinds for kind in LOOKING_AHEAD):
        pair = f"{findings.largest.name} less {findings.smallest.name}"
        grown = {measure: _told(findings, growth(findings, measure), measure) for measure in MEASURES}
        mean = " and ".join(kind for kind in LOOKING_AHEAD if kind in findings.kinds)
        found.append(
            _answer(
                "size",
                "What a network needs to look ahead is worth more, the larger it is.",
                f"base over {mean}, on average, at the largest size less the same at the smallest",
                grown[ELO],
                pair,
                ELO,
                {pair: grown},
            )
        )
        lines = {
            size.name: {"puzzles": _told(findings, depth(findings, size), "puzzles")}
            for size in findings.lab.sizes
        }
        found.append(
            _answer(
                "depth",
                "What a network needs to look ahead is worth more where the forced line is long.",
                f"base over {mean}, on average: puzzles of {LONG} and more moves less those of {SHORT}",
                lines[largest.name]["puzzles"],
                largest.name,
                "puzzles",
                lines,
            )
        )
    return found


def rule(findings: Findings) -> str:
    """How an answer is come by, in words."""
    measures = findings.lab.measures
    return (
        "yes: the 95 % interval of the gain lies above 0. no: it lies below 0, or no further from 0 than "
        f"{measures.negligible_elo:g} Elo ({100 * measures.negligible_share:g} points of puzzles). Otherwise "
        f"not decided. The gain is that in Elo at {findings.largest.name} (of the last one in puzzles); its "
        "interval holds the games' or questions' error and the luck of a seed, which the bases' seeds tell."
    )


def _told(findings: Findings, gain: Gain | None, measure: str, key: str = "") -> dict[str, Any]:
    """A gain with its interval and what it says by itself."""
    freedom = CERTAIN if key == "refinement" else findings.noise[measure].freedom
    if gain is None:
        return {"gain": None, "gain_95": [None, None], "says": "not decided", "why": "it was not measured"}
    if freedom < 1:
        why = "the base has one seed, so its luck is not known"
        return {"gain": gain.value, "gain_95": [None, None], "says": "not decided", "why": why}
    low, high = gain.ends(freedom)
    measures = findings.lab.measures
    small = measures.negligible_elo if measure == ELO else measures.negligible_share
    says, why = "not decided", "the interval holds 0 and gains that would matter"
    if low > 0:
        says, why = "yes", "the interval lies above 0"
    elif high < 0:
        says, why = "no", "the interval lies below 0: the opposite holds"
    elif -small <= low and high <= small:
        says, why = "no", "the interval holds nothing that would matter"
    return {"gain": gain.value, "gain_95": [low, high], "says": says, "why": why}


def _answer(
    key: str, claim: str, gain: str, told: dict[str, Any], where: str, by: str, gains: dict[str, Any]
) -> dict[str, Any]:
    return {
        "key": key,
        "claim": claim,
        "gain": gain,
        "answer": told["says"],
        "why": told["why"],
        "by": by,
        "at": where,
        "gains": gains,
    }
