"""What each experiment compares: a table of networks that differ in one thing, and their training runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tabiya.errors import UserError
from tabiya.learn.lab.comparison import Comparison, refuse_no_comparison, refuse_unknown
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.loss import Method, NnueLoss
from tabiya.minds.nnue.network import NnueShape
from tabiya.minds.nnue.sources import NnueSource
from tabiya.minds.nnue.training import NnueTraining


@dataclass(frozen=True)
class Choice:
    """Features that only the data can name: the best of all pairs of pieces, beside every piece."""

    by: Literal["frequency", "use"]
    count: int


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One network of an experiment."""

    name: str
    title: str
    """What it is, for the table."""
    shape: NnueShape
    method: Method = "evaluations"
    after: str | None = None
    """The network whose weights it begins with."""
    choice: Choice | None = None
    """Replaces the shape's features once it is made."""


# name: (question, baseline, {network: (features, what it is)})
_SETS: dict[str, tuple[str, str, dict[str, tuple[str, str]]]] = {
    "axes": (
        "Do features along files, ranks and diagonals help a network to see?",
        "hv",
        {
            "material": ("ROLE*COLOR", "which pieces there are, and nothing of where"),
            "h": ("H", "files alone: nothing vertical"),
            "v": ("V", "ranks alone: nothing horizontal"),
            "h-v": ("H+V", "files and ranks apart"),
            "d1-d2": ("D1+D2", "both diagonals apart"),
            "h-v-d1-d2": ("H+V+D1+D2", "all four axes apart"),
            "hv": ("HV", "every piece on its square"),
            "hv-h-v": ("HV+H+V", "squares, files and ranks"),
            "hv-d1-d2": ("HV+D1+D2", "squares and diagonals"),
            "hv-h-v-d1-d2": ("HV+H+V+D1+D2", "squares and all four axes"),
        },
    ),
    "pairs": (
        "Does it help to be told which pieces are neighbours along a rank or a file?",
        "hv",
        {
            "hv": ("HV", "every piece on its square"),
            "hv-ph": ("HV+PH", "and neighbours along each rank"),
            "hv-pv": ("HV+PV", "and neighbours along each file"),
            "hv-ph-pv": ("HV+PH+PV", "and both"),
        },
    ),
    "mobility": (
        "Does it help to be told where pieces can go?",
        "all",
        {
            "all": ("ALL", "every piece on its square"),
            "bits": ("ALL+MOBILITY-BITS", "and the squares that each kind of piece can go to"),
            "counts": ("ALL+MOBILITY-COUNTS", "and how many such squares"),
            "both": ("ALL+MOBILITY-BITS+MOBILITY-COUNTS", "and both"),
        },
    ),
    "attacks": (
        "Does it help to be told what pieces attack?",
        "all",
        {
            "all": ("ALL", "every piece on its square"),
            "bits": ("ALL+ATTACK-BITS", "and the squares that each kind of piece attacks or defends"),
            "counts": ("ALL+ATTACK-COUNTS", "and how many such squares"),
            "both": ("ALL+ATTACK-BITS+ATTACK-COUNTS", "and both"),
        },
    ),
    "symmetry": (
        "What do the board's symmetries, and the own king's place, give a network?",
        "all",
        {
            "all": ("ALL", "every piece on its square"),
            "mirror-h": ("MIRROR-H", "turned so that the own king is on files e to h"),
            "mirror-v": ("MIRROR-V", "turned so that the own king is on ranks 1 to 4"),
            "mirror-hv": ("MIRROR-HV", "both"),
            "symmetric-h": ("SYMMETRIC-H", "a file and its mirror image are one"),
            "symmetric-v": ("SYMMETRIC-V", "a rank and its mirror image are one"),
            "symmetric-hv": ("SYMMETRIC-HV", "both"),
            "relative-h": ("RELATIVE-H", "files counted from the own king"),
            "relative-v": ("RELATIVE-V", "ranks counted from the own king"),
            "relative-hv": ("RELATIVE-HV", "both"),
            "buckets-4": ("KING-BUCKETS-4", "for each of 4 regions of the own king"),
            "buckets-8": ("KING-BUCKETS-8", "for each of 8 regions"),
            "king-mirrored": ("KING-MIRRORED", "for each of 32 squares of the own king, mirrored"),
            "kp": ("KP", "for each square of the own king, the kings themselves left out"),
            "king-all": ("KING-ALL", "for each square of the own king"),
        },
    ),
    "piece-move": (
        "Does it help to be told every move of every piece?",
        "all",
        {
            "all": ("ALL", "every piece on its square"),
            "moves": ("PIECE-MOVE", "every piece with every square it can go to"),
            "all-moves": ("ALL+PIECE-MOVE", "both"),
        },
    ),
    "neurons": (
        "Which neurons does a network not use, and how many features are active?",
        "all",
        {
            "h-v": ("H+V", "files and ranks apart"),
            "all": ("ALL", "every piece on its square"),
            "hv-h-v": ("HV+H+V", "squares, files and ranks"),
            "mobility": ("ALL+MOBILITY-COUNTS", "squares and mobility"),
            "attacks": ("ALL+ATTACK-BITS", "squares and attacked squares"),
            "relative": ("RELATIVE-HV", "counted from the own king"),
            "buckets": ("KING-BUCKETS-8", "for each of 8 regions of the own king"),
            "king-all": ("KING-ALL", "for each square of the own king"),
        },
    ),
}


