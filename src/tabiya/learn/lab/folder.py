"""The folder of an experiment: where everything lies, and that it belongs together.

    lab.json          the settings the networks are trained with
    runs/NAME/        the training run of a network; of no use once the network is there
    networks/         NAME.onnx (or .nnue) and its manifest NAME.json: all that playing needs
    play.json         the settings of the games, and the checksums of the networks that play
    games/PART/       the games, kept by the arena
    exams/            NAME.KIND.json: what a network answered puzzles and other questions
    claims/           who is at what just now, where several processes work side by side
    report.json .md .png

`lab.json` and `networks/` are all that has to travel from the machine that
trains to the one that plays; of networks that have played, the manifests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tabiya.errors import UserError
from tabiya.files import claimed, refuse_other_settings, replacing, write_json
from tabiya.learn.lab.comparison import Variant
from tabiya.learn.sidecar import read_sidecar, sidecar_path
from tabiya.reports.drawing import can_draw

Record: TypeAlias = dict[str, Any]
"""All that was measured of an experiment, as it stands in report.json."""


@dataclass(frozen=True)
class LabFolder:
    """An experiment's folder."""

    path: Path
    suffix: str = ".onnx"
    """Of a network's file."""

    def run(self, name: str) -> Path:
        return self.path / "runs" / name

    def network(self, name: str) -> Path:
        return self.path / "networks" / f"{name}{self.suffix}"

    def games(self, part: str) -> Path:
        return self.path / "games" / part

    def exam(self, name: str, kind: str) -> Path:
        return self.path / "exams" / f"{name}.{kind}.json"

    def claim(self, what: str) -> AbstractContextManager[bool]:
        """Whether this process is the one that does it; what another one is at is left to it.

        A claim ends with its process, however that ends.
        """
        return claimed(self.path / "claims" / f"{what}.lock")

    def report(self, suffix: str) -> Path:
        return self.path / f"report{suffix}"

    def write_report(
        self, record: Record, text: Callable[[Record], str], draw: Callable[[Record, Path], object]
    ) -> Record:
        """Make report.json, report.md and, where pictures can be drawn, report.png; the record again."""
        write_json(self.report(".json"), record)
        with replacing(self.report(".md")) as part:
            part.write_text(text(record), encoding="utf-8")
        if can_draw():
            draw(record, self.report(".png"))
        return record

    def has_network(self, name: str) -> bool:
        """Whether a network is there and whole; one whose manifest fits another file is refused."""
        network = self.network(name)
        if not sidecar_path(network).exists():
            return False
        read_sidecar(network)
        return True

    def manifests(self, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """The manifests of these networks; a UserError if one is still to be trained.

        A network that has played and answered all may be gone: its manifest says who it was.
        """
        found = {}
        for name in names:
            if not sidecar_path(self.network(name)).exists():
                raise UserError(f"{self.path} lacks the network {name}: run the stage train first")
            found[name] = read_sidecar(self.network(name), elsewhere=True)
        return found

    def lacking(self, variants: Iterable[Variant]) -> list[Variant]:
        """Those of the networks that are still to be trained."""
        return [variant for variant in variants if not self.has_network(variant.name)]

    def network_sums(self, names: Iterable[str]) -> dict[str, str]:
        """The checksums of these networks; a UserError if one is still to be trained."""
        return {name: manifest["sha256"] for name, manifest in self.manifests(names).items()}

    def begin_games(self, names: Sequence[str], **settings: Any) -> dict[str, str]:
        """Hold the games to these very networks, and to how they play; the networks' checksums.

        Some may play before the others are there: whoever is new joins.
        """
        sums = self.network_sums(names)
        joining = dict(_flat({"networks": sums}))
        self.begin("play.json", {**settings, **joining}, may_join=joining.keys())
        return sums

    def begin(self, file: str, settings: dict[str, Any], may_join: Container[str] = ()) -> None:
        """Hold the folder to the settings it was begun with; those that may join need not have been there."""
        path = self.path / file
        # Through JSON: what is compared is what was written. Flat: a refusal names one setting.
        settings = json.loads(json.dumps(dict(_flat(settings))))
        before = read_json(path) if path.exists() else {}
        if before:
            known = {
                name: value for name, value in settings.items() if name in before or name not in may_join
            }
            refuse_other_settings(self.path, before, known)
        if settings.keys() - before.keys():
            write_json(path, before | settings)


def _flat(settings: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield above + name, value


def read_json(path: Path) -> dict[str, Any]:
    """A small JSON file; a damaged one is named."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}; delete it to make it again") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} is damaged: it holds no table; delete it to make it again")
    return found
