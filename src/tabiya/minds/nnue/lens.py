"""The NNUE as the lens sees it: pieces taken from its board, and features silenced in its network.

A feature whose weights are zero is a feature the network does not see. The
two best lines of the search are compared by what the network makes of their
ends; the features that tell the two ends apart are silenced one by one, and
those that move the comparison most are put to the whole search.
"""

from __future__ import annotations

import re
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabiya._core import Board, FeatureSet, QuantisedNetwork, SearchEngine, StopFlag
from tabiya.lens.interface import Finding, OwnReasons
from tabiya.lens.removal import RemovalSubject
from tabiya.minds.nnue.player import NnuePlayer
from tabiya.player import Limit, Player

SEARCHED = 4
"""Features that are put to the whole search: those whose silence changes the comparison most."""
SHOWN = 12
_HASH = 16


def subject(player: Player, board: Board, limit: Limit) -> NnueSubject:
    """What `tabiya.lens.interface.look_into` asks for."""
    assert isinstance(player, NnuePlayer)
    made = NnueSubject(player, board, limit)
    if player._engine.network is None:
        made.notes.append("there is no network, so there are no features to look at")
    return made


def without_feature(content: bytes, feature: int) -> bytes:
    """A network file in which one feature has no weight."""
    expression, features, l1 = struct.unpack_from("<3I", content, 12)
    if not 0 <= feature < features:
        raise ValueError(f"the network has features 0 to {features - 1}, not {feature}")
    start = 52 + expression + 2 * l1 * (1 + feature)
    body = content[:start] + bytes(2 * l1) + content[start + 2 * l1 : -4]
    return body + struct.pack("<I", zlib.crc32(body))


def as_white_names_it(name: str, white_to_move: bool) -> str:
    """A feature's name on the real board: seen by Black, colours and ranks are exchanged.

    >>> as_white_names_it("white knight on f3", white_to_move=False)
    'black knight on f6'
    """
    if white_to_move:
        return name
    swap = {"white": "black", "black": "white", "above": "below", "below": "above"}
    name = re.sub(r"\b(white|black|above|below)\b", lambda word: swap[word[0]], name)
    return re.sub(r"\b([a-h])([1-8])\b", lambda square: f"{square[1]}{9 - int(square[2])}", name)


@dataclass
class NnueSubject(RemovalSubject):
    """One network, or the handmade evaluation, before one position."""

    def own_reasons(self, chosen: str) -> OwnReasons:
        assert isinstance(self.player, NnuePlayer)
        if self.player._engine.network is None:
            return OwnReasons()
        settings = self.player.settings
        path = Path(settings.eval_file).expanduser() if settings.eval_file else self.player._usual
        assert path is not None
        content = path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            return self._compare(chosen, content, Path(folder))

    def _search(self, content: bytes, folder: Path, lines: int) -> list[list[str]]:
        """The best lines of a search with this network."""
        file = folder / "changed.nnue"
        file.write_bytes(content)
        found = SearchEngine(file, _HASH, 1).search(
            self.board,
            StopFlag(),
            movetime=self.limit.movetime,
            nodes=self.limit.nodes,
            depth=self.limit.depth,
            lines=lines,
        )
        return [line["pv"] for line in found["lines"]]

    def _compare(self, chosen: str, content: bytes, folder: Path) -> OwnReasons:
        lines = self._search(content, folder, 2)
        other = next((line for line in lines if line[0] != chosen), None)
        own = next((line for line in lines if line[0] == chosen), [chosen])
        if other is None:
            return OwnReasons()
        ends = [self._end(own), self._end(other)]
        if any(end.outcome() is not None for end in ends):
            return OwnReasons()  # the rules decide there, not the network
        features = FeatureSet(QuantisedNetwork(content).expression)
        seen = [self._active(features, end) for end in ends]
        whole = self._advantage(content, ends)
        rows: list[dict[str, Any]] = []
        for feature in sorted(seen[0] ^ seen[1]):
            advantage = self._advantage(without_feature(content, feature), ends)
            line = own if feature in seen[0] else other
            rows.append(
                {
                    "feature": as_white_names_it(features.name(feature), self.board.white_to_move),
                    "number": feature,
                    "after": self._names(line),
                    "worth": round(whole - advantage, 1),
                }
            )
        rows.sort(key=lambda row: -abs(row["worth"]))
        # Against the same engine without a change: the player's own may have other settings.
        plays = self._search(content, folder, 1)[0][0]
        findings = []
        for row in rows[:SEARCHED]:
            choice = self._search(without_feature(content, row["number"]), folder, 1)[0][0]
            row["choice"], row["changed"] = choice, choice != plays
            findings.append(
                Finding(
                    f"The feature “{row['feature']}” decides: without it, it plays {self.board.san(choice)}.",
                    f"weights of feature {row['number']} set to 0, the search made again",
                    choice != plays and plays == chosen,
                    abs(row["worth"]),
                )
            )
        if rows:
            findings.append(
                Finding(
                    f"Between {self._names(own)} and {self._names(other)} the feature that tells most is "
                    f"“{rows[0]['feature']}”: {abs(rows[0]['worth']):.0f} of {abs(whole):.0f} centipawns.",
                    f"weights of feature {rows[0]['number']} set to 0, both ends evaluated again",
                    abs(rows[0]["worth"]) >= 1,
                    0.0,
                )
            )
        return OwnReasons("features", tuple(rows[:SHOWN]), tuple(findings))

    def _names(self, line: list[str]) -> str:
        walk, said = self.board.copy(), []
        for move in line[:4]:
            said.append(walk.san(move))
            walk.push(move)
        return " ".join(said) + (" …" if len(line) > 4 else "")

    def _end(self, line: list[str]) -> Board:
        end = self.board.copy()
        for move in line:
            end.push(move)
        return end

    def _active(self, features: FeatureSet, end: Board) -> set[int]:
        """As the one who moves at the root sees it."""
        return set(features.active(end.packed(), "white" if self.board.white_to_move else "black"))

    def _advantage(self, content: bytes, ends: list[Board]) -> float:
        """How much better the first end is than the second, for the one who moves at the root."""
        packed = np.frombuffer(b"".join(end.packed() for end in ends), np.uint8).reshape(-1, 32)
        values = QuantisedNetwork(content).evaluate(packed)
        mine = [
            int(value) if end.white_to_move == self.board.white_to_move else -int(value)
            for end, value in zip(ends, values, strict=True)
        ]
        return float(mine[0] - mine[1])