def comparison(lab: Lab) -> Comparison[Variant]:
    """What a lab's experiment compares, as far as its config wants it."""
    question, baseline, variants = _all_of(lab)
    own = [
        Variant(name=one.name, title=one.features, shape=_sized(lab, one.features, one.l1, one.l2, one.extra))
        for one in lab.added
    ]
    names = [variant.name for variant in (*variants, *own)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise UserError(f"two networks of {lab.experiment} are called {twice.pop()!r}")
    refuse_unknown(lab.experiment, lab.variants, names)
    kept = tuple(each for each in (*variants, *own) if each.name in (lab.variants or names))
    refuse_no_comparison(lab.experiment, [each.name for each in kept], baseline, lab.measures.anchors)
    for variant in kept:
        if variant.after is not None and variant.after not in [each.name for each in kept]:
            raise UserError(f"{variant.name} begins with {variant.after!r}, which this config leaves out")
    return Comparison(question=question, variants=kept, baseline=baseline)


def names_of(lab: Lab) -> list[str]:
    """The networks that a lab's experiment compares."""
    return comparison(lab).names


def _all_of(lab: Lab) -> tuple[str, str, list[Variant]]:
    if lab.experiment == "nnue-sweep":
        return _sweep(lab)
    if lab.experiment == "statistical":
        return _statistical(lab)
    if lab.experiment == "pqr":
        return _pqr(lab)
    question, baseline, sets = _SETS[lab.experiment]
    return (
        question,
        baseline,
        [
            Variant(name=name, title=title, shape=_sized(lab, features))
            for name, (features, title) in sets.items()
        ],
    )


def _sized(
    lab: Lab, features: str, l1: int | None = None, l2: int | None = None, extra: int | None = None
) -> NnueShape:
    usual = lab.budget.shape
    return replace(
        usual,
        features=features,
        l1=l1 or usual.l1,
        l2=l2 or usual.l2,
        extra=usual.extra if extra is None else extra,
    )


def _sweep(lab: Lab) -> tuple[str, str, list[Variant]]:
    usual, grid = lab.budget.shape, lab.grid
    shapes = [(l1, l2, 0) for l1 in grid.l1 for l2 in grid.l2]
    shapes += [(usual.l1, l2, extra) for l2 in grid.l2 if l2 <= usual.l2 for extra in grid.extra]
    if (usual.l1, usual.l2, 0) not in shapes:
        raise UserError(
            f"the grid lacks the budget's own shape, L1 {usual.l1} and L2 {usual.l2}, "
            "which the others are told from"
        )
    variants = [
        Variant(
            name=f"{l1}x{l2}" + (f"x{extra}" if extra else ""),
            title=f"L1 {l1}, L2 {l2}" + (f", then {extra}" if extra else ""),
            shape=replace(usual, l1=l1, l2=l2, extra=extra),
        )
        for l1, l2, extra in dict.fromkeys(shapes)
    ]
    return "Which sizes of the layers are worth their time?", f"{usual.l1}x{usual.l2}", variants


def _statistical(lab: Lab) -> tuple[str, str, list[Variant]]:
    variants = [Variant(name="all", title="every piece on its square", shape=_sized(lab, "ALL"))]
    for count in lab.statistics.counts:
        ways = (
            ("frequent", "that are most frequent", Choice("frequency", count)),
            ("used", "that a network of all pairs uses most", Choice("use", count)),
        )
        for word, which, choice in ways:
            title, shape = f"and the {count:,} pairs of pieces {which}", _sized(lab, "ALL")
            variants.append(Variant(name=f"{word}-{count}", title=title, shape=shape, choice=choice))
    return "Which pairs of pieces are worth a feature: the frequent or the used?", "all", variants


def _pqr(lab: Lab) -> tuple[str, str, list[Variant]]:
    shape = lab.budget.shape
    table: list[tuple[str, str, Method, str | None]] = [
        ("evaluations", "taught by evaluations", "evaluations", None),
        ("pqr", "taught that played moves are better than random ones", "pqr", None),
        ("triplet", "the same by distances, which know no sign", "triplet", None),
        ("signed-triplet", "by distances, a random move never above", "signed-triplet", None),
        ("tuned-pqr", "taught by evaluations, then tuned by PQR", "pqr", "evaluations"),
        ("tuned-triplet", "taught by evaluations, then tuned by distances", "triplet", "evaluations"),
    ]
    variants = [
        Variant(name=name, title=title, shape=shape, method=method, after=after)
        for name, title, method, after in table
    ]
    return "How far do played moves teach without a teacher?", "evaluations", variants


def loss_of(variant: Variant, lab: Lab) -> NnueLoss:
    """The loss a variant is taught with."""
    return replace(lab.budget.loss, method=variant.method)


def sources_of(variant: Variant, lab: Lab) -> tuple[NnueSource, ...]:
    """What a variant learns from."""
    return lab.data.sources if variant.method == "evaluations" else lab.data.played


def training_of(
    variant: Variant, lab: Lab, shape: NnueShape | None = None, start_from: str | None = None
) -> NnueTraining:
    """The training run of a variant, with the lab's budget; `shape` where the variant's own was a choice."""
    budget, tuned = lab.budget, variant.after is not None
    steps = max(1, round(budget.steps * lab.tuning.steps_share)) if tuned else budget.steps
    point = max(1, steps // budget.curve_points)
    return NnueTraining(
        sources=sources_of(variant, lab),
        steps=steps,
        batch=budget.batch,
        shape=shape or variant.shape,
        loss=loss_of(variant, lab),
        peak_rate=budget.peak_rate * (lab.tuning.rate_share if tuned else 1.0),
        final_fraction=budget.final_fraction,
        warmup_steps=budget.warmup_steps,
        ema_decay=budget.ema_decay,
        seed=budget.seed,
        start_from=start_from,
        device=budget.device,
        bf16=budget.bf16,
        compile=budget.compile,
        keep_data=budget.keep_data,
        report_steps=point,
        validate_steps=point,
        checkpoint_steps=budget.checkpoint_steps,
        keep=1,
    )
