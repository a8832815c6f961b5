"""What an experiment compares: recipes that differ in one thing, and the training run each stands for.

A recipe says which of the ingredients a network gets. The full recipe has all
that the data allow; an ablation takes one away, the progression begins with
nothing and adds them in turn, the data table gives them all, but less of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from tabiya.learn.feed import Source
from tabiya.learn.lab.comparison import Comparison, refuse_no_comparison, refuse_unknown
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.training import ResNetTraining


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Which ingredients a network gets."""

    trained: bool = True
    """False: the weights it was born with."""
    weighted: bool = True
    """Games count by their tier."""
    values: bool = True
    """The teacher's value of game positions, where there is one."""
    labels: bool = True
    """Positions with every move scored by the teacher: their best move, and the value of it."""
    q: bool = True
    """The Q of every labelled move as a target of its own."""
    soft: bool = True
    """The policy's target spread over the moves by their Q; False: the best move alone."""
    successors: bool = True
    """The labelled moves' outcomes as positions with a value."""
    own: bool = True
    """Policy and Q taught by a network's own value of every successor."""
    selfplay: bool = True
    """The teacher's labels of mistakes made in self-play, among the labels and successors."""
    corrected: Literal["selfplay", "sampled"] | None = None
    """Which labels of self-play have a part of the batch to themselves."""
    fraction: float = 1.0
    """Of every source."""
    planes: int = 21
    excite: bool = True
    """Squeeze-and-excitation."""
    mirror: bool = True
    """Half of the positions without castling rights turned left to right."""
    targets: Literal["worth", "probability"] = "worth"
    """What a teacher's centipawns become."""
    own_q_head: bool = True
    """Q from a head of its own; False: from the policy's logits."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One network of an experiment."""

    name: str
    title: str
    """What it is, for the table."""
    differs: str
    """What sets it apart, and from which."""
    recipe: Recipe


@dataclass(frozen=True)
class _Change:
    """One step from recipe to recipe."""

    name: str
    title: str
    differs: str
    change: dict[str, Any]
    needs: str = ""
    """The field of `Data` without which there is nothing to compare."""


_BARE = Recipe(
    trained=False,
    weighted=False,
    values=False,
    labels=False,
    q=False,
    soft=False,
    successors=False,
    own=False,
    selfplay=False,
)

_STAGES = (
    _Change("untrained", "random weights", "no training", {}),
    _Change("cloning", "A: human moves", "moves and results of games, all alike", {"trained": True}),
    _Change("elite", "A: elite games weigh more", "games count by their tier", {"weighted": True}),
    _Change(
        "best-move",
        "B: the teacher's best move",
        "labelled positions, their best move as the policy's target; the teacher's values",
        {"labels": True, "values": True},
        "labels",
    ),
    _Change("q", "B: Q of every move", "the Q of every labelled move as a target", {"q": True}, "labels"),
    _Change(
        "soft",
        "B: policy spread by Q",
        "the policy's target is softmax(Q / temperature)",
        {"soft": True},
        "labels",
    ),
    _Change(
        "successors",
        "B: values of successors",
        "the labelled moves' outcomes as positions with a value",
        {"successors": True},
        "labels",
    ),
    _Change(
        "own",
        "B: taught by its own value",
        "positions with every move scored by a network's own value of the successor",
        {"own": True, "q": True, "soft": True},
        "own",
    ),
    _Change(
        "selfplay",
        "C: mistakes of self-play",
        "labels of mistakes in self-play, among the others",
        {"selfplay": True, "labels": True, "successors": True, "values": True, "q": True, "soft": True},
        "selfplay",
    ),
)

_TAKEN = (
    _Change("everything", "everything", "all that each of the others lacks one thing of", {}, "labels"),
    _Change(
        "no-engine",
        "no engine labels",
        "no labels, successors, teacher's values or labels by a network's value: human games alone",
        {"labels": False, "successors": False, "values": False, "own": False, "selfplay": False},
        "labels",
    ),
    _Change(
        "no-q",
        "nothing of the other moves",
        "of a labelled position only the best move and its value: no Q, no spread policy",
        {"q": False, "soft": False},
        "labels",
    ),
    _Change(
        "no-q-target",
        "no Q target",
        "Q spreads the policy's target, but is no target",
        {"q": False},
        "labels",
    ),
    _Change(
        "no-soft", "no spread policy", "the policy's target is the best move alone", {"soft": False}, "labels"
    ),
    _Change(
        "no-successors", "no successors", "no outcomes of labelled moves", {"successors": False}, "labels"
    ),
    _Change("no-own", "no own values", "no labels by a network's own value", {"own": False}, "own"),
    _Change(
        "no-selfplay",
        "no self-play labels",
        "no labels of self-play's mistakes",
        {"selfplay": False},
        "selfplay",
    ),
    _Change("no-weights", "no quality weights", "games of all tiers count alike", {"weighted": False}),
    _Change("18-planes", "18 planes", "en passant and repetition are not shown", {"planes": 18}),
    _Change("no-excite", "no squeeze-and-excitation", "blocks of two plain convolutions", {"excite": False}),
    _Change("no-mirror", "no mirror", "positions are never turned left to right", {"mirror": False}),
    _Change("q-on-policy", "Q on the policy's logits", "no head of its own for Q", {"own_q_head": False}),
    _Change(
        "probability",
        "plain win probability",
        "targets are win probabilities, which tell one won position hardly from another",
        {"targets": "probability"},
        "labels",
    ),
)

