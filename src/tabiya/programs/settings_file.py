"""Other people's settings on the disk: read as they are, replaced whole, kept once beside."""

from __future__ import annotations

import shutil
from pathlib import Path

from tabiya.errors import UserError
from tabiya.files import replacing

LARGEST = 16 << 20
"""Bytes; a settings file is some kilobytes, and what is far larger is something else."""

BACKUP = ".before-tabiya"


def read(path: Path, *, strict: bool) -> str:
    """The text of a settings file, line ends included; empty if there is no file."""
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"{path} is too large for a settings file")
        stored = path.read_bytes()
    except FileNotFoundError:
        return ""
    except IsADirectoryError:
        raise UserError(f"{path} is a folder, a settings file is needed") from None
    try:
        return stored.decode("utf-8", errors="strict" if strict else "surrogateescape")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text; it was left as it is") from None


def write(path: Path, text: str, *, keep: bool, executable: bool = False) -> Path | None:
    """Replace the file by `text`; the path of its backup, if this made one.

    With `keep`, which is for a file with nothing of ours in it yet, the file as
    it was stays beside it; a backup that is there already is left alone. A link
    keeps pointing where it did.
    """
    path = path.resolve()
    backup = path.with_name(path.name + BACKUP)
    made = keep and path.exists() and not backup.exists()
    if made:
        with replacing(backup) as part:
            shutil.copy2(path, part)
    with replacing(path) as part:
        part.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        if path.exists():
            shutil.copymode(path, part)
        if executable:
            part.chmod(0o755)
    return backup if made else None
