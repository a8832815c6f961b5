"""The board as a picture in the terminal: coloured squares where there are colours, brackets where not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabiya._core import Board

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_SOLID = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))
_OUTLINE = dict(zip("KQRBNP", "♔♕♖♗♘♙", strict=True))

# Middle tones: white and black men must both stand out on both kinds of square.
_LIGHT, _DARK = "#8ca2ad", "#5d7a8c"
_LAST_LIGHT, _LAST_DARK = "#9a9a3c", "#7f8130"
_CHECK = "#c0392b"
_WHITE_MAN, _BLACK_MAN = "bold #ffffff", "bold #000000"


def draw(board: Board, console: Console, flipped: bool = False) -> Text:
    """The position with the last move marked, seen from White, or from Black if `flipped`."""
    from rich.text import Text

    colours = console.color_system is not None
    letters = not _can_show("♚", console.encoding)
    last = board.moves[-1] if board.moves else ""
    marked = {last[:2], last[2:4]} if last else set()
    king = ("K" if board.white_to_move else "k") if board.is_check else ""

    files = "hgfedcba" if flipped else "abcdefgh"
    ranks = "12345678" if flipped else "87654321"
    picture = Text()
    for rank in ranks:
        picture.append(f" {rank} ", style="dim")
        for file in files:
            square = file + rank
            man = board.piece_at(square)
            shown = _shown(man, colours, letters)
            light = (ord(file) - ord("a") + int(rank)) % 2 == 0
            if not colours:
                empty = "." if letters else "·"
                picture.append(f"[{shown or empty}]" if square in marked else f" {shown or empty} ")
                continue
            if square in marked:
                ground = _LAST_LIGHT if light else _LAST_DARK
            else:
                ground = _LIGHT if light else _DARK
            if king and man == king:
                ground = _CHECK
            ink = _WHITE_MAN if man is not None and man.isupper() else _BLACK_MAN
            picture.append(f" {shown or ' '} ", style=f"{ink} on {ground}")
        picture.append("\n")
    picture.append("   " + "".join(f" {file} " for file in files), style="dim")
    return picture


def _shown(man: str | None, colours: bool, letters: bool) -> str:
    if man is None:
        return ""
    if letters:
        return man
    # On coloured squares the ink tells the sides apart, and solid men read best.
    return _SOLID[man.lower()] if colours or man.islower() else _OUTLINE[man]


def _can_show(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
