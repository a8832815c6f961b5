"""The record of every network that `wiring` has trained: a line of JSON each, kept before the next begins.

A line is on the disk when `append` returns. What a kill leaves of an unfinished
line is dropped when the record is opened again; that network is then trained
anew, and nothing else is lost.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.minds.transformer.lab.wirings import Wiring
from tabiya.minds.transformer.shape import Wire

JOURNAL = "trials.jsonl"
"""Its name in the experiment's folder."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A network to be trained."""

    wiring: Wiring
    seed: int
    born: str
    """base, founder, mutation, crossover or confirmation."""
    parents: tuple[int, ...] = ()
    """Numbers of the trials whose wirings it descends from."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A network that was trained."""

    number: int
    order: Order
    loss: float
    """On held-out positions, all parts of it; infinite, and null in the file, if the training ran away."""
    details: dict[str, Any]
    """Its parts, and what it cost."""


class Journal:
    """The trials so far, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trials: list[Trial] = []
        if path.exists():
            self._read()

    def append(self, order: Order, loss: float, details: dict[str, Any]) -> Trial:
        """Keep one more; when this returns, it is kept."""
        trial = Trial(number=len(self.trials), order=order, loss=loss, details=details)
        line = {
            "number": trial.number,
            "wiring": [asdict(wire) for wire in order.wiring],
            "seed": order.seed,
            "born": order.born,
            "parents": list(order.parents),
            "loss": loss if math.isfinite(loss) else None,
            **details,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.trials.append(trial)
        return trial

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, text in enumerate(whole.splitlines()):
            self.trials.append(self._trial(number, text))
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def _trial(self, number: int, text: bytes) -> Trial:
        try:
            line = json.loads(text)
            order = Order(
                wiring=tuple(Wire(**wire) for wire in line.pop("wiring")),
                seed=line.pop("seed"),
                born=line.pop("born"),
                parents=tuple(line.pop("parents")),
            )
            if line.pop("number") != number:
                raise ValueError("its number is not its place")
            loss = line.pop("loss")
            return Trial(
                number=number, order=order, loss=math.inf if loss is None else float(loss), details=line
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(f"{self.path}:{number + 1} is no trial of this experiment: {error}") from None
