"""The second stage: the networks' games, the questions put to them, and how fast they search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book
from tabiya.arena.evaluation import Examiner, limit_figures
from tabiya.arena.human import agreement, load_human_moves, measure_human_moves
from tabiya.arena.puzzles import load_puzzles, measure_puzzles
from tabiya.files import checksum
from tabiya.learn.lab.exams import answer, unanswered
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Meter, Progress, refuse_small_book, silent
from tabiya.minds.nnue.feature_report import measure as measure_features
from tabiya.minds.nnue.lab.nodes import nodes_per_second
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.variants import Comparison, comparison
from tabiya.minds.nnue.player import open_player as open_nnue
from tabiya.minds.nnue.probe import FirstChoices
from tabiya.player import Limit, OpenPlayer, Player, PlayerName

Ask = Callable[[str, Meter], dict[str, Any]]


def kinds(lab: Lab) -> list[str]:
    """The exams that a lab asks for."""
    measures = lab.measures
    asked = {"puzzles": measures.puzzles, "human": measures.humans, "features": measures.pgn}
    return [*(kind for kind, file in asked.items() if file), "speed"]


def play(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> None:
    """Ask and play whatever is missing."""
    # Before hours of questions: what would end the games at their beginning.
    refuse_small_book(_book(lab), max(lab.measures.games, lab.measures.anchor_games))
    open_player = opener(lab, folder, others)
    _Exams(lab, folder, open_player).sit(progress)
    _play_games(lab, folder, open_player, progress)


def opener(lab: Lab, folder: LabFolder, others: OpenPlayer) -> OpenPlayer:
    """Opens the experiment's networks by their short names, and every other player as `others` does."""
    names = {variant.name for variant in comparison(lab).variants}
    options = {"hash": str(lab.measures.hash), "threads": "1"}

    def open_player(text: str) -> Player:
        if text not in names:
            return others(text)
        return open_nnue(PlayerName("nnue", str(folder.network(text)), options=options))

    return open_player


def expected_games(lab: Lab, compared: Comparison) -> int:
    """How many games an experiment has when all are played."""
    measures = lab.measures
    networks, anchors = len(compared.variants), len(measures.anchors)
    pairs = networks - 1 if measures.form == "gauntlet" else networks * (networks - 1) // 2
    with_anchors = anchors * networks + anchors * (anchors - 1) // 2
    return pairs * measures.games + with_anchors * measures.anchor_games


def _play_games(lab: Lab, folder: LabFolder, open_player: OpenPlayer, progress: Progress) -> None:
    compared, measures = comparison(lab), lab.measures
    names = [variant.name for variant in compared.variants]
    # In a gauntlet the first player meets all others.
    names.sort(key=lambda name: name != compared.baseline)
    checksums = {name: manifest["sha256"] for name, manifest in folder.manifests(names).items()}
    folder.begin("play.json", {"hash": measures.hash, "networks": checksums})
    games = LabGames(
        folder=folder,
        open_player=open_player,
        book=_book(lab),
        seed=measures.seed,
        concurrency=measures.concurrency,
        adjudication=Adjudication(max_moves=measures.max_moves, resign_score=measures.resign_score),
    )
    anchors = [anchor.player for anchor in measures.anchors]
    between = expected_games(lab, compared) - _with_anchors(len(names), len(anchors)) * measures.anchor_games
    with progress("games between networks", between) as meter:
        games.tournament("networks", names, measures.games, measures.pace(), measures.form, meter)
    for number, anchor in enumerate(anchors):
        players = [anchor, *anchors[:number], *names]
        with progress(f"games with {anchor}", (len(players) - 1) * measures.anchor_games) as meter:
            games.gauntlet(players, measures.anchor_games, measures.pace(), meter)


def _with_anchors(networks: int, anchors: int) -> int:
    return anchors * networks + anchors * (anchors - 1) // 2


def _book(lab: Lab) -> Book:
    return Book.read(lab.measures.book) if lab.measures.book else Book.built_in()


