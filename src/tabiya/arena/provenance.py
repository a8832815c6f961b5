"""Where a result comes from: the program, the commit, the machine, the day."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def provenance() -> dict[str, Any]:
    """What stands in every result beside its figures; `commit` is None outside a checkout."""
    from tabiya import __version__

    return {
        "version": __version__,
        "commit": commit(),
        "machine": {
            "system": platform.system(),
            "processor": processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def commit() -> str | None:
    """The commit of the checkout that the program runs from, with "+" if files in it were changed."""
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()
        # A package inside somebody else's repository is not of that repository's commit.
        subprocess.run(
            ["git", "-C", str(here), "ls-files", "--error-unmatch", Path(__file__).name],
            capture_output=True,
            timeout=10,
            check=True,
        )
        changed = subprocess.run(
            ["git", "-C", str(here), "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changed else "")


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
