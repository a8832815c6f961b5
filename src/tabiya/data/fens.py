"""Positions written as text: the lines of FEN and EPD files, packed.

Labels and their sources are often plain lists of positions. This file knows
how such a line is taken apart and how a bad one is named by file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tabiya import _core
from tabiya.errors import UserError
from tabiya.files import numbered_lines

COMPRESSED = (".gz", ".bz2", ".zst", ".xz")
BATCH = 4096


def stem_and_kind(path: str | Path) -> tuple[str, str]:
    """A file's name without its endings, and the ending that says what it is.

    >>> stem_and_kind("games/elite-00.pgn.zst")
    ('elite-00', 'pgn')
    """
    name = Path(path).name
    if name.endswith(COMPRESSED):
        name = name.rpartition(".")[0]
    stem, _, kind = name.rpartition(".")
    return stem or name, kind.lower()


def lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a text file, plain or compressed, that are neither empty nor # comments."""
    path = Path(path)
    for number, raw in numbered_lines(path):
        try:
            text = raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise UserError(f"{path}, line {number} is not text: {raw[:40]!r}") from None
        if text.strip() and not text.startswith("#"):
            yield number, text


def fen_of(line: str) -> str:
    """The FEN at the head of a FEN or EPD line; counters that are not there are 0 and 1.

    >>> fen_of("8/8/8/8/8/5k2/6q1/7K w - - bm none; id 1")
    '8/8/8/8/8/5k2/6q1/7K w - - 0 1'
    """
    fields = line.split("\t")[0].split()
    counters = fields[4:6] if len(fields) >= 6 and fields[4].isdigit() and fields[5].isdigit() else ["0", "1"]
    return " ".join([*fields[:4], *counters])


def pack_lines(path: Path, numbered: Sequence[tuple[int, str]]) -> NDArray[np.uint8]:
    """The positions of FEN or EPD lines, packed; a bad one is named by its line."""
    fens = [fen_of(text) for _, text in numbered]
    try:
        return _core.pack_fens(fens)
    except ValueError:
        for (number, _), fen in zip(numbered, fens, strict=True):
            try:
                _core.pack_fens([fen])
            except ValueError as error:
                raise UserError(f"{path}, line {number}: {error}") from None
        raise


def read_positions(path: str | Path) -> NDArray[np.uint8]:
    """Every position of a FEN or EPD file, packed, [N, 32]."""
    path = Path(path)
    numbered = lines(path)
    packed = [np.zeros((0, 32), np.uint8)]
    while batch := list(islice(numbered, BATCH)):
        packed.append(pack_lines(path, batch))
    return np.concatenate(packed)
