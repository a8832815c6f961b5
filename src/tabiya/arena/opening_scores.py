"""What a player scores in each opening, read from games that were played anyway.

The arena's games begin with moves of a book, which have no comment; the first
move with one was chosen by a player. Only the book's moves say which opening a
game belongs to, so that both games of a pair stand in the same row and nobody
chooses the row by playing well. In a game without comments, as other programs
write them, all the moves count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabiya._core import Board
from tabiya.arena.elo import Score
from tabiya.arena.evaluation import NAMED, Skipped
from tabiya.arena.openings import UNNAMED, EcoLine, EcoTable, split_games
from tabiya.arena.pgn import number_of
from tabiya.arena.record import Result
from tabiya.arena.tally import PlayedResult, score_of
from tabiya.errors import UserError

_TAG = re.compile(r'\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]\s*$')
_NUMBER = re.compile(r"\d+\.+")
_RESULTS: dict[str, Result] = {"1-0": "1-0", "0-1": "0-1", "1/2-1/2": "1/2-1/2"}


@dataclass(frozen=True)
class OpenedGame:
    """One game's result, and the opening that the book gave it."""

    result: PlayedResult
    line: EcoLine | None

    @property
    def family(self) -> str:
        return self.line.family if self.line else UNNAMED

    @property
    def volume(self) -> str:
        """The ECO code's letter, A to E."""
        return self.line.eco[:1] if self.line else UNNAMED

    @property
    def players(self) -> tuple[str, str]:
        return self.result.white, self.result.black

    def opponent(self, player: str) -> str:
        return self.result.black if self.result.white == player else self.result.white


def game_files(places: Iterable[Path]) -> list[Path]:
    """The PGN files that are meant: a file itself, or the games of a match's or tournament's folder."""
    found = []
    for place in places:
        file = place / "games.pgn" if place.is_dir() else place
        if not file.is_file():
            what = "no games.pgn in the folder" if place.is_dir() else "no file"
            raise UserError(f"{what} {place}: name a match's folder or a PGN file")
        found.append(file)
    return found


def read_opened_games(files: Sequence[Path], eco: EcoTable) -> tuple[list[OpenedGame], list[Skipped]]:
    """All games of these files with two players and a result, and those that could not be used."""
    games, skipped = [], []
    for file in files:
        for line, text in split_games(file):
            try:
                games.append(_opened(text, str(file), eco))
            except ValueError as error:
                skipped.append(Skipped(f"{file}:{line}", str(error)))
    return games, skipped


def _opened(text: str, where: str, eco: EcoTable) -> OpenedGame:
    head, _, body = text.partition("\n\n")
    found = (_TAG.match(line) for line in head.splitlines())
    tags = {tag[1]: tag[2].replace('\\"', '"').replace("\\\\", "\\") for tag in found if tag}
    result = _RESULTS.get(tags.get("Result", ""))
    white, black = tags.get("White", ""), tags.get("Black", "")
    if not white or not black or result is None:
        raise ValueError("the game names no players or has no result")
    if "FEN" in tags:
        raise ValueError("the game does not begin at the usual start position")
    number = number_of(tags.get("Round", ""))
    pair = None if number is None else (where, number // 2)
    return OpenedGame(PlayedResult(white, black, result, pair), eco.classify(list(_book_moves(body))))


def _book_moves(body: str) -> Iterator[str]:
    """The moves before the first comment, leaving out the one that the comment belongs to."""
    words = _NUMBER.sub(" ", body.partition("{")[0]).split()
    board = Board()
    for word in words[:-1]:  # the last one is what the comment belongs to; without comments, the result
        move = board.parse(word)
        yield move
        board.push(move)


def opening_scores(
    player: str, games: Sequence[OpenedGame], skipped: Sequence[Skipped], codes: dict[str, str]
) -> dict[str, Any]:
    """The player's score by opening against each opponent, and against all of them where there are several.

    `codes` are the families' ranges of ECO codes (`EcoTable.codes`).
    """
    own = [game for game in games if player in game.players]
    if not own:
        names = sorted({name for game in games for name in game.players})
        raise UserError(
            f"{player!r} plays in none of the games; the players are {', '.join(names[:20]) or 'none'}"
        )
    opponents = [name for name, _ in Counter(game.opponent(player) for game in own).most_common()]
    tables = [_table(player, own, codes, "all")] if len(opponents) > 1 else []
    for opponent in opponents:
        tables.append(_table(player, [g for g in own if g.opponent(player) == opponent], codes, opponent))
    return {
        "player": player,
        "against": tables,
        "skipped": len(skipped),
        "skipped_games": [asdict(one) for one in skipped[:NAMED]],
    }


def _table(player: str, games: Sequence[OpenedGame], codes: dict[str, str], opponent: str) -> dict[str, Any]:
    volumes: dict[str, list[PlayedResult]] = defaultdict(list)
    families: dict[str, list[PlayedResult]] = defaultdict(list)
    for game in games:
        volumes[game.volume].append(game.result)
        families[game.family].append(game.result)
    order = sorted(families, key=lambda name: (-len(families[name]), name))
    return {
        "opponent": opponent,
        **_figures(score_of(player, [game.result for game in games])),
        "by_volume": [
            {"volume": name, **_figures(score_of(player, volumes[name]))} for name in sorted(volumes)
        ],
        "by_family": [
            {"eco": codes.get(name, ""), "name": name, **_figures(score_of(player, families[name]))}
            for name in order
        ],
    }


def _figures(score: Score) -> dict[str, Any]:
    return {
        "games": score.games,
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
        "score_share": round(score.share, 6),
        "score_95": [round(end, 6) for end in score.share_95()],
    }
