"""What the experiments that look inside a network do alike: their device, and the pages of their report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.lab_stages import need_torch
from tabiya.errors import UserError

if TYPE_CHECKING:
    import torch

    from tabiya.lens.scene import Scene


def device_of(name: str) -> torch.device:
    """The device asked for, or the best there is; its absence, and torch's, are one sentence."""
    need_torch("this experiment")
    import torch

    if name not in ("", "cpu", "cuda"):
        raise UserError(f"--device must be cpu or cuda, got {name!r}")
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("--device cuda: torch sees no GPU here")
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def write_pages(out: Path, figures: Any, text: str, scene: Scene, title: str) -> None:
    """report.json, .md, .svg and .png."""
    from tabiya.files import replacing

    contents = {
        "json": (json.dumps(figures, indent=1) + "\n").encode(),
        "md": text.encode(),
        "svg": scene.svg(title).encode(),
        "png": scene.png(),
    }
    for suffix, content in contents.items():
        with replacing(out / f"report.{suffix}") as part:
            part.write_bytes(content)
