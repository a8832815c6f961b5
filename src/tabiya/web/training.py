"""The page of training: the curves of the runs whose log.jsonl lies under the server's folders.

Read line by line here and not by the trainers' own module, which stands with
the training stack; the page needs none of that.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tabiya.web import limits
from tabiya.web.archive import Archive, key_of, thinned

LOG = "log.jsonl"
MOST_CURVES = 40


def overview(archive: Archive) -> dict[str, Any]:
    """The runs, with their last report each."""
    runs = []
    for path in archive.files(LOG).values():
        reports, notes = read_log(path)
        if not reports:
            continue
        last = reports[-1]
        runs.append(
            {
                "key": key_of(path),
                "name": archive.name(path.parent) if path.parent not in archive.folders else path.parent.name,
                "reports": len(reports),
                "step": last["step"],
                "seconds": last.get("seconds"),
                "loss": last.get("loss"),
                "note": notes[0] if notes else None,
            }
        )
    return {"runs": runs}


def curves(archive: Archive, key: str) -> dict[str, Any]:
    """Every figure of a run over its steps."""
    path = archive.find(LOG, key)
    reports, notes = read_log(path)
    names = dict.fromkeys(name for each in reports for name in each)
    found: dict[str, Any] = {}
    for name in names:
        if name in ("step", "seconds") or len(found) >= MOST_CURVES:
            continue
        points = [[each["step"], each[name]] for each in reports if type(each.get(name)) in (int, float)]
        if points:
            found[name] = thinned(points)
    return {"name": archive.name(path.parent), "curves": found, "notes": notes[-20:]}


def read_log(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The reports and the notes; a damaged line is passed over, for a run may be writing it."""
    reports, notes = [], []
    try:
        if path.stat().st_size > limits.LARGEST_FILE:
            return [], []
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return [], []
    for text in lines:
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(entry, dict) or type(entry.get("step")) is not int:
            continue
        if isinstance(entry.get("note"), str):
            notes.append(entry["note"][:300])
        else:
            reports.append(entry)
    return reports, notes
