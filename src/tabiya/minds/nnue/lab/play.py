"""The second stage: the networks' games, the questions put to them, and how fast they search."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tabiya.arena.evaluation import Examiner, limit_figures
from tabiya.arena.human import agreement, load_human_moves, measure_human_moves
from tabiya.arena.puzzles import load_puzzles, measure_puzzles
from tabiya.data.shards import data_checksum
from tabiya.files import checksum
from tabiya.learn.lab.exams import Ask, sit_exam
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Meter, Progress, opener, refuse_small_book, silent
from tabiya.minds.nnue.feature_report import measure as measure_features
from tabiya.minds.nnue.lab.nodes import nodes_per_second
from tabiya.minds.nnue.lab.plan import Lab
from tabiya.minds.nnue.lab.variants import comparison, names_of
from tabiya.minds.nnue.player import open_player as open_nnue
from tabiya.minds.nnue.probe import FirstChoices
from tabiya.player import Limit, OpenPlayer, PlayerName


def kinds(lab: Lab) -> list[str]:
    """The exams that a lab asks for."""
    measures = lab.measures
    asked = {"puzzles": measures.puzzles, "human": measures.humans, "features": measures.pgn}
    return [*(kind for kind, file in asked.items() if file), "speed"]


def play(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> int:
    """Ask and play whatever is missing; how many games there are then."""
    measures, names = lab.measures, names_of(lab)
    # Before hours of questions: what would end the games at their beginning.
    refuse_small_book(measures.read_book(), max(measures.games, measures.anchor_games))
    options = {"hash": str(measures.hash), "threads": "1"}
    own = {name: PlayerName("nnue", str(folder.network(name)), options=options) for name in names}
    open_player = opener(own, open_nnue, others)
    _Exams(lab, folder, open_player).sit(progress)
    _play_games(lab, folder, open_player, progress)
    return measures.expected_games(len(names))


def _play_games(lab: Lab, folder: LabFolder, open_player: OpenPlayer, progress: Progress) -> None:
    compared, measures = comparison(lab), lab.measures
    # In a gauntlet the first player meets all others.
    names = sorted(compared.names, key=lambda name: name != compared.baseline)
    folder.begin_games(names, hash=measures.hash)
    games = LabGames(
        folder=folder,
        open_player=open_player,
        measures=measures,
        concurrency=measures.concurrency,
        resign_score=measures.resign_score,
    )
    with progress("games between networks", measures.games_between(len(names))) as meter:
        games.tournament("networks", names, measures.games, measures.pace(), measures.form, meter)
    games.with_anchors(names, measures.pace(), progress)


class _Exams:
    """Every question that was not answered yet, put to every network."""

    def __init__(self, lab: Lab, folder: LabFolder, open_player: OpenPlayer) -> None:
        self._lab, self._folder, self._open = lab, folder, open_player
        self._measures = lab.measures
        self._names = names_of(lab)

    def sit(self, progress: Progress) -> None:
        ways = {
            "puzzles": self._puzzles,
            "human": self._human,
            "features": self._features,
            "speed": self._speed,
        }
        for kind in kinds(self._lab):
            sit_exam(self._folder, kind, self._names, self._settings(kind), ways[kind], progress)

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
            games = data_checksum(Path(measures.humans))
            asked = {"sha256": games, "count": measures.human_count, "nodes": measures.human_nodes}
            return asked | {"hash": measures.hash, "seed": measures.seed}
        if kind == "features":
            assert measures.pgn is not None
            return {"sha256": checksum(Path(measures.pgn)), "games": measures.pgn_games}
        return {
            "positions": measures.speed_positions,
            "nodes": measures.speed_nodes,
            "book": self._measures.read_book().sha256,
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
        openings = self._measures.read_book().openings(self._measures.speed_positions, self._measures.seed)
        boards = [opening.board() for opening in openings]

        def ask(name: str, meter: Meter) -> dict[str, Any]:
            with self._open(name) as player:
                return nodes_per_second(player, boards, self._measures.speed_nodes, meter.advance)

        return len(boards), ask
