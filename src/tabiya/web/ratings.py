"""The page of ratings: rating lists, matches and evaluations that lie in the results, and their games.

Read from the JSON files that `tabiya tournament`, `match`, `eval` and
`promote` write; a file of another kind is passed over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TextIO

import chess.pgn

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
            "games_at_hand": _games_file(path).is_file(),
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
    return found


def _rated_players(value: dict[str, Any]) -> list[dict[str, Any]]:
    holder = value.get("ratings") if isinstance(value.get("ratings"), dict) else value
    players = holder.get("players") if isinstance(holder, dict) else None
    if not isinstance(players, list):
        return []
    return [
        {name: each.get(name) for name in ("name", "rating", "rating_95", "games", "score_share", "anchored")}
        for each in players
        if isinstance(each, dict) and isinstance(each.get("name"), str) and "rating" in each
    ]


def _match(value: dict[str, Any]) -> dict[str, Any]:
    names = ("players", "elo", "elo_95", "wins", "draws", "losses", "score_share", "los")
    return {name: value.get(name) for name in names}


def _plain(figures: dict[str, Any]) -> dict[str, Any]:
    """The figures that are one number each."""
    return {name: each for name, each in figures.items() if type(each) in (int, float)}


def _games_file(result: Path) -> Path:
    return result.with_name("games.pgn")


def games_of(archive: Archive, key: str) -> dict[str, Any]:
    """The games of a result: who played, how it ended."""
    found: list[dict[str, Any]] = []
    with _opened(archive, key) as stream:
        while len(found) < MOST_LISTED_GAMES:
            headers = chess.pgn.read_headers(stream)
            if headers is None:
                break
            names = ("White", "Black", "Result", "Round")
            found.append(
                {name.lower(): headers.get(name, "?")[:80] for name in names} | {"number": len(found)}
            )
    return {"games": found, "most": MOST_LISTED_GAMES}


def game_of(archive: Archive, key: str, number: int) -> dict[str, Any]:
    """One game of a result, to be played through."""
    if not 0 <= number < MOST_LISTED_GAMES:
        raise Refusal("there is no such game in this file", 404)
    with _opened(archive, key) as stream:
        for _ in range(number):
            if not chess.pgn.skip_game(stream):
                break
        game = chess.pgn.read_game(stream)
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


def _opened(archive: Archive, key: str) -> TextIO:
    path = _games_file(archive.find(".json", key))
    if not path.is_file():
        raise Refusal("the games of this result are not here: they are too many to come along", 404)
    if path.stat().st_size > limits.LARGEST_FILE:
        raise Refusal("the games of this result are too many for the page: open the PGN in a chess program")
    return path.open(encoding="utf-8", errors="replace")
