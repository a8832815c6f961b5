"""What a run's folder says of itself: its settings, its record, its log; read without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya.errors import UserError

LOG_FILE = "log.jsonl"
BEFORE_FILE = "before.json"
"""What the network that a run began with had learned from already."""
RECORDS = ("record.json", "manifest.json")
"""Where a run may have written what it learned from, the first that is there."""


def trained_on(folder: Path) -> dict[str, Any]:
    """What the run learned from: the `trained_on` of its record, or the whole of it; empty without one."""
    for name in RECORDS:
        found = _object(folder / name)
        if found is not None:
            inner = found.get("trained_on", found)
            if not isinstance(inner, dict):
                raise UserError(f"trained_on in {folder / name} must be an object, got {inner!r}")
            return dict(inner)
    return {}


def run_config(folder: Path) -> dict[str, Any]:
    """The settings that the run was begun with; empty where the folder is of no run."""
    return _object(folder / "config.json") or {}


def learned_by(network: Path) -> dict[str, Any]:
    """Steps, positions shown, device minutes and held-out losses of `step-N`, by the files of its run.

    What it began with is under `before`.
    """
    folder, number = network.parent, network.stem.removeprefix("step-")
    if not number.isdigit():
        return {}
    step = int(number)
    lines = [line for line in read_log(folder) if line["step"] <= step]
    if not lines:
        return {}
    figures: dict[str, Any] = {"steps": step, "device_minutes": round(lines[-1]["seconds"] / 60, 2)}
    figures |= {key: value for key, value in lines[-1].items() if key.startswith("validation_")}
    batch = run_config(folder).get("batch")
    figures |= {} if batch is None else {"positions_seen": step * batch}
    return figures | learned_before(folder)


def learned_before(folder: Path) -> dict[str, Any]:
    """`before`: checksum and training of the network that the run began with; empty where it began afresh."""
    found = _object(folder / BEFORE_FILE)
    return {} if found is None else {"before": found}


def _object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} must hold one object")
    return found


def read_log(folder: str | Path) -> list[dict[str, Any]]:
    """The reports of a run in the order they were made, without its notes; none where there is no log."""
    return [line for line in log_lines(Path(folder) / LOG_FILE) if "note" not in line]


def last_figures(log: list[dict[str, Any]], beginning: str) -> dict[str, Any]:
    """The newest value of every figure whose name begins so."""
    figures: dict[str, Any] = {}
    for line in log:
        figures |= {key: value for key, value in line.items() if key.startswith(beginning)}
    return figures


def log_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a log; the last may be cut off, any other must be right."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    *whole, _cut_off = content.split(b"\n")
    lines = []
    for number, text in enumerate(whole, 1):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict) or type(line.get("step")) is not int:
            raise UserError(f"{path}, line {number} is damaged: move the file away to begin a new log")
        lines.append(line)
    return lines
