"""One move of one mind, explained: the map, the pairs, the line, and sentences that were put to the test.

What comes back is plain data (`Explanation.shown`), from which the command
line's page, picture and JSON and the web page's heat are made alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.lens import claims
from tabiya.lens.attention import (
    ALL_PAIRS,
    Baseline,
    Cuts,
    PairMap,
    cut_each,
    head_map,
    likely_pairs,
    random_cuts,
)
from tabiya.lens.interface import SQUARES, AttentiveSubject, Finding, OwnReasons, Subject, look_into
from tabiya.lens.occlusion import Occlusion, occlude, rounded
from tabiya.lens.words import line_named
from tabiya.player import Decision, Limit, Player

Pairs: TypeAlias = Literal["likely", "all", "none"]
"""Which pairs of squares are cut: those among the heaviest, all 4,096, or none."""

MOST_SENTENCES = 5
ARROWS = 6
LINE = 5
"""Half-moves of the line."""
CANDIDATES = 5
DRAWS = 40
HEAVY_NETWORK, HEAVY_SEARCH = 8, 4
"""Pieces whose pairs are blanked together, where a question is cheap and where it is not."""

Tell = Callable[[str], None]
"""Is told what is being done."""


@dataclass
class Explanation:
    """All that was found."""

    mind: str
    board: Board
    decision: Decision
    occlusion: Occlusion
    line: list[str]
    sentences: list[Finding]
    dropped: int
    pairs: list[tuple[str, str, float]]
    pairs_how: str
    """What was done to a pair."""
    pair_map: PairMap | None = None
    baseline: Baseline | None = None
    baseline_together: dict[str, Any] | None = None
    heads: list[list[float | None]] = field(default_factory=list)
    """By layer, by head: the total variation if it gives nothing; empty where there is no attention."""
    own: OwnReasons = field(default_factory=OwnReasons)
    notes: list[str] = field(default_factory=list)
    blanked: str = "blanked"
    weighs: bool = True
    nearest: list[dict[str, Any]] = field(default_factory=list)
    """Examples of the cluster of patterns that the position belongs to, where there is a gallery."""

    @property
    def move(self) -> str:
        return self.occlusion.chosen

    @property
    def weights(self) -> dict[str, float]:
        """Of the squares that weigh anything."""
        return {square: shift.weight for square, shift in self.occlusion.squares.items() if shift.weight > 0}

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        heaviest = sorted(self.weights, key=lambda square: -self.weights[square])
        return {
            "mind": self.mind,
            "fen": self.board.fen(),
            "move": self.move,
            "san": self.board.san(self.move),
            "p": rounded(self.occlusion.p) if self.weighs else None,
            "expected": rounded(self.occlusion.expected),
            "squares": {square: rounded(self.weights[square]) for square in heaviest},
            "inputs": {part: shift.shown() for part, shift in self.occlusion.others.items()},
            "blanks": {part: shift.shown() for part, shift in self.occlusion.squares.items()},
            "pairs": [{"from": by, "to": at, "weight": rounded(weight)} for by, at, weight in self.pairs],
            "pairs_how": self.pairs_how,
            "baseline": None
            if self.baseline is None
            else {
                "random_pairs": self.baseline.draws,
                "mean": rounded(self.baseline.mean, 6),
                "high_95": rounded(self.baseline.high, 6),
                **(self.baseline_together or {}),
            },
            "heads": self.heads,
            "candidates": [
                {"move": each.move, "san": self.board.san(each.move), "p": each.p, "score": each.score}
                for each in self.decision.moves[:CANDIDATES]
                if self.board.is_legal(each.move)
            ],
            "line": self.line,
            "line_san": line_named(self.board, self.line),
            "claims": [finding.shown() for finding in self.sentences],
            "dropped": self.dropped,
            "own": {"kind": self.own.kind, "rows": list(self.own.rows)} if self.own.kind else None,
            "nearest": self.nearest,
            "notes": self.notes,
        }


def explain(
    player: Player,
    board: Board,
    limit: Limit | None = None,
    *,
    pairs: Pairs = "likely",
    renormalise: bool = True,
    layer: int | None = None,
    head: int | None = None,
    tell: Tell = lambda _what: None,
) -> Explanation:
    """Look into a mind's move; `layer` and `head`, from 1, say where attention is cut (everywhere)."""
    subject = look_into(player, board, limit)
    where = places(subject, layer, head)
    tell("occlusion")
    occlusion = occlude(subject)
    case = claims.Case(subject, occlusion)
    decision = subject.decide(board)
    notes = list(subject.notes)
    played = player.play(board, subject.limit) if subject.weighs and subject.notes else decision
    if played.move != occlusion.chosen:
        notes.append(f"as it is set, it plays {board.san(played.move)}")
    line = foreseen(subject, occlusion.chosen, decision)
    tell("its own reasons")
    own = subject.own_reasons(occlusion.chosen)
    made = Explanation(
        mind=player.name,
        board=board,
        decision=decision,
        occlusion=occlusion,
        line=line,
        sentences=[],
        dropped=0,
        pairs=[],
        pairs_how="",
        own=own,
        notes=notes,
        blanked=subject.blanked,
        weighs=subject.weighs,
    )
    looks: list[Finding] = []
    if isinstance(subject, AttentiveSubject) and pairs != "none":
        tell("pairs of squares")
        made.heads = [[rounded(each, 6) for each in row] for row in head_map(subject).tolist()]
        cuts = _look_at_pairs(made, subject, pairs, renormalise, where)
        made.pairs_how = f"attention from the first to the second square cut in {_named(layer, head)}, " + (
            "the other weights renormalised" if renormalise else "the other weights as they were"
        )
        assert made.baseline is not None
        looks = claims.looking(case, cuts, made.baseline, _named(layer, head))
    elif pairs != "none":
        tell("pairs of pieces")
        most = HEAVY_NETWORK if subject.weighs else HEAVY_SEARCH
        made.pairs = claims.together(case, most)[:ARROWS]
        made.pairs_how = f"both {subject.blanked}: what that does beyond the heavier of the two"
    tell("sentences")
    _choose(made, case, looks)
    return made


