"""The second stage of `implicit`: questions and games, from the networks' files alone.

Without torch, unless a GPU is to compute them (`measures.device`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any

from tabiya.arena.puzzles import load_puzzles
from tabiya.learn.lab.exams import Ask, drawn_settings, sit_exam
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Meter, Progress, opener, refuse_small_book, silent
from tabiya.minds.transformer.lab.plan import ImplicitLab
from tabiya.minds.transformer.lab.questions import (
    Questions,
    ask_moves,
    ask_puzzles,
    peoples_moves,
    teachers_moves,
)
from tabiya.minds.transformer.lab.variants import BASE, Entrant, bases, entrants_of, names_of, variants_of
from tabiya.minds.transformer.onnx_network import LARGE_BATCH, OnnxTransformer
from tabiya.minds.transformer.player import TransformerPlayer
from tabiya.minds.transformer.shelf import network_path
from tabiya.player import OpenPlayer, Player, PlayerName

TWICE_PUZZLES = "puzzles-twice"
OPEN = 16
"""Networks that stay open: a size has so many, and each meets all the others."""


def kinds(lab: ImplicitLab) -> list[str]:
    """What is asked of the networks."""
    measures = lab.measures
    asked = {"puzzles": measures.puzzles, TWICE_PUZZLES: measures.puzzles}
    asked |= {"people": measures.people, "teacher": measures.labels}
    return [kind for kind, file in asked.items() if file]


def play(
    lab: ImplicitLab,
    folder: LabFolder,
    others: OpenPlayer,
    progress: Progress = silent,
    sizes: Sequence[str] = (),
) -> int:
    """Ask and play whatever is missing, of all sizes or within these; how many games there are then."""
    lab = lab.of_sizes(sizes)
    measures = lab.measures
    # Before an hour of questions: what would end the games at their beginning.
    refuse_small_book(measures.read_book(), max(measures.games, measures.anchor_games))
    folder.manifests(names_of(lab))
    entrants = [*(entrant for size in lab.sizes for entrant in entrants_of(lab, size)), *_twice(lab)]
    open_player = opener(
        {entrant.name: _player_name(entrant, folder, measures.threads) for entrant in entrants},
        partial(_open, device=measures.device),
        others,
    )
    _sit_exams(lab, folder, open_player, progress)
    _play_games(lab, folder, open_player, progress)
    return expected_games(lab)


def _player_name(entrant: Entrant, folder: LabFolder, threads: int) -> PlayerName:
    options = {"passes": str(entrant.passes), "threads": str(threads)}
    return PlayerName("transformer", str(folder.network(entrant.network)), options=options)


def _open(name: PlayerName, device: str) -> Player:
    """A network's player, with the network where it shall be computed."""
    return TransformerPlayer.named(name, network_path, partial(_network, device=device))


@lru_cache(maxsize=OPEN)
def _network(path: Path, threads: int, device: str) -> OnnxTransformer:
    if device == "cpu":
        return OnnxTransformer(path, threads)
    from tabiya.learn.onnx_torch import TorchSession

    return OnnxTransformer(path, session=TorchSession(path, device), batch=LARGE_BATCH)


def _twice(lab: ImplicitLab) -> list[Entrant]:
    """Every base network looking twice."""
    return [
        Entrant(name=f"{variant.name}-twice", network=variant.name, passes=2)
        for variant in variants_of(lab)
        if variant.kind == BASE
    ]


def pairs_of(lab: ImplicitLab) -> list[tuple[str, str, int]]:
    """Who meets whom in how many games: all of one size, the bases of all sizes, everyone and the anchors."""
    measures = lab.measures
    anchors = [anchor.player for anchor in measures.anchors]
    inside = [[entrant.name for entrant in entrants_of(lab, size)] for size in lab.sizes]
    found = [(one, other, measures.games) for names in inside for one, other in combinations(names, 2)]
    firsts = [bases(lab, size)[0] for size in lab.sizes]
    found += [(one, other, measures.games) for one, other in combinations(firsts, 2)]
    found += [
        (name, anchor, measures.anchor_games) for names in inside for name in names for anchor in anchors
    ]
    found += [(one, other, measures.anchor_games) for one, other in combinations(anchors, 2)]
    return found


def expected_games(lab: ImplicitLab) -> int:
    return sum(games for _, _, games in pairs_of(lab))


def _play_games(lab: ImplicitLab, folder: LabFolder, open_player: OpenPlayer, progress: Progress) -> None:
    """Play whatever games are missing, all games of a pair side by side."""
    sums = folder.begin_games(names_of(lab))
    networks = {entrant.name: entrant.network for size in lab.sizes for entrant in entrants_of(lab, size)}
    games = LabGames(folder=folder, open_player=open_player, measures=lab.measures)
    with progress("games", expected_games(lab)) as meter:
        for one, other, count in pairs_of(lab):
            identity = {name: sums[networks[name]] for name in (one, other) if name in networks}
            games.together(one, other, count, identity, meter)


def _sit_exams(lab: ImplicitLab, folder: LabFolder, open_player: OpenPlayer, progress: Progress) -> None:
    """Put every question that was not answered yet to every network."""
    twice = [entrant.network for entrant in _twice(lab)]
    for kind in kinds(lab):
        names = twice if kind == TWICE_PUZZLES else names_of(lab)
        questions = partial(_questions, lab, kind, folder, open_player)
        sit_exam(folder, kind, names, _settings(lab, kind), questions, progress)


def _settings(lab: ImplicitLab, kind: str) -> dict[str, Any]:
    """What decides the answers, beside the network."""
    measures = lab.measures
    if kind == "people":
        assert measures.people is not None
        return drawn_settings([Path(measures.people)], measures.people_count, measures.seed)
    if kind == "teacher":
        assert measures.labels is not None
        files = [Path(path) for path in measures.labels.split(":")]
        return drawn_settings(files, measures.label_count, measures.seed)
    assert measures.puzzles is not None
    return drawn_settings([Path(measures.puzzles)], measures.puzzle_count, measures.seed)


def _questions(lab: ImplicitLab, kind: str, folder: LabFolder, open_player: OpenPlayer) -> tuple[int, Ask]:
    """How many positions are asked, and how."""
    measures = lab.measures
    if kind in ("people", "teacher"):
        questions: Questions
        if kind == "people":
            assert measures.people is not None
            questions = peoples_moves(measures.people, measures.people_count, measures.seed)
        else:
            assert measures.labels is not None
            questions = teachers_moves(measures.labels, measures.label_count, measures.seed)

        def ask_for_moves(name: str, meter: Meter) -> dict[str, Any]:
            network = _network(folder.network(name), measures.threads, measures.device)
            return ask_moves(questions, network, meter.advance)

        return len(questions), ask_for_moves
    assert measures.puzzles is not None
    puzzles = load_puzzles(Path(measures.puzzles), measures.puzzle_count, measures.seed)

    def ask_for_solutions(name: str, meter: Meter) -> dict[str, Any]:
        player = f"{name}-twice" if kind == TWICE_PUZZLES else name
        return ask_puzzles(puzzles, player, open_player, meter.advance)

    return puzzles.positions, ask_for_solutions
