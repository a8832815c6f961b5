"""The page of ratings: rating lists, matches and evaluations that lie in the results, and their games.

Read from the JSON files that `tabiya tournament`, `match`, `eval` and
`promote` write; a file of another kind is passed over.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import chess.pgn

from tabiya.files import open_text
from tabiya.web import limits
from tabiya.web.archive import Archive, key_of, read_object
from tabiya.web.positions import line, replayed
from tabiya.web.refusal import Refusal

MOST_LISTED_GAMES = 200


def overview(archive: Archive) -> dict[str, Any]:
    """All results, each kind in a list of its own, the newest first."""
    found: dict[str, list[dict[str, Any]]] = {"lists": [], "matches": [], "evaluations": []}
    for path in archive.files(".json").values():
        value = read_object(path)
        if value is None:
            continue
        about = {
            "key": key_of(path),
            "name": archive.name(path),
            "games_at_hand": _games_file(path) is not None,
        }
        about |= {name: value.get(name) for name in ("question", "verdict", "date", "commit", "games")}
        players = _rated_players(value)
        if players:
            found["lists"].append(about | {"players": players})
        elif "elo" in value and isinstance(value.get("players"), list):
            found["matches"].append(about | _match(value))
        elif isinstance(value.get("figures"), dict) and "player" in value:
            found["evaluations"].append(
                about | {"player": value["player"], "figures": _plain(value["figures"])}
            )
    for entries in found.values():
        entries.sort(key=lambda each: (str(each.get("date") or ""), each["name"]), reverse=True)
    # A list of many who could be rated says more than one in which somebody beat everybody.
    found["lists"].sort(key=lambda each: -sum(line["rating"] is not None for line in each["players"]))
    return found


_LINE = ("name", "rating", "rating_95", "games", "score_share", "anchor", "as_if_free", "as_if_free_95")


def _rated_players(value: dict[str, Any]) -> list[dict[str, Any]]:
    holder = value.get("ratings") if isinstance(value.get("ratings"), dict) else value
    players = holder.get("players") if isinstance(holder, dict) else None
    if not isinstance(players, list):
        return []
    return [
        {name: each.get(name) for name in _LINE}
        for each in players
        if isinstance(each, dict) and isinstance(each.get("name"), str) and "rating" in each
    ]


def _match(value: dict[str, Any]) -> dict[str, Any]:
    names = ("players", "elo", "elo_95", "wins", "draws", "losses", "score_share", "los")
    return {name: value.get(name) for name in names}


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures that are one number each."""
    return {name: each for name, each in figures.items() if type(each) in (int, float)}


def _games_file(result: Path) -> Path | None:
    """The games beside a result: as they were played, or the smaller file that comes along."""
    for name in ("games.pgn", "games.pgn.bz2"):
        if result.with_name(name).is_file():
            return result.with_name(name)
    return None


def games_of(archive: Archive, key: str, start: int = 0) -> dict[str, Any]:
    """Some of the games of a result, from the one with this number on: who played, how it ended."""
    games = _games(archive, key)
    shown = [game.about | {"number": at} for at, game in enumerate(games)][start : start + MOST_LISTED_GAMES]
    return {"games": shown, "most": MOST_LISTED_GAMES, "total": len(games)}


def game_of(archive: Archive, key: str, number: int) -> dict[str, Any]:
    """One game of a result, to be played through."""
    games = _games(archive, key)
    if not 0 <= number < len(games):
        raise Refusal("there is no such game in this file", 404)
    game = chess.pgn.read_game(io.StringIO(games[number].text))
    if game is None:
        raise Refusal("there is no such game in this file", 404)
    if game.errors:
        raise Refusal(f"this game cannot be shown: {game.errors[0]}")
    board = replayed(game.board().fen(), [move.uci() for move in game.mainline_moves()])
    return {
        "white": game.headers.get("White", "?")[:80],
        "black": game.headers.get("Black", "?")[:80],
        "result": game.headers.get("Result", "*"),
        "start_fen": board.start_fen,
        "moves": line(board),
    }


@dataclass(frozen=True)
class _Game:
    """A game of a file, not yet read further than its tags."""

    about: dict[str, str]
    text: str


def _games(archive: Archive, key: str) -> tuple[_Game, ...]:
    path = _games_file(archive.find(".json", key))
    if path is None:
        raise Refusal("the games of this result are not here: they are too many to come along", 404)
    state = path.stat()
    if state.st_size > limits.LARGEST_FILE:
        raise Refusal(_TOO_MANY)
    return _games_in(path, state.st_mtime_ns, state.st_size)


_TOO_MANY = "the games of this result are too many for the page: open the PGN in a chess program"


@lru_cache(maxsize=2)
def _games_in(path: Path, _time: int, _size: int) -> tuple[_Game, ...]:
    """The games of a file, cut apart at their tags; kept while people leaf through them."""
    with open_text(path) as stream:
        text = stream.read(limits.LARGEST_FILE + 1)
    if len(text) > limits.LARGEST_FILE:
        raise Refusal(_TOO_MANY)
    found = []
    for piece in re.split(r"\n\s*\n(?=\[\w+ \")", text):
        if piece.strip():
            tags = dict(re.findall(r'^\[(\w+)\s+"(.*)"\]\s*$', piece, re.MULTILINE))
            names = ("White", "Black", "Result", "Round")
            found.append(_Game({name.lower(): tags.get(name, "?")[:80] for name in names}, piece))
    return tuple(found)
