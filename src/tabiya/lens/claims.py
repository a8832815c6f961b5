"""Sentences about a move, each put to the test by the intervention that stands beside it.

Every function here proposes sentences from what was measured and says of each
whether its test bore it out. What does not hold is not printed; it is counted.
Nothing here knows a fork from a pin: a sentence says what was changed and what
became of the move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabiya._core import Board
from tabiya.lens.attention import Baseline, Cuts
from tabiya.lens.interface import SQUARES, Finding, Subject
from tabiya.lens.occlusion import Occlusion, Shift, shifts
from tabiya.lens.removal import expected_score, without
from tabiya.lens.words import move_named, part_named, parts_named, percent
from tabiya.player import Limit

PROPOSED = 4
"""Single pieces that are proposed as reasons: those that weigh most."""
KEPT = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
"""How many of the heaviest pieces are left when all others are blanked together."""
DEPTHS = (1, 2, 3, 4, 5, 6)
RARE = 0.95
"""A square stands out if it weighs more than this share of those it is compared with."""
LEAST = 0.01
"""The least weight that counts as a change: below it, moves that were level change places."""
SECONDS = 1.0
"""Of a search limited in depth, after which no deeper one is tried."""
OUTLOOK = 0.05
"""A change of expected score that is worth a sentence."""


@dataclass(frozen=True)
class Case:
    """What the sentences are about."""

    subject: Subject
    occlusion: Occlusion

    @property
    def board(self) -> Board:
        return self.subject.board

    @property
    def move(self) -> str:
        return self.board.san(self.occlusion.chosen)

    @property
    def pieces(self) -> list[Shift]:
        """The blanked pieces, the heaviest first, without the one that moves."""
        own = self.occlusion.chosen[:2]
        found = [
            shift
            for square, shift in self.occlusion.squares.items()
            if square != own and self.board.piece_at(square) is not None
        ]
        return sorted(found, key=lambda shift: -shift.weight)

    def named(self, choice: str, parts: Sequence[str] = ()) -> str:
        """A move by name, also one that exists only without some parts."""
        return move_named(self.board, choice, without(self.board, [p for p in parts if p in SQUARES]))

    def changed(self, shift: Shift) -> bool:
        """Whether it now plays something else, and not only because two moves were level."""
        return shift.choice not in (None, self.occlusion.chosen) and shift.weight >= LEAST

    def fall(self, shift: Shift) -> str:
        """What became of the old move, in figures."""
        if self.subject.weighs:
            return f"{self.move} from {percent(self.occlusion.p)} to {percent(shift.p)}"
        if math.isnan(shift.expected) or math.isnan(self.occlusion.expected):
            return ""
        lost = f"{self.move} then loses {percent(shift.weight)}, " if shift.weight > 0 else ""
        scores = percent(self.occlusion.expected), percent(shift.expected)
        return f"{lost}expected score {scores[0]}" + ("" if scores[0] == scores[1] else f", then {scores[1]}")


def single_pieces(case: Case) -> list[Finding]:
    """One piece away, another move: proposed for the pieces that weigh most."""
    word, found = case.subject.blanked, []
    for shift in case.pieces[:PROPOSED]:
        name = part_named(case.board, shift.parts[0])
        changed = case.changed(shift)
        instead = case.named(shift.choice, shift.parts) if shift.choice else "nothing"
        figures = case.fall(shift)
        beside = f"{name.removeprefix('the ')} {word}" + (f": {figures}" if figures else "")
        text = f"With {name} {word}, it plays {instead} instead of {case.move}."
        found.append(Finding(text, beside + _really_gone(case, shift), changed, shift.weight, shift.parts))
    return found


def _really_gone(case: Case, shift: Shift) -> str:
    """For a mind whose input was blanked: what it does if the piece is not there at all."""
    if not case.subject.weighs:
        return ""
    board = without(case.board, shift.parts)
    if board is None:
        return ""
    decision = case.subject.decide(board)
    same = "too" if decision.move == shift.choice else "then"
    return f"; taken from the board, it plays {board.san(decision.move)} {same}"


def no_single_piece(case: Case) -> list[Finding]:
    """That nothing alone decides, where that is so."""
    asked = [shift for shift in case.pieces if shift.choice is not None]
    if len(asked) < 2 or any(shift.choice != case.occlusion.chosen for shift in asked):
        return []
    closest = asked[0]
    figures = case.fall(closest)
    text = f"No single piece decides: whichever is {case.subject.blanked}, {case.move} stands"
    if case.subject.weighs and closest.weight > 0:
        text += f"; {part_named(case.board, closest.parts[0])} weighs most"
    beside = f"each of {len(asked)} pieces {case.subject.blanked} in turn"
    return [Finding(f"{text}.", beside + (f"; at most {figures}" if figures else ""), True, 0.0)]


def other_inputs(case: Case) -> list[Finding]:
    """Rights, counters and the turn, where blanking one changes the move."""
    found = []
    for part, shift in case.occlusion.others.items():
        if part == "CLS" or part.startswith("slot") or not case.changed(shift):
            continue
        name = part_named(case.board, part)
        text = f"With {name} {case.subject.blanked}, it plays {case.named(str(shift.choice))} instead."
        beside = f"{name.removeprefix('the ')} {case.subject.blanked}"
        figures = case.fall(shift)
        found.append(Finding(text, f"{beside}: {figures}" if figures else beside, True, shift.weight, ()))
    return sorted(found, key=lambda finding: -finding.weight)[:1]


def enough(case: Case) -> list[Finding]:
    """The fewest of the heaviest pieces with which it still plays the move, all others gone."""
    own = case.occlusion.chosen[:2]
    order = [shift.parts[0] for shift in case.pieces]
    kings = [square for square in (own, *order) if (case.board.piece_at(square) or "") in "Kk"]
    if not case.subject.weighs:
        order = [square for square in order if square not in kings]
    counts = [count for count in KEPT if count < len(order)]
    sets = [tuple(order[count:]) for count in counts]
    if not sets:
        return []
    answers = case.subject.blank(sets)
    for count, gone, choice in zip(counts, sets, answers.choices, strict=True):
        if choice != case.occlusion.chosen:
            continue
        kept = [square for square in (own, *order[:count]) if case.subject.weighs or square not in kings]
        text = (
            f"Little else matters: with only {parts_named(case.board, kept)} left"
            f"{'' if case.subject.weighs else ', and the kings,'} it still plays {case.move}."
        )
        holds = 2 * len(gone) >= len(order) and len(gone) > 1 and 0 < len(kept) <= 6
        return [Finding(text, f"{len(gone)} other pieces {case.subject.blanked} together", holds, len(gone))]
    return [Finding("", "", False)]


def idle(case: Case) -> list[Finding]:
    """As many of the lightest pieces as can be missing together without another move."""
    kings = () if case.subject.weighs else ("K", "k")
    order = [
        shift.parts[0]
        for shift in reversed(case.pieces)
        if shift.choice is not None and case.board.piece_at(shift.parts[0]) not in kings
    ]
    sets = [tuple(order[:count]) for count in (8, 6, 4, 3, 2) if count <= len(order)]
    if not sets:
        return []
    answers = case.subject.blank(sets)
    for gone, choice in zip(sets, answers.choices, strict=True):
        if choice == case.occlusion.chosen:
            text = f"It does not care for {parts_named(case.board, gone)}: without them {case.move} stands."
            return [Finding(text, f"these {len(gone)} {case.subject.blanked} together", True, len(gone))]
    return [Finding("", "", False)]


def outlook(case: Case) -> list[Finding]:
    """The piece that its expected score hangs on most."""
    known = [shift for shift in case.pieces if math.isfinite(shift.expected)]
    if not known or math.isnan(case.occlusion.expected):
        return []
    most = max(known, key=lambda shift: abs(shift.expected - case.occlusion.expected))
    name, change = part_named(case.board, most.parts[0]), most.expected - case.occlusion.expected
    text = (
        f"Its outlook {'hangs on' if change < 0 else 'suffers from'} {name}: without it, its expected score "
        f"is {percent(most.expected)}, not {percent(case.occlusion.expected)}."
    )
    beside = f"{name.removeprefix('the ')} {case.subject.blanked}"
    return [Finding(text, beside, abs(change) >= OUTLOOK, abs(change), most.parts)]


def passing(case: Case) -> list[Finding]:
    """Whether it can wait: the move is passed, and the same mind answers for the other side."""
    fields = case.board.fen().split()
    fields[1], fields[3] = "b" if fields[1] == "w" else "w", "-"
    if case.board.is_check or math.isnan(case.occlusion.expected):
        return []
    try:
        passed = Board(" ".join(fields))
    except ValueError:
        return []
    if not passed.legal_moves():
        return []
    answer = case.subject.decide(passed)
    left = 1.0 - expected_score(answer)
    if math.isnan(left):
        return []
    scores = f"{percent(left)}, not {percent(case.occlusion.expected)}"
    if case.occlusion.expected - left >= OUTLOOK:
        text = (
            f"It cannot wait: {passed.san(answer.move)} would come, and its expected score would be {scores}."
        )
    else:
        text = f"It is in no hurry: if it passed, {passed.san(answer.move)} would come and cost it little."
    return [Finding(text, f"the move passed; expected score {percent(left)}", True, 0.0)]


def looking(case: Case, cuts: Cuts, baseline: Baseline, where: str) -> list[Finding]:
    """The pair of squares whose cut changes most, beside random pairs.

    It was chosen among many, so it has to change more than every random one, and enough to matter.
    """
    order = cuts.order()
    if not order:
        return []
    best = order[0]
    by, at = cuts.sets[best][0]
    tv, below = float(cuts.tv[best]), baseline.below(float(cuts.tv[best]))
    changed = cuts.choices[best]
    then = (
        f"it plays {case.board.san(changed)} instead"
        if changed is not None and changed != case.occlusion.chosen
        else f"{percent(tv)} of its policy moves elsewhere"
    )
    text = f"It looks from {by} at {at}: kept from that, {then}."
    beside = (
        f"attention from {by} to {at} cut in {where}; {below} of {baseline.draws} random pairs change less"
    )
    holds = below == baseline.draws and tv >= LEAST
    return [Finding(text, beside, holds, tv, (by, at))]


def later_squares(case: Case, line: Sequence[str], names: Sequence[str]) -> list[Finding]:
    """Whether the square where a later move of its own would land weighs more than others do.

    Only for a mind whose empty squares can be blanked, and only for a
    square that the first two moves do not touch.
    """
    if len(line) < 3 or not case.subject.weighs:
        return []
    touched = {line[0][:2], line[0][2:4], line[1][:2], line[1][2:4]}
    target = line[2][2:4]
    squares = case.occlusion.squares
    if target in touched or target not in squares:
        return []
    empty = case.board.piece_at(target) is None
    others = [
        shift.weight
        for square, shift in squares.items()
        if square != target and square not in touched and (case.board.piece_at(square) is None) == empty
    ]
    if len(others) < 8:
        return []
    weight = squares[target].weight
    below = sum(each < weight for each in others)
    text = (
        f"It seems to think of {' '.join(names[:3])}: {target}, where the third move lands, weighs more than "
        f"{below} of {len(others)} other {'empty squares' if empty else 'pieces'}."
    )
    figures = f"total variation {weight:.3f}, the others' mean {np.mean(others):.3f}"
    beside = f"{target} {case.subject.blanked}: {figures}"
    return [Finding(text, beside, below >= RARE * len(others), weight, (target,))]


def calculation(case: Case) -> list[Finding]:
    """How far a mind that searches must look to find the move."""
    subject = case.subject
    if subject.weighs or subject.decide(case.board).depth is None:
        return []
    limited = replace(subject, limit=Limit(depth=1), notes=[])
    plays: list[str] = []
    for depth in DEPTHS:
        limited.limit = Limit(depth=depth)
        decision = limited.decide(case.board)
        plays.append(decision.move)
        if decision.seconds > SECONDS:
            break
    needed = len(plays)
    while needed > 0 and plays[needed - 1] == case.occlusion.chosen:
        needed -= 1
    beside = f"its search limited to {DEPTHS[0]} … {DEPTHS[len(plays) - 1]} plies"
    if needed == 0:
        return [Finding(f"It needs no calculation: already at one ply it plays {case.move}.", beside, True)]
    first = case.board.san(plays[needed - 1])
    short = "one ply" if needed == 1 else f"{DEPTHS[needed - 1]} plies"
    text = f"It has to calculate: looking {short} ahead it plays {first}, further ahead {case.move}."
    return [Finding(text, beside, needed < len(plays), float(needed))]


def together(case: Case, most: int) -> list[tuple[str, str, float]]:
    """Pairs of pieces that matter as a pair: what blanking both does beyond the heavier of the two."""
    heavy = [shift for shift in case.pieces if shift.choice is not None][:most]
    pairs = [(first, second) for at, first in enumerate(heavy) for second in heavy[at + 1 :]]
    if not pairs:
        return []
    sets = [(first.parts[0], second.parts[0]) for first, second in pairs]
    found = shifts(case.subject.blank([()]), case.subject.blank(sets), list(sets), case.subject.weighs)
    weighed = [
        (parts[0], parts[1], shift.weight - max(first.weight, second.weight))
        for (first, second), parts, shift in zip(pairs, sets, found, strict=True)
        if shift.choice is not None
    ]
    return sorted((each for each in weighed if each[2] > 0), key=lambda each: -each[2])