_TAUGHT = (
    _Change("before", "no labels of self-play", "games, labels and successors alone", {}, "labels"),
    _Change(
        "mistakes",
        "mistakes labelled",
        "positions of self-play that the network had got wrong by its own value",
        {"corrected": "selfplay"},
        "selfplay",
    ),
    _Change(
        "sampled",
        "anything labelled",
        "as many positions of self-play, drawn by chance",
        {"corrected": "sampled"},
        "sampled",
    ),
)


def comparison(lab: Lab) -> Comparison[Variant]:
    """What a lab's experiment compares, as far as its data and its own choice allow."""
    if lab.experiment == "resnet-progress":
        return _chosen(
            lab, "What does each stage of the training add?", "cloning", _STAGES, _BARE, in_turn=True
        )
    if lab.experiment == "resnet-ablation":
        full = Recipe(own=lab.data.own is not None, selfplay=lab.data.selfplay is not None)
        return _chosen(lab, "What is each ingredient worth to the whole?", "everything", _TAKEN, full)
    # A network's own values, and its mistakes, come from one that saw everything: no part of a smaller share.
    apart = Recipe(own=False, selfplay=False)
    if lab.experiment == "resnet-mistakes":
        question = "Is a teacher's time better spent on mistakes than on any positions of the same games?"
        return _chosen(lab, question, "sampled", _TAUGHT, apart)
    parts = [
        _Change(
            f"data-{100 * fraction:g}",
            f"{100 * fraction:g} % of the data",
            f"{100 * fraction:g} % of the games and of the labels with their successors",
            {"fraction": fraction},
            "labels",
        )
        for fraction in sorted(lab.fractions)
    ]
    question = "How does strength grow with the number of positions?"
    return _chosen(lab, question, parts[-1].name, tuple(parts), apart)


def names_of(lab: Lab) -> list[str]:
    """The networks that a lab's experiment compares."""
    return comparison(lab).names


def _chosen(
    lab: Lab,
    question: str,
    baseline: str,
    changes: tuple[_Change, ...],
    recipe: Recipe,
    in_turn: bool = False,
) -> Comparison[Variant]:
    """The variants that the changes make of a recipe, or `in_turn` each of the one before."""
    refuse_unknown(lab.experiment, lab.variants, [change.name for change in changes])
    kept, left_out = [], []
    added: list[str] = []
    for change in changes:
        if change.needs and getattr(lab.data, change.needs) is None:
            left_out.append(f"{change.name} was left out: the config has no data.{change.needs}")
            continue
        changed, differs = replace(recipe, **change.change), change.differs
        if in_turn:
            recipe = changed
            # Stages that have no line of their own are part of the next one's difference.
            added += [differs] if change.change else []
            differs = f"adds: {'; '.join(added)}" if added else differs
        if change.name in (lab.variants or [change.name]):
            kept.append(Variant(name=change.name, title=change.title, differs=differs, recipe=changed))
            added = []
    names = [variant.name for variant in kept]
    refuse_no_comparison(lab.experiment, names, baseline, lab.measures.anchors)
    return Comparison(question=question, variants=tuple(kept), baseline=baseline, left_out=tuple(left_out))


def training_of(recipe: Recipe, lab: Lab) -> ResNetTraining:
    """The training run that a recipe stands for, with the lab's budget."""
    budget = lab.budget
    return ResNetTraining(
        sources=tuple(sources_of(recipe, lab).values()),
        steps=budget.steps,
        batch=budget.batch,
        shape=replace(
            budget.shape,
            planes=recipe.planes,
            squeeze=budget.shape.squeeze if recipe.excite else 0,
            own_q_head=recipe.own_q_head,
        ),
        loss=replace(
            budget.loss,
            q=budget.loss.q if recipe.q else 0.0,
            policy_temperature=budget.loss.policy_temperature if recipe.soft else 0.0,
        ),
        mirror=recipe.mirror,
        peak_rate=budget.peak_rate,
        warmup_steps=budget.warmup_steps,
        ema_decay=budget.ema_decay,
        seed=budget.seed,
        device=budget.device,
        bf16=budget.bf16,
        compile=budget.compile,
        report_steps=budget.report_steps,
        validate_steps=budget.steps,
        checkpoint_steps=budget.checkpoint_steps,
        keep=1,
    )


def sources_of(recipe: Recipe, lab: Lab) -> dict[str, Source]:
    """What a recipe learns from: games, labels, successors, own, corrected."""
    data, shares = lab.data, lab.shares
    corrected = getattr(data, recipe.corrected) if recipe.corrected else None
    labelled = _joined(data.labels, data.selfplay if recipe.selfplay else None)
    wanted: list[tuple[str, Literal["games", "labels", "successors"], str | None, float]] = [
        ("games", "games", data.games, shares.games),
        ("labels", "labels", labelled if recipe.labels else None, shares.labels),
        (
            "successors",
            "successors",
            _joined(labelled, corrected) if recipe.successors else None,
            shares.successors,
        ),
        ("own", "labels", data.own if recipe.own else None, shares.own),
        ("corrected", "labels", corrected, shares.corrected),
    ]
    return {
        role: Source(
            kind=kind,
            path=path,
            share=share,
            fraction=recipe.fraction,
            targets=recipe.targets,
            weighted=recipe.weighted or kind != "games",
        )
        for role, kind, path, share in wanted
        if path
    }


def _joined(*paths: str | None) -> str:
    return ":".join(path for path in paths if path)
