"""Checkpoints: one safetensors file each, whole or not there, and never a pickle.

    step-00001000.safetensors
      model.<name>                      the network's parameters and buffers
      ema.<name>, ema.updates           their moving average
      optimizer.<parameter>.<moment>    the optimizer's memory, by the parameter's name
      rng.cpu, rng.cuda.<n>             torch's random generators, as bytes
      "tabiya" in the header            format, version, checksum, metadata, as JSON

Resuming from one continues the run to the bit: all of the above comes back as
it was. A file that was cut off, changed or made by something else is refused
before any of it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.schedule import UPDATES, Ema, check_fit, named_state, plain_name

FORMAT = "tabiya-checkpoint"
VERSION = 1

_KEY = "tabiya"
_NAME = re.compile(r"step-(\d{8,})\.safetensors")


def save_checkpoint(
    path: str | Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, Any]
) -> None:
    """Write a checkpoint; it is on the disk, whole, under its name when this returns."""
    metadata = dict(metadata)
    # Copies: the originals may be on the GPU, strided, or share their memory, which the format refuses.
    copies = {
        name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in sorted(tensors.items())
    }
    header = {
        "format": FORMAT,
        "version": VERSION,
        "checksum": _checksum(copies, metadata),
        "metadata": metadata,
    }
    content = safetensors.torch.save(copies, {_KEY: json.dumps(header, allow_nan=False)})
    path = Path(path)
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(path.parent)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error


def load_checkpoint(
    path: str | Path, device: str | torch.device = "cpu"
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors and metadata of a checkpoint, after its checksum has been found right."""
    with _opened(path) as (file, header):
        # Copied out of the mapped file, whose pages are the file's.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    if _checksum(tensors, header["metadata"]) != header["checksum"]:
        raise UserError(f"{path} is damaged: its content does not match its checksum")
    return {name: tensor.to(device) for name, tensor in tensors.items()}, header["metadata"]


def checkpoint_metadata(path: str | Path) -> dict[str, Any]:
    """The metadata alone; the tensors are neither read nor checked."""
    with _opened(path) as (_, header):
        return dict(header["metadata"])


@contextmanager
def _opened(path: str | Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The open file and its header; whatever is wrong with it is one sentence."""
    try:
        with safetensors.safe_open(str(path), framework="pt", device="cpu") as file:
            yield file, _read_header((file.metadata() or {}).get(_KEY), path)
    except FileNotFoundError:
        raise UserError(f"no checkpoint {path}") from None
    except (safetensors.SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path} is damaged or no checkpoint: {_first_line(error)}") from None


def _read_header(text: str | None, path: str | Path) -> dict[str, Any]:
    try:
        header = json.loads(text or "null")
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise UserError(f"{path} is no checkpoint of tabiya")
    if header.get("version") != VERSION:
        raise UserError(f"{path} is a checkpoint of version {header.get('version')}, {VERSION} is needed")
    if not isinstance(header.get("metadata"), dict) or "checksum" not in header:
        raise UserError(f"{path} is damaged: its metadata is incomplete")
    return header


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _checksum(tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, Any]) -> str:
    """SHA-256 over all that is stored; safetensors itself would not see a changed byte."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder outlast a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def state_tensors(
    *,
    model: torch.nn.Module,
    ema: Ema | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    rng: bool = True,
) -> dict[str, torch.Tensor]:
    """All tensors of a training state under their names in a checkpoint."""
    tensors = {f"model.{name}": tensor for name, tensor in named_state(model).items()}
    if ema is not None:
        tensors |= {f"ema.{name}": tensor for name, tensor in ema.state().items()}
    if optimizer is not None:
        for name, parameter in _optimized(model, optimizer).items():
            for moment, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    tensors[f"optimizer.{name}.{moment}"] = value
                elif value is not None:
                    raise TypeError(f"the optimizer keeps '{moment}' as {type(value)}, not as a tensor")
    if rng:
        tensors["rng.cpu"] = torch.get_rng_state()
        if torch.cuda.is_available():
            for number, state in enumerate(torch.cuda.get_rng_state_all()):
                tensors[f"rng.cuda.{number}"] = state
    return tensors


