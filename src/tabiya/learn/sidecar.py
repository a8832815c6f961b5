"""The manifest beside a network: what the file is, what it learned from, what was measured.

`NAME.onnx` or `NAME.nnue` has its `NAME.json`. The checksum ties the two
together, so a figure can never be read beside a network it was not measured on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import checksum, write_json

_KEYS = ("name", "kind", "sha256", "parameters", "config", "trained_on", "measured")


def sidecar_path(network: Path) -> Path:
    return network.with_suffix(".json")


def write_sidecar(
    network: str | Path,
    *,
    kind: str,
    parameters: int,
    planes: int | None = None,
    inputs: Mapping[str, Any] | None = None,
    name: str | None = None,
    config: dict[str, Any] | None = None,
    trained_on: dict[str, Any] | None = None,
    measured: dict[str, Any] | None = None,
) -> Path:
    """Write the manifest of a network that is there already; the checksum is taken here.

    `planes`, or what else `inputs` names (features, shape), says what the
    network is shown. `trained_on` counts what it learned from (positions,
    evaluations, all-move labels, hours), `measured` holds results.
    """
    network = Path(network)
    if not network.is_file():
        raise UserError(f"no network {network} to write a manifest for")
    manifest = {
        "name": name or network.stem,
        "kind": kind,
        "sha256": checksum(network),
        **({} if planes is None else {"planes": planes}),
        **(inputs or {}),
        "parameters": parameters,
        "config": config or {},
        "trained_on": trained_on or {},
        "measured": measured or {},
    }
    target = sidecar_path(network)
    write_json(target, manifest)
    return target


def read_sidecar(network: str | Path, elsewhere: bool = False) -> dict[str, Any]:
    """The manifest beside a network; one that is damaged or of another file is refused.

    `elsewhere`: the network itself need not be here.
    """
    network = Path(network)
    path = sidecar_path(network)
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"no manifest {path} beside the network {network}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"the manifest {path} is damaged: {error}") from None
    missing = [key for key in _KEYS if key not in manifest] if isinstance(manifest, dict) else list(_KEYS)
    if missing:
        raise UserError(f"the manifest {path} lacks {', '.join(missing)}")
    if not network.is_file():
        if elsewhere:
            return dict(manifest)
        raise UserError(f"the manifest {path} describes {network}, which is not there")
    if manifest["sha256"] != checksum(network):
        raise UserError(f"the manifest {path} describes another network than {network}: export it again")
    return dict(manifest)
