"""The second stage of `implicit`: questions and games, from the networks' files alone, without torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book
from tabiya.arena.puzzles import load_puzzles
from tabiya.files import checksum
from tabiya.learn.lab.exams import answer, unanswered
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Meter, Progress, refuse_small_book, silent
from tabiya.minds.transformer.lab.plan import ImplicitLab
from tabiya.minds.transformer.lab.questions import (
    Questions,
    ask_moves,
    ask_puzzles,
    peoples_moves,
    teachers_moves,
)
from tabiya.minds.transformer.lab.variants import BASE, Entrant, bases, entrants_of, variants_of
from tabiya.minds.transformer.onnx_network import OnnxTransformer
from tabiya.minds.transformer.player import open_player as open_transformer
from tabiya.player import OpenPlayer, Player, PlayerName

Ask = Callable[[str, Meter], dict[str, Any]]
TWICE_PUZZLES = "puzzles-twice"


def kinds(lab: ImplicitLab) -> list[str]:
    """What is asked of the networks."""
    measures = lab.measures
    asked = {"puzzles": measures.puzzles, TWICE_PUZZLES: measures.puzzles}
    asked |= {"people": measures.people, "teacher": measures.labels}
    return [kind for kind, file in asked.items() if file]


def play(lab: ImplicitLab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> None:
    """Ask and play whatever is missing."""
    measures = lab.measures
    book = Book.read(measures.book) if measures.book else Book.built_in()
    # Before an hour of questions: what would end the games at their beginning.
    refuse_small_book(book, max(measures.games, measures.anchor_games))
    folder.manifests(variant.name for variant in variants_of(lab))
    open_player = opener(lab, folder, others)
    sit_exams(lab, folder, open_player, progress)
    play_games(lab, folder, open_player, book, progress)


def opener(lab: ImplicitLab, folder: LabFolder, others: OpenPlayer) -> OpenPlayer:
    """Opens the experiment's players by their short names, and every other as `others` does."""
    own = {entrant.name: entrant for size in lab.sizes for entrant in entrants_of(lab, size)}
    own |= {entrant.name: entrant for entrant in _twice(lab)}

    def open_player(text: str) -> Player:
        if text not in own:
            return others(text)
        entrant = own[text]
        options = {"passes": str(entrant.passes), "threads": str(lab.measures.threads)}
        where = str(folder.network(entrant.network))
        return open_transformer(PlayerName("transformer", where, options=options))

    return open_player


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


def play_games(
    lab: ImplicitLab, folder: LabFolder, open_player: OpenPlayer, book: Book, progress: Progress
) -> None:
    """Play whatever games are missing, all games of a pair side by side."""
    names = [variant.name for variant in variants_of(lab)]
    sums = {name: manifest["sha256"] for name, manifest in folder.manifests(names).items()}
    folder.begin("play.json", {"networks": sums})
    networks = {entrant.name: entrant.network for size in lab.sizes for entrant in entrants_of(lab, size)}
    games = LabGames(
        folder=folder,
        open_player=open_player,
        book=book,
        seed=lab.measures.seed,
        adjudication=Adjudication(max_moves=lab.measures.max_moves),
    )
    with progress("games", expected_games(lab)) as meter:
        for one, other, count in pairs_of(lab):
            identity = {name: sums[networks[name]] for name in (one, other) if name in networks}
            games.together(one, other, count, identity, meter)


def sit_exams(lab: ImplicitLab, folder: LabFolder, open_player: OpenPlayer, progress: Progress) -> None:
    """Put every question that was not answered yet to every network."""
    every = [variant.name for variant in variants_of(lab)]
    for kind in kinds(lab):
        names = [entrant.network for entrant in _twice(lab)] if kind == TWICE_PUZZLES else every
        settings = _settings(lab, kind)
        missing = unanswered(folder, kind, names, settings)
        if not missing:
            continue
        total, ask = _questions(lab, kind, folder, open_player)
        for name in missing:
            with progress(f"{kind}: {name}", total) as meter:
                answer(folder, name, kind, settings, partial(ask, name, meter))


def _settings(lab: ImplicitLab, kind: str) -> dict[str, Any]:
    """What decides the answers, beside the network."""
    measures = lab.measures
    if kind == "people":
        assert measures.people is not None
        files, count = [Path(measures.people) / "manifest.json"], measures.people_count
    elif kind == "teacher":
        assert measures.labels is not None
        files, count = [Path(path) for path in measures.labels.split(":")], measures.label_count
    else:
        assert measures.puzzles is not None
        files, count = [Path(measures.puzzles)], measures.puzzle_count
    return {"sha256": [checksum(file) for file in files], "count": count, "seed": measures.seed}


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
            network = OnnxTransformer(folder.network(name), measures.threads)
            return ask_moves(questions, network, meter.advance)

        return len(questions), ask_for_moves
    assert measures.puzzles is not None
    puzzles = load_puzzles(Path(measures.puzzles), measures.puzzle_count, measures.seed)

    def ask_for_solutions(name: str, meter: Meter) -> dict[str, Any]:
        player = f"{name}-twice" if kind == TWICE_PUZZLES else name
        return ask_puzzles(puzzles, player, open_player, meter.advance)

    return puzzles.positions, ask_for_solutions