def optimizer_groups(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """Learning rate, decay and the like of each group, with its parameters' names: metadata for JSON."""
    names = {id(parameter): name for name, parameter in _optimized(model, optimizer).items()}
    return [
        {
            "params": [names[id(parameter)] for parameter in group["params"]],
            **{
                key: value.item() if isinstance(value, torch.Tensor) else value
                for key, value in group.items()
                if key not in ("params", "param_names")
            },
        }
        for group in optimizer.param_groups
    ]


def restore(
    model: torch.nn.Module,
    ema: Ema | None,
    optimizer: torch.optim.Optimizer | None,
    tensors: Mapping[str, torch.Tensor],
    groups: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Put a training state back, in place.

    With an optimizer the run is being resumed: the random generators are set
    too, and the groups' settings where `groups` (see `optimizer_groups`) is
    given. A checkpoint that does not fit changes nothing.
    """
    target = named_state(model)
    weights = _under(tensors, "model.")
    check_fit(weights, target, "the checkpoint")
    average = _under(tensors, "ema.")
    if ema is not None:
        check_fit(average, ema.state(), "the checkpoint's average")
    moments: list[tuple[torch.Tensor, str, torch.Tensor]] = []
    if optimizer is not None:
        moments = _fitting_moments(model, optimizer, _under(tensors, "optimizer."))
        if groups is not None and [group.get("params") for group in groups] != [
            group["params"] for group in optimizer_groups(model, optimizer)
        ]:
            raise UserError("the checkpoint's optimizer groups its parameters differently from this run's")

    _copy(weights, target)
    if ema is not None:
        ema.load(average)
    if optimizer is not None:
        _restore_optimizer(optimizer, moments, groups)
        _restore_rng(tensors)


def load_weights(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor], average: bool = True) -> None:
    """The network alone, to play or export: its average where the checkpoint has one and it is wanted."""
    weights = _under(tensors, "ema.") if average else {}
    weights.pop(UPDATES, None)
    weights = weights or _under(tensors, "model.")
    target = named_state(model)
    check_fit(weights, target, "the checkpoint")
    _copy(weights, target)


def load_fitting(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Those averaged weights that the network has a place for; the names of what is left as it was."""
    weights = _under(tensors, "ema.") or _under(tensors, "model.")
    target = named_state(model)
    fitting = {
        name: tensor
        for name, tensor in target.items()
        if name in weights and (weights[name].shape, weights[name].dtype) == (tensor.shape, tensor.dtype)
    }
    if not fitting:
        raise UserError("the checkpoint has nothing in common with this network")
    _copy(weights, fitting)
    return sorted(target.keys() - fitting.keys())


def _under(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _copy(source: Mapping[str, torch.Tensor], target: Mapping[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in target.items():
            tensor.copy_(source[name])


def _optimized(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """The optimizer's parameters by their names in the model, in the optimizer's order."""
    names = {id(parameter): plain_name(name) for name, parameter in model.named_parameters()}
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if any(id(parameter) not in names for parameter in parameters):
        raise ValueError("the optimizer holds a parameter that is not the model's")
    return {names[id(parameter)]: parameter for parameter in parameters}


def _fitting_moments(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, stored: Mapping[str, torch.Tensor]
) -> list[tuple[torch.Tensor, str, torch.Tensor]]:
    """Each stored moment with its parameter and its key in the optimizer's state."""
    parameters = _optimized(model, optimizer)
    found = []
    for name, value in stored.items():
        parameter_name, _, moment = name.rpartition(".")
        parameter = parameters.get(parameter_name)
        if parameter is None:
            raise UserError(f"the checkpoint trained '{parameter_name}', this run's optimizer does not")
        found.append((parameter, moment, value))
    return found


def _restore_optimizer(
    optimizer: torch.optim.Optimizer,
    moments: Sequence[tuple[torch.Tensor, str, torch.Tensor]],
    groups: Sequence[Mapping[str, Any]] | None,
) -> None:
    for group, stored in zip(optimizer.param_groups, groups or (), strict=False):
        for key, value in stored.items():
            if key == "params":
                continue
            if isinstance(group.get(key), torch.Tensor):
                group[key].fill_(value)
            else:
                group[key] = tuple(value) if isinstance(group.get(key), tuple) else value
    group_of = {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}
    optimizer.state.clear()
    for parameter, moment, value in moments:
        group = group_of[id(parameter)]
        # torch counts the steps on the CPU unless its kernels do the counting.
        on_cpu = moment == "step" and not (group.get("capturable") or group.get("fused"))
        device = torch.device("cpu") if on_cpu else parameter.device
        optimizer.state[parameter][moment] = _laid_out_like(parameter, value.to(device, copy=True))


def _laid_out_like(parameter: torch.Tensor, moment: torch.Tensor) -> torch.Tensor:
    """A moment in its parameter's memory layout: files hold the plain one, fused kernels want them equal."""
    if moment.shape != parameter.shape:
        return moment
    return torch.empty_like(parameter, dtype=moment.dtype, device=moment.device).copy_(moment)


def _restore_rng(tensors: Mapping[str, torch.Tensor]) -> None:
    if "rng.cpu" in tensors:
        torch.set_rng_state(tensors["rng.cpu"].cpu())
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        if f"rng.cuda.{number}" in tensors:
            torch.cuda.set_rng_state(tensors[f"rng.cuda.{number}"].cpu(), number)


def checkpoint_path(folder: str | Path, step: int) -> Path:
    """Where the checkpoint after `step` steps belongs."""
    return Path(folder) / f"step-{step:08}.safetensors"


def checkpoint_step(path: str | Path) -> int | None:
    """The step in a checkpoint's name; None for any other file."""
    match = _NAME.fullmatch(Path(path).name)
    return int(match[1]) if match else None


def checkpoints(folder: str | Path) -> list[Path]:
    """The checkpoints of a folder, oldest step first; none where there is no folder."""
    steps = [(checkpoint_step(path), path) for path in Path(folder).glob("step-*.safetensors")]
    return [path for _, path in sorted((step, path) for step, path in steps if step is not None)]


def newest_checkpoint(folder: str | Path) -> Path | None:
    """The checkpoint of the highest step, if there is one."""
    found = checkpoints(folder)
    return found[-1] if found else None


def chosen_checkpoint(where: Path) -> Path:
    """The checkpoint that a path means: itself, or the newest one of a run's folder."""
    file = newest_checkpoint(where) if where.is_dir() else where
    if file is None:
        raise UserError(f"no checkpoint (step-….safetensors) in the folder {where}")
    return file


def keep_last(folder: str | Path, count: int) -> list[Path]:
    """Delete all but the `count` newest checkpoints, and say which; `count` is at least 1."""
    if count < 1:
        raise UserError(f"at least one checkpoint must be kept, not {count}")
    old = checkpoints(folder)[:-count]
    for path in old:
        path.unlink(missing_ok=True)
    return old
