"""A finished game as PGN, with each player's scores and times.

The comment after a move has the mover's score from White's view, in pawns,
with its depth, and the seconds the move took: `{[%eval 0.35,12] [%emt
0:00:00.104]}`. These are the words that `tabiya data extract` and most chess
programs read, so the arena's games can be studied or learned from as they are.
The Round is `pair.game`: 17.1 and 17.2 are the two games on opening 17.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tabiya._core import Board
from tabiya.arena.record import GameRecord, PlayedMove
from tabiya.protocols.scores import mate_in

WIDTH = 100
_GLUE = "\x00"
"""A space at which no line is broken: some readers take a line that begins with "[" for a tag."""


def game_to_pgn(
    record: GameRecord,
    *,
    event: str = "Tabiya match",
    date: str = "????.??.??",
    pace: tuple[str, str] = ("?", ""),
) -> str:
    """The game with a blank line after it; `pace` is the TimeControl tag and the limit in words."""
    start = Board(record.opening.start_fen)
    tags = {
        "Event": event,
        "Site": "?",
        "Date": date,
        "Round": round_of(record.number),
        "White": record.white,
        "Black": record.black,
        "Result": record.result,
    }
    if record.opening.start_fen != Board().fen():
        tags |= {"SetUp": "1", "FEN": record.opening.start_fen}
    if record.opening.name:
        tags["Opening"] = record.opening.name
    tags |= {
        "PlyCount": str(len(record.opening.moves) + len(record.moves)),
        "TimeControl": pace[0],
        "Limit": pace[1],
        "Termination": record.ending,
        "GameEnd": record.reason,
    }
    head = "\n".join(f'[{name} "{escaped(value)}"]' for name, value in tags.items() if value)
    words = " ".join([*_movetext(start, record), f"{{{_comment(record.reason)}}}", record.result])
    body = textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"{head}\n\n{body.replace(_GLUE, ' ')}\n\n"


def round_of(number: int) -> str:
    """Game 0 is round 1.1, game 1 is 1.2, game 2 is 2.1."""
    return f"{number // 2 + 1}.{number % 2 + 1}"


def number_of(text: str) -> int | None:
    """The number of the game in a round, if `round_of` wrote it."""
    pair, dot, game = text.partition(".")
    if not (dot and pair.isdecimal() and int(pair) > 0 and game in ("1", "2")):
        return None
    return 2 * (int(pair) - 1) + int(game) - 1


def _movetext(board: Board, record: GameRecord) -> Iterator[str]:
    first = True
    for move in record.opening.moves:
        yield _numbered(board, board.san(move), first)
        board.push(move)
        first = False
    for played in record.moves:
        yield _numbered(board, played.san, first)
        yield f"{{{_said(played, board.white_to_move)}}}"
        board.push(played.move)
        # After a comment the move number is given again.
        first = True


def _numbered(board: Board, san: str, first: bool) -> str:
    if board.white_to_move:
        return f"{board.fullmove_number}. {san}"
    return f"{board.fullmove_number}... {san}" if first else san


def _said(played: PlayedMove, white: bool) -> str:
    parts = []
    if played.score is not None:
        score = played.score if white else -played.score
        mate = mate_in(score)
        # Adding 0 makes the -0.0 of a level game 0.0.
        text = f"{round(score / 100, 2) + 0:.2f}" if mate is None else f"#{mate}"
        depth = "" if played.depth is None else f",{played.depth}"
        parts.append(f"[%eval {text}{depth}]")
    minutes, seconds = divmod(round(played.seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts.append(f"[%emt {hours}:{minutes:02}:{seconds:06.3f}]")
    return " ".join(parts).replace(" ", _GLUE)


def escaped(value: str) -> str:
    """A text as it stands between the quotation marks of a tag."""
    return " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"')


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("{", "(").replace("}", ")")
