"""The shard format: what `data extract` writes and every mind trains from.

A data folder holds `manifest.json` and pairs of files `NAME.train.pos` and
`NAME.validation.pos`, each a plain array of 48-byte records that numpy maps
with the one dtype below. docs/formats.md spells the bytes out.

    >>> RECORD.itemsize
    48
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabiya.errors import UserError
from tabiya.files import checksum

FORMAT = "tabiya-positions"
VERSION = 1
NO_EVAL = 32767
NO_RESULT = -128

RECORD = np.dtype(
    [
        ("packed", "u1", (32,)),  # the position before the move
        ("move", "<u2"),  # from | to << 6 | promotion << 12 (1 knight, 2 bishop, 3 rook, 4 queen)
        ("eval", "<i2"),  # centipawns from White's view, ±(10000 − n) mate in n, 32767 none
        ("white_elo", "<u2"),  # 0: not known
        ("black_elo", "<u2"),
        ("game", "<u4"),  # number of the game in its source file, from 0
        ("ply", "<u2"),  # half-moves played before this position
        ("result", "i1"),  # 1, 0, −1 for White, −128 unknown
        ("tier", "u1"),  # 0 none, else 1 + index into the manifest's tiers
    ]
)

Split: TypeAlias = Literal["train", "validation"]


@dataclass(frozen=True)
class ShardFolder:
    """An extracted data folder: its manifest and its memory-mapped shards."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, path: str | Path, allow_partial: bool = False) -> ShardFolder:
        """Check the manifest and the size of every shard it names."""
        path = Path(path)
        try:
            manifest = json.loads((path / "manifest.json").read_text())
        except FileNotFoundError:
            raise UserError(f"no manifest.json in {path}: run `tabiya data extract` first") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"{path / 'manifest.json'} is damaged: {error}") from None
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            raise UserError(
                f"{path} holds {manifest.get('format')} version {manifest.get('version')}, "
                f"this program reads {FORMAT} version {VERSION}"
            )
        if not manifest.get("complete") and not allow_partial:
            raise UserError(
                f"the extraction in {path} is not finished: run the same `tabiya data extract` again"
            )
        folder = cls(path, manifest)
        for shard in manifest["shards"]:
            for split in ("train", "validation"):
                file = path / f"{shard['name']}.{split}.pos"
                expected = shard[split] * RECORD.itemsize
                size = file.stat().st_size if file.exists() else -1
                if size != expected:
                    raise UserError(f"shard {file} has {max(size, 0)} bytes, its manifest says {expected}")
        return folder

    def names(self) -> list[str]:
        return [shard["name"] for shard in self.manifest["shards"]]

    def count(self, split: Split) -> int:
        return sum(int(shard[split]) for shard in self.manifest["shards"])

    def shard(self, name: str, split: Split) -> NDArray[np.void]:
        """One shard, memory-mapped; an empty array where it holds nothing."""
        file = self.path / f"{name}.{split}.pos"
        if file.stat().st_size == 0:
            return np.zeros(0, RECORD)
        return np.memmap(file, RECORD, "r")

    def shards(self, split: Split) -> Iterator[tuple[str, NDArray[np.void]]]:
        """Every shard of a split, in the order of the manifest."""
        for name in self.names():
            yield name, self.shard(name, split)


def data_checksum(path: Path) -> str:
    """SHA-256 of a file, or of what a data folder's manifest says it holds.

    How long the extraction took has no part in it: the same games, extracted elsewhere, are the same data.
    """
    if not path.is_dir():
        return checksum(path)
    manifest = {name: value for name, value in ShardFolder.open(path).manifest.items() if name != "seconds"}
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