def places(subject: Subject, layer: int | None, head: int | None) -> NDArray[np.float32] | None:
    """1 for the layers and heads in which attention is cut; None for all of them."""
    if layer is None and head is None:
        return None
    if not isinstance(subject, AttentiveSubject):
        raise UserError(f"{subject.player.name} has no layers and heads of attention to choose from")
    for name, number, most in (("layer", layer, subject.layers), ("head", head, subject.heads)):
        if number is not None and not 1 <= number <= most:
            raise UserError(f"{subject.player.name} has {name}s 1 to {most}, not {number}")
    where = np.zeros((subject.layers, subject.heads), np.float32)
    rows = slice(None) if layer is None else slice(layer - 1, layer)
    columns = slice(None) if head is None else slice(head - 1, head)
    where[rows, columns] = 1.0
    return where


def _named(layer: int | None, head: int | None) -> str:
    if layer is None and head is None:
        return "all layers and heads"
    first = "all layers" if layer is None else f"layer {layer}"
    return f"{first}, {'all heads' if head is None else f'head {head}'}"


def foreseen(subject: Subject, chosen: str, decision: Decision) -> list[str]:
    """The line it seems to consider: the one it searched, or its own answers to its own moves."""
    line = list(decision.pv[:LINE]) if decision.move == chosen and len(decision.pv) > 1 else [chosen]
    walk = subject.board.copy()
    for move in line:
        if not walk.is_legal(move):
            return [chosen]
        walk.push(move)
    while len(line) < LINE and walk.outcome(claim=True) is None and len(decision.pv) <= 1:
        line.append(subject.decide(walk).move)
        walk.push(line[-1])
    return line


def _look_at_pairs(
    made: Explanation,
    subject: AttentiveSubject,
    pairs: Pairs,
    renormalise: bool,
    where: NDArray[np.float32] | None,
) -> Cuts:
    wanted = list(ALL_PAIRS) if pairs == "all" else likely_pairs(subject, renormalise=renormalise)
    cuts = cut_each(subject, [(pair,) for pair in wanted], where=where, renormalise=renormalise)
    tv: NDArray[np.float64] = np.full((64, 64), np.nan)
    odds: NDArray[np.float64] = np.full((64, 64), np.nan)
    for (by, at), shift, fall in zip(wanted, cuts.tv, cuts.log_odds, strict=True):
        tv[SQUARES.index(by), SQUARES.index(at)] = shift
        odds[SQUARES.index(by), SQUARES.index(at)] = fall
    made.pair_map = PairMap(tv, odds, renormalise)
    made.pairs = made.pair_map.strongest(ARROWS)
    made.baseline = random_cuts(subject, 1, DRAWS, where=where, renormalise=renormalise)
    arrows = [tuple((by, at) for by, at, _ in made.pairs)]
    strongest = cut_each(subject, arrows, where=where, renormalise=renormalise)
    random = random_cuts(subject, len(made.pairs), DRAWS, seed=1, where=where, renormalise=renormalise)
    made.baseline_together = {
        "strongest_together": rounded(float(strongest.tv[0]), 6),
        "random_together_mean": rounded(random.mean, 6),
        "random_together_high_95": rounded(random.high, 6),
    }
    without_self = [each for each in range(len(wanted)) if wanted[each][0] != wanted[each][1]]
    return Cuts(
        [cuts.sets[each] for each in without_self],
        cuts.tv[without_self],
        cuts.log_odds[without_self],
        [cuts.choices[each] for each in without_self],
    )


def _choose(made: Explanation, case: claims.Case, looks: Sequence[Finding]) -> None:
    """The sentences that are printed, what decides before what does not, and how many failed."""
    names = line_named(made.board, made.line)
    singles, own = claims.single_pieces(case), list(made.own.findings)
    groups: list[tuple[int, list[Finding]]] = [
        (2, singles),
        (2 if own and own[0].weight else 1, own),
        (1, claims.no_single_piece(case)),
        (1, list(looks)),
        (1, claims.later_squares(case, made.line, names)),
        (1, claims.calculation(case)),
        (1, claims.enough(case)),
        (1, claims.other_inputs(case)),
        (1, claims.outlook(case)),
    ]
    if not any(finding.holds for finding in groups[6][1]):
        groups.append((1, claims.idle(case)))
    groups.append((1, claims.passing(case)))
    chosen: list[Finding] = []
    for most, findings in groups:
        holding = [finding for finding in findings if finding.holds]
        made.dropped += len(findings) - len(holding)
        chosen += holding[:most]
    made.sentences = chosen[:MOST_SENTENCES]


def for_page(player: Player, board: Board) -> dict[str, Any]:
    """What the web page draws: as the JSON, the strongest pair with weight 1."""
    shown = explain(player, board).shown()
    strongest = max((pair["weight"] or 0.0 for pair in shown["pairs"]), default=0.0) or 1.0
    shown["pairs"] = [pair | {"weight": (pair["weight"] or 0.0) / strongest} for pair in shown["pairs"]]
    return shown
