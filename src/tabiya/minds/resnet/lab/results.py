"""Measures the result tables, one JSON file each, and takes up whatever was left half done.

    puzzles.json endgames.json engines.json     an entry for each player
    size.json                                   an entry for the network
    openings.json                               read from games, made anew each time
    puzzles-NAME.part.json                      what was answered so far, while puzzles are being answered

An entry holds the settings it was measured with, the network's checksum among
them. It is kept as long as the same is asked for, and otherwise measured anew;
until that is done the old one stays.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tabiya._core import Board
from tabiya.arena.evaluation import BATCH, Examiner, Skipped, limit_figures, mean, wilson
from tabiya.arena.provenance import provenance
from tabiya.arena.runner import entrants
from tabiya.errors import UserError
from tabiya.files import checksum, write_json
from tabiya.learn.lab.folder import read_json
from tabiya.player import Limit, OpenPlayer, Player

if TYPE_CHECKING:
    from tabiya.arena.endgames import EndgameSet
    from tabiya.arena.puzzles import PuzzleSet
    from tabiya.learn.lab.games import Progress
    from tabiya.minds.resnet.lab.result_plan import ResultTables

ONE_LOOK = Limit(nodes=10_000)
"""What a mind that searches may look at for a move of a puzzle or an endgame, as `tabiya eval` has it."""

GPU_FILE = "gpu.json"
"""What `tabiya lab resnet-tables gpu` leaves in the folder."""

Settings = dict[str, Any]


class Results:
    """The folder of one mind's tables."""

    def __init__(self, plan: ResultTables, folder: Path, open_player: OpenPlayer, progress: Progress) -> None:
        self.plan, self.folder = plan, folder
        self._open, self._progress = open_player, progress
        self._identity = cache(self._identified)

    def measure(self, table: str) -> None:
        """Measure what a table lacks; a UserError if the plan says nothing of it."""
        if getattr(self.plan, table) is None:
            raise UserError(f"there is no [{table}] in the config: the table needs to know its questions")
        {
            "puzzles": self._puzzles,
            "openings": self._openings,
            "endgames": self._endgames,
            "size": self._size,
            "engines": self._engines,
        }[table]()

    # The tables -------------------------------------------------------------------------------------------

    def _puzzles(self) -> None:
        from tabiya.arena.puzzles import load_puzzles

        section = self.plan.puzzles
        assert section is not None
        path = Path(section.file)
        if not path.is_file():
            raise UserError(f"no puzzle file {path}")
        load = cache(lambda count: load_puzzles(path, count, self.plan.seed))
        digest = checksum(path)
        for player in self.plan.players():
            count = section.count_for(player)
            settings = {
                "file": path.name,
                "sha256": digest,
                "count": count,
                "seed": self.plan.seed,
                "limit": limit_figures(ONE_LOOK),
                "network": self._identity(player),
            }
            if not self._has("puzzles", player, settings):
                figures = self._solved(player, settings, load(count))
                self._keep("puzzles", player, settings, figures)
                self._part(player).unlink(missing_ok=True)

    def _solved(self, player: str, settings: Settings, puzzles: PuzzleSet) -> dict[str, Any]:
        """Put the puzzles to a player, block by block, each on the disk before the next."""
        from tabiya.arena.puzzles import Attempt, attempt, puzzle_figures

        part = self._part(player)
        before = read_json(part) if part.exists() else {}
        if before.get("settings") != settings:
            before = {"solved": "", "right": [], "asked": 0, "nodes": 0, "failures": [], "seconds": 0.0}
        tries = [
            Attempt(solved == "1", right)
            for solved, right in zip(before["solved"], before["right"], strict=True)
        ]
        seconds = before["seconds"]
        with (
            self._progress(f"puzzles: {player}", puzzles.positions) as meter,
            Examiner(player, self._open, ONE_LOOK) as examiner,
        ):
            examiner.asked, examiner.nodes = before["asked"], before["nodes"]
            examiner.failures += [Skipped(**one) for one in before["failures"]]
            meter.advance(examiner.asked)
            # Blocks begin at the same puzzles always, so a run that was stopped asks in the same batches.
            for start in range(len(tries), len(puzzles.puzzles), BATCH):
                began = perf_counter()
                tries += attempt(puzzles.puzzles[start : start + BATCH], examiner, meter.advance)
                seconds += perf_counter() - began
                so_far = {
                    "settings": settings,
                    "solved": "".join("1" if one.solved else "0" for one in tries),
                    "right": [one.right for one in tries],
                    "asked": examiner.asked,
                    "nodes": examiner.nodes,
                    "failures": [asdict(one) for one in examiner.failures],
                    "seconds": round(seconds, 1),
                }
                write_json(part, so_far)
            figures = {**puzzle_figures(puzzles, tries), **examiner.figures()}
        return figures | {"seconds": round(seconds, 1)}

    def _part(self, player: str) -> Path:
        plain = re.sub(r"[^A-Za-z0-9]+", "-", player).strip("-")[-40:]
        mark = hashlib.sha256(player.encode()).hexdigest()[:6]
        return self.folder / f"puzzles-{plain}-{mark}.part.json"

    def _openings(self) -> None:
        from tabiya.arena.opening_scores import game_files, opening_scores, read_opened_games
        from tabiya.arena.openings import load_eco

        section = self.plan.openings
        assert section is not None
        files = game_files(map(Path, section.matches))
        eco = load_eco(Path(section.eco))
        with self._progress("openings: reading games", 1) as meter:
            games, skipped = read_opened_games(files, eco)
            meter.advance()
        player = section.player or entrants([self.plan.mind])[0].name
        if section.opponents:
            games = [game for game in games if {*section.opponents} & {*game.players} - {player}]
        settings = {
            "games": [
                {"name": file.parent.name + "/" + file.name, "sha256": checksum(file)} for file in files
            ],
            "eco": [{"name": file.name, "sha256": checksum(file)} for file in _tsv(section.eco)],
            "opponents": list(section.opponents),
        }
        self._keep("openings", player, settings, opening_scores(player, games, skipped, eco.codes()))

    def _endgames(self) -> None:
        from tabiya.arena.endgames import Tables, load_endgames, measure_endgames

        section = self.plan.endgames
        assert section is not None
        if not Path(section.syzygy).is_dir():
            raise UserError(f"no folder of Syzygy tables {section.syzygy}")
        with ExitStack() as stack:
            tables = Tables(Path(section.syzygy))
            stack.callback(tables.close)
            settings = {
                "tables": {str(men): len(names) for men, names in sorted(tables.materials.items())},
                "count": section.count,
                "men": list(section.men),
                "seed": self.plan.seed,
                "teacher": section.teacher,
                "teacher_nodes": section.teacher_nodes if section.teacher else None,
                "limit": limit_figures(ONE_LOOK),
            }
            missing = [
                player
                for player in self.plan.players()
                if not self._has("endgames", player, settings | {"network": self._identity(player)})
            ]
            if not missing:
                return
            teacher = None
            if section.teacher:
                limit = Limit(nodes=section.teacher_nodes)
                teacher = stack.enter_context(Examiner(section.teacher, self._open, limit))
            with self._progress("endgames: judging positions", 1):
                endgames = load_endgames(
                    tables=tables,
                    teacher=teacher,
                    men=section.men or None,
                    count=section.count,
                    seed=self.plan.seed,
                )
            for player in missing:
                with (
                    self._progress(f"endgames: {player}", len(endgames.positions)) as meter,
                    Examiner(player, self._open, ONE_LOOK) as examiner,
                ):
                    figures = measure_endgames(endgames, examiner, teacher, meter.advance)
                for row in figures["by_men"]:
                    if row["judge"] == "syzygy":
                        row |= _where_it_mattered(endgames, row, bool(figures["failures"]))
                self._keep("endgames", player, settings | {"network": self._identity(player)}, figures)

    def _size(self) -> None:
        from tabiya.learn.sidecar import read_sidecar, sidecar_path
        from tabiya.minds.resnet.player import ResNetPlayer
        from tabiya.searchless.comparison import latency
        from tabiya.searchless.own_games import own_positions

        section, seed = self.plan.size, self.plan.seed
        beside = self.folder / GPU_FILE
        gpu = _gpu(Path(section.gpu)) if section.gpu else _gpu(beside) if beside.exists() else None
        settings = {
            "threads": section.threads,
            "runs": section.runs,
            "passes": section.passes,
            "seed": seed,
            "network": self._identity(self.plan.mind),
        }
        if not self._has("size", self.plan.mind, settings):
            player = self._open(self.plan.mind)
            if not isinstance(player, ResNetPlayer):
                raise UserError(f"size and latency are measured of a ResNet, {self.plan.mind} is none")
            player.set_option("threads", str(section.threads))
            path = player.network.path
            parameters = read_sidecar(path)["parameters"] if sidecar_path(path).exists() else None
            packed = own_positions(player, section.passes, seed)
            with self._progress("latency", section.runs) as meter:
                times = latency(
                    [player.network],
                    packed,
                    threads=section.threads,
                    runs=section.runs,
                    passes=section.passes,
                    done=meter.advance,
                )
            (own,) = times.pop("networks")
            figures = {"bytes": path.stat().st_size, "parameters": parameters, **own, **times}
            self._keep("size", self.plan.mind, settings, figures)
        self._add("size", gpu=gpu)

    def _engines(self) -> None:
        from tabiya.arena.effort import effort_positions, measure_effort

        section = self.plan.engines
        assert section is not None
        book = None if section.book is None else Path(section.book)
        players = list(dict.fromkeys([*self.plan.players(), *section.players]))
        lists = [_rating_list(Path(file)) for file in section.ratings]
        boards = effort_positions(book, section.positions, self.plan.seed)
        for player in players:
            settings = {
                "positions": len(boards),
                "book": None if book is None else {"name": book.name, "sha256": checksum(book)},
                "seed": self.plan.seed,
                "limit": limit_figures(section.limit),
                "network": self._identity(player),
            }
            if self._has("engines", player, settings):
                continue
            with self._progress(f"effort: {player}", len(boards)) as meter, self._open(player) as opened:
                figures = measure_effort(opened, boards, section.limit, meter.advance)
                figures["called"] = opened.name
            self._keep("engines", player, settings, figures)
        names = {entrant.spec: entrant.name for entrant in entrants(players)}
        ratings = {
            player: line
            for player in players
            if (line := next((found[names[player]] for found in lists if names[player] in found), None))
        }
        self._add("engines", ratings=ratings)

    # The files --------------------------------------------------------------------------------------------

    def file(self, table: str) -> Path:
        return self.folder / f"{table}.json"

    def _read(self, table: str) -> dict[str, Any]:
        path = self.file(table)
        return read_json(path) if path.exists() else {"kind": "lab-table", "table": table, "entries": {}}

    def _has(self, table: str, player: str, settings: Settings) -> bool:
        return bool(self._read(table)["entries"].get(player, {}).get("settings") == settings)

    def _keep(self, table: str, player: str, settings: Settings, figures: dict[str, Any]) -> None:
        whole = self._read(table)
        name = entrants([player])[0].name
        whole["entries"][player] = {"name": name, "settings": settings, "figures": figures, **provenance()}
        write_json(self.file(table), whole)

    def _add(self, table: str, **more: Any) -> None:
        whole = self._read(table)
        write_json(self.file(table), whole | more)

    def _identified(self, name: str) -> str | None:
        """The checksum of the network that a player plays from; None where it has none to show."""
        with self._open(name) as player:
            return _network_of(player)


