"""The JSON file beside labels: whose they are, under which limit, how many, and the time they took.

Work goes on only under the settings it was begun with; this file is what
remembers them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import replacing

FORMAT = "tabiya-labels"
VERSION = 1


class Ledger:
    """What TARGET.json says of the labels in TARGET."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.settings = path, settings
        self.labelled, self.seconds, self.complete = 0, 0.0, False

    def check(self, target: Path) -> None:
        """Take over the count of an earlier run; refuse if it had other settings."""
        try:
            earlier = json.loads(self.path.read_text())
            settings = {name: earlier[name] for name in self.settings}
            self.seconds, self.labelled = float(earlier["seconds"]), int(earlier["labelled"])
        except FileNotFoundError:
            raise UserError(
                f"{target} exists without {self.path.name} that says whose it is: move it away"
            ) from None
        except (KeyError, TypeError, ValueError):
            raise UserError(f"{self.path} is damaged: move it and {target.name} away to label anew") from None
        for name, value in self.settings.items():
            if settings[name] != value:
                raise UserError(
                    f"{target} was begun with {name} {_in_words(settings[name])}, not {_in_words(value)}: "
                    "use the same settings, or another --out"
                )

    def entries(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            **self.settings,
            "labelled": self.labelled,
            "seconds": round(self.seconds, 1),
            "complete": self.complete,
        }

    def save(self) -> None:
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(self.entries(), indent=1) + "\n")


def _in_words(setting: Any) -> str:
    if isinstance(setting, dict):
        return ", ".join(f"{name} {value}" for name, value in setting.items()) or "none"
    return repr(setting) if isinstance(setting, str) else str(setting)
