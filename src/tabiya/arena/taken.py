"""Games of earlier matches, taken into the folder of a list.

Only games that the arena wrote, between two players of the list, at the pace
of the list. Each keeps its moves, comments and partner and gets a new number;
the tag `Taken` says which game of which file it was, so taking a file in twice
changes nothing. From then on it is a game of the list like any other: rated,
kept in the order of the numbers, shown on the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabiya.arena.pgn import escaped, round_of
from tabiya.arena.store import Store, StoredGame, whole_games
from tabiya.errors import UserError
from tabiya.files import checksum, open_binary


@dataclass(frozen=True)
class Taken:
    """What became of the games of one file."""

    file: str
    sha256: str
    games: int
    """Now in the folder, whether taken in now or before."""
    others: int
    """Left out: one of the players is not of the list."""

    def summary(self) -> dict[str, Any]:
        return {"file": self.file, "sha256": self.sha256, "games": self.games, "others": self.others}


def take_in(path: Path, store: Store, names: Sequence[str], aliases: Mapping[str, str], pace: str) -> Taken:
    """Take a file's games between players of the list into the store; another pace is refused."""
    digest = checksum(path) if path.is_file() else ""
    with open_binary(path) as stream:
        data = stream.read()
    here = {game.tags["Taken"] for game in store.games.values() if "Taken" in game.tags}
    base = 2 * (1 + max((number // 2 for number in store.games), default=-1))
    games, others = 0, 0
    for chunk in whole_games(data):
        try:
            game = StoredGame(chunk.decode("utf-8"))
        except (ValueError, UnicodeDecodeError):
            raise UserError(f"{path} holds games that were not written by the arena") from None
        white, black = aliases.get(game.white, game.white), aliases.get(game.black, game.black)
        if white not in names or black not in names or white == black:
            others += 1
            continue
        if game.tags.get("Limit") != pace:
            raise UserError(
                f"round {game.tags['Round']} of {path} was played at {game.tags.get('Limit', 'no limit')} "
                f"and this list is at {pace}: such games cannot be counted together"
            )
        games += 1
        mark = f"{digest[:16]} {game.tags['Round']}"
        if mark not in here:
            store.append(_renamed(game, white, black, round_of(base + game.number), mark))
    return Taken(path.name, digest, games, others)


def _renamed(game: StoredGame, white: str, black: str, turn: str, mark: str) -> str:
    head, blank, rest = game.text.partition("\n\n")
    new = {"Round": turn, "White": white, "Black": black}
    lines = []
    for line in head.splitlines():
        tag = line[1:].partition(" ")[0]
        if tag == "Taken":
            continue  # it came from there by way of another list
        lines.append(f'[{tag} "{escaped(new[tag])}"]' if tag in new else line)
    return "\n".join([*lines, f'[Taken "{mark}"]']) + blank + rest
