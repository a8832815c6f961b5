"""An alphabet of strokes, for pictures that are made without a font.

A letter is lines on a grid four wide: each pair of digits is a point, x then
y; the baseline is at y 2, small letters reach 6 and tall ones 8.
"""

from __future__ import annotations

from functools import cache

GRID = 8.4
"""Units of the grid to one unit of a text's size."""
_BOWL = "45 36 16 05 03 12 32 43"
_RING = "18 38 47 43 32 12 03 07 18"
_QUOTE = "08 06;28 26"

LETTERS: dict[str, str] = {
    "a": f"46 42;{_BOWL}",
    "b": "08 02;05 16 36 45 43 32 12 03",
    "c": _BOWL,
    "d": f"48 42;{_BOWL}",
    "e": "04 44 45 36 16 05 03 12 32 43",
    "f": "12 17 28 38;06 36",
    "g": f"46 41 30 10 01;{_BOWL}",
    "h": "08 02;05 16 36 45 42",
    "i": "02 06;08 08",
    "j": "16 11 00;18 18",
    "k": "08 02;36 04;15 42",
    "l": "08 02",
    "m": "06 02;05 16 25 22;25 36 45 42",
    "n": "06 02;05 16 36 45 42",
    "o": "16 36 45 43 32 12 03 05 16",
    "p": "06 00;05 16 36 45 43 32 12 03",
    "q": f"46 40;{_BOWL}",
    "r": "06 02;04 16 36",
    "s": "45 36 16 05 14 34 43 32 12 03",
    "t": "18 13 22 32;06 36",
    "u": "06 03 12 32 43;46 42",
    "v": "06 22 46",
    "w": "06 12 25 32 46",
    "x": "06 42;02 46",
    "y": "06 22;46 22 10 00",
    "z": "06 46 02 42",
    "A": "02 28 42;14 34",
    "B": "02 08 38 47 46 35 05;35 44 43 32 02",
    "C": "47 38 18 07 03 12 32 43",
    "D": "02 08 28 46 44 22 02",
    "E": "48 08 02 42;05 35",
    "F": "48 08 02;05 35",
    "G": "47 38 18 07 03 12 32 43 45 25",
    "H": "08 02;48 42;05 45",
    "I": "08 28;18 12;02 22",
    "J": "38 33 22 12 03",
    "K": "08 02;48 05;15 42",
    "L": "08 02 42",
    "M": "02 08 25 48 42",
    "N": "02 08 42 48",
    "O": _RING,
    "P": "02 08 38 47 46 35 05",
    "Q": f"{_RING};24 42",
    "R": "02 08 38 47 46 35 05;25 42",
    "S": "47 38 18 07 06 15 35 44 43 32 12 03",
    "T": "08 48;28 22",
    "U": "08 03 12 32 43 48",
    "V": "08 22 48",
    "W": "08 12 26 32 48",
    "X": "08 42;02 48",
    "Y": "08 25 48;25 22",
    "Z": "08 48 02 42",
    "0": _RING,
    "1": "06 18 12;02 22",
    "2": "07 18 38 47 46 02 42",
    "3": "07 18 38 47 46 35 44 43 32 12 03;15 35",
    "4": "32 38 04 44",
    "5": "48 08 05 35 44 43 32 12 03",
    "6": "47 38 18 07 03 12 32 43 44 35 15 04",
    "7": "08 48 12",
    "8": "15 06 07 18 38 47 46 35 15 04 03 12 32 43 44 35",
    "9": "03 12 32 43 47 38 18 07 06 15 35 46",
    ".": "02 02",
    ",": "12 01",
    ":": "02 02;05 05",
    ";": "12 01;15 15",
    "'": "08 06",
    "’": "08 06",
    '"': _QUOTE,
    "“": _QUOTE,
    "”": _QUOTE,
    "(": "18 06 04 12",
    ")": "08 16 14 02",
    "[": "18 08 02 12",
    "]": "08 18 12 02",
    "+": "05 45;27 23",
    "-": "05 25",
    "–": "05 45",
    "−": "05 45",
    "=": "04 44;06 46",
    "#": "12 18;32 38;04 44;06 46",
    "%": "02 48;08 18 17 07 08;43 33 32 42 43",
    "/": "02 38",
    "!": "08 04;02 02",
    "?": "07 18 38 47 46 25 24;22 22",
    "…": "02 02;22 22;42 42",
    "→": "05 45 36;45 34",
    "×": "03 37;07 33",
    "·": "05 05",
}
_UNKNOWN = "02 42 48 08 02"


@cache
def strokes(letter: str) -> tuple[tuple[tuple[float, float], ...], ...]:
    """The lines of a letter, in units of the text's size from its place on the baseline; a box if unknown."""
    if letter == " ":
        return ()
    return tuple(
        tuple((int(point[0]) / GRID, (int(point[1]) - 2) / GRID) for point in line.split())
        for line in LETTERS.get(letter, _UNKNOWN).split(";")
    )


@cache
def width_of(letter: str) -> float:
    """How far the next letter stands, in units of the text's size."""
    reach = max((x for line in strokes(letter) for x, _ in line), default=1 / GRID)
    return reach + 1.7 / GRID


def wrapped(text: str, size: float, width: float) -> list[str]:
    """Lines of words that fit into a width.

    >>> wrapped("it plays h3 instead", 10, 60)
    ['it plays h3', 'instead']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and sum(width_of(letter) for letter in longer) * size <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