class _Exams:
    """Every question that was not answered yet, put to every network."""

    def __init__(self, lab: Lab, folder: LabFolder, open_player: OpenPlayer) -> None:
        self._lab, self._folder, self._open = lab, folder, open_player
        self._measures = lab.measures
        self._names = [variant.name for variant in comparison(lab).variants]

    def sit(self, progress: Progress) -> None:
        ways = {
            "puzzles": self._puzzles,
            "human": self._human,
            "features": self._features,
            "speed": self._speed,
        }
        for kind in kinds(self._lab):
            settings = self._settings(kind)
            missing = unanswered(self._folder, kind, self._names, settings)
            if not missing:
                continue
            total, ask = ways[kind]()
            for name in missing:
                with progress(f"{kind}: {name}", total) as meter:
                    answer(self._folder, name, kind, settings, partial(ask, name, meter))

    def _settings(self, kind: str) -> dict[str, Any]:
        """What decides the answers, beside the network."""
        measures = self._measures
        if kind == "puzzles":
            assert measures.puzzles is not None
            asked = {"sha256": checksum(Path(measures.puzzles)), "count": measures.puzzle_count}
            limit = limit_figures(measures.puzzle_limit())
            return asked | {"limit": limit, "hash": measures.hash, "seed": measures.seed}
        if kind == "human":
            assert measures.humans is not None
            manifest = checksum(Path(measures.humans) / "manifest.json")
            asked = {"sha256": manifest, "count": measures.human_count, "nodes": measures.human_nodes}
            return asked | {"hash": measures.hash, "seed": measures.seed}
        if kind == "features":
            assert measures.pgn is not None
            return {"sha256": checksum(Path(measures.pgn)), "games": measures.pgn_games}
        return {
            "positions": measures.speed_positions,
            "nodes": measures.speed_nodes,
            "book": _book(self._lab).sha256,
            "hash": measures.hash,
        }

    def _puzzles(self) -> tuple[int, Ask]:
        measures = self._measures
        assert measures.puzzles is not None
        puzzles = load_puzzles(Path(measures.puzzles), measures.puzzle_count, measures.seed)

        def ask(name: str, meter: Meter) -> dict[str, Any]:
            with Examiner(name, self._open, measures.puzzle_limit(), measures.concurrency) as examiner:
                return measure_puzzles(puzzles, examiner, meter.advance)

        return puzzles.positions, ask

    def _human(self) -> tuple[int, Ask]:
        measures = self._measures
        assert measures.humans is not None
        played = load_human_moves(Path(measures.humans), measures.human_count, measures.seed)
        choices = FirstChoices(played.packed, played.moves)

        def ask(name: str, meter: Meter) -> dict[str, Any]:
            without = agreement(played, choices.right(self._folder.network(name)))
            limit = Limit(nodes=measures.human_nodes)
            with Examiner(name, self._open, limit, measures.concurrency) as examiner:
                return measure_human_moves(played, examiner, meter.advance) | {"without_search": without}

        return len(played), ask

    def _features(self) -> tuple[int, Ask]:
        manifests = self._folder.manifests(self._names)

        def ask(name: str, meter: Meter) -> dict[str, Any]:
            shape = manifests[name]["config"]["shape"]
            assert self._measures.pgn is not None
            pgn, games = Path(self._measures.pgn), self._measures.pgn_games
            figures = asdict(measure_features(shape["features"], pgn, games, shape["l1"], shape["l2"]))
            meter.advance()
            return figures

        return 1, ask

    def _speed(self) -> tuple[int, Ask]:
        openings = _book(self._lab).openings(self._measures.speed_positions, self._measures.seed)
        boards = [opening.board() for opening in openings]

        def ask(name: str, meter: Meter) -> dict[str, Any]:
            with self._open(name) as player:
                return nodes_per_second(player, boards, self._measures.speed_nodes, meter.advance)

        return len(boards), ask