def _network_of(player: Player) -> str | None:
    path = getattr(getattr(player, "network", None), "path", None)
    return checksum(path) if isinstance(path, Path) else None


def _where_it_mattered(endgames: EndgameSet, row: dict[str, Any], failed: bool) -> dict[str, Any]:
    """The same share over the positions in which some legal move gives the result away.

    In the others every move keeps it, so what was kept here is what was kept
    in all less those; `any_move_share` is what a move at random would keep.
    """
    shares = [
        len(one.keeping) / len(Board(one.fen).legal_moves())
        for one in endgames.positions
        if one.men == row["men"] and one.keeping is not None
    ]
    open_ones = [share for share in shares if share < 1]
    kept = round(row["optimal_share"] * len(shares)) - (len(shares) - len(open_ones))
    known = bool(open_ones) and not failed  # a player that broke has no answer even where all are right
    return {
        "choices": len(open_ones),
        "choices_kept_share": kept / len(open_ones) if known else None,
        "choices_kept_95": wilson(kept, len(open_ones)) if known else None,
        "any_move_share": mean(open_ones),
    }


def _tsv(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("*.tsv"))


def _gpu(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UserError(f"no file {path} with the GPU's time")
    found = read_json(path)
    for key, kind in (("device", str), ("median_ms", (int, float))):
        if not isinstance(found.get(key), kind):
            raise UserError(f"{path} must have the device and the median_ms of a pass on it, and lacks {key}")
    return found


def _rating_list(path: Path) -> dict[str, dict[str, Any]]:
    """Every player's line of a rating list, by name."""
    if not path.is_file():
        raise UserError(f"no file {path} with a rating list")
    ratings = read_json(path).get("ratings")
    lines = ratings.get("players") if isinstance(ratings, dict) else None
    if not isinstance(lines, list):
        raise UserError(f"{path} has no rating list: `tabiya tournament` and `tabiya elo --json` write one")
    keys = ("rating", "rating_95", "games")
    return {line["name"]: {key: line.get(key) for key in keys} | {"from": path.name} for line in lines}
