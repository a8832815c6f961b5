"""How fast a run trains: fed and synthetic, and with every way of computing attention.

Both rates come from one process, in turns, so that a busy machine slows them
alike. *Synthetic* is the same network and optimizer in a captured step over
one fixed batch of random tokens: no tables, no masks, no second pass, no
average of the weights. One pass over all rows is what the rates count.

    python -m tabiya.minds.transformer.speed CONFIG [--ways | --kernels | --divisions] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own custom
from torch import Tensor

from tabiya.errors import UserError
from tabiya.learn.config import load_config
from tabiya.learn.speed import positions_per_second, profiled
from tabiya.learn.stepper import Stepper
from tabiya.minds.transformer.attention import Way
from tabiya.minds.transformer.network import parameter_count
from tabiya.minds.transformer.plan import TransformerTraining
from tabiya.minds.transformer.shape import MOVES
from tabiya.minds.transformer.training import Run

WARM_STEPS = 12
"""Steps before the clock starts: plain ones, the capture, and a few replays."""
PADS = (0, 88, 96, 128)


def measure(run: Run, steps: int = 100, rounds: int = 3) -> dict[str, Any]:
    """Positions a second fed and synthetic; the run's network is changed and not saved.

    `fed` is with second passes, if the run makes them; `fed_once` without.
    """
    config = run.config
    tables = [run.load(source, "train") for source in config.sources]
    tables = [run.load(b.source, "train", b.ratings) for b in config.curriculum[:1]] + tables
    feed = run.feed(tables)
    loops: dict[str, Callable[[], None]] = {"synthetic": synthetic(run), "fed_once": _fed(run, feed, False)}
    if run.looks_twice(config.steps):
        loops["fed"] = _fed(run, feed, True)
    for loop in loops.values():
        positions_per_second(loop, WARM_STEPS, config.batch, run.device)
    rates: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(rounds):
        for name, loop in loops.items():
            rates[name].append(positions_per_second(loop, steps, config.batch, run.device))
    middle = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "batch": config.batch,
        "steps": steps,
        "parameters": parameter_count(run.network),
        "rows": run.config.shape.rows,
        **{f"{name}_per_second": [round(rate) for rate in found] for name, found in rates.items()},
        "share": middle["fed_once"] / middle["synthetic"],
    }


def compare(config: TransformerTraining, steps: int = 40, modes: tuple[str, ...] = ("default",)) -> list[Any]:
    """The synthetic rate of each way of attention, padding and mode; a way that fails says why."""
    found: list[dict[str, Any]] = []
    for mode in modes:
        for way in get_args(Way):
            for padded in PADS if way in ("plain", "sdpa") else (0,):
                torch._dynamo.reset()
                named = {"attention": way, "padded_rows": padded, "compile_mode": mode}
                begun = time.monotonic()
                try:
                    found.append({**named, "per_second": round(_one(config, named, steps))})
                except Exception as error:  # what a device cannot do is an answer too
                    found.append({**named, "error": f"{type(error).__name__}: {error}".splitlines()[0][:200]})
                found[-1]["seconds"] = round(time.monotonic() - begun, 1)
                if torch.cuda.is_available():
                    torch.cuda.empty_cache()
    return found


def by_kernel(run: Run, steps: int = 5, most: int = 24) -> list[dict[str, Any]]:
    """What a synthetic step spends its time on: the device's kernels, on a CPU torch's operators."""
    loop = synthetic(run)
    positions_per_second(loop, WARM_STEPS, run.config.batch, run.device)
    spent, _ = profiled(loop, steps, run.device)
    total = sum(spent.values())
    return [
        {"kernel": name, "ms": round(ms, 3), "share": round(ms / total, 4)}
        for name, ms in list(spent.items())[:most]
    ]


def _one(config: TransformerTraining, changes: dict[str, Any], steps: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        run = Run(replace(config, **changes), Path(folder))
        loop = synthetic(run)
        positions_per_second(loop, WARM_STEPS, config.batch, run.device)
        return positions_per_second(loop, steps, config.batch, run.device)


def _fed(run: Run, feed: Any, twice: bool) -> Callable[[], None]:
    stepper = Stepper(run.body(feed, twice), capture=run.captures)
    number = 0

    def step() -> None:
        nonlocal number
        run.ema.advance()
        stepper(feed.draw(number))
        number += 1

    return step


def synthetic(run: Run) -> Callable[[], None]:
    """A step over one fixed batch that is nothing but the network and its optimizer."""
    config, device = run.config, run.device
    shape, batch = config.shape, config.batch
    network = run.learning_network()
    compiled = run.compiled(network)
    optimizer = torch.optim.AdamW(
        network.parameters(), lr=1e-4, fused=device.type == "cuda", capturable=device.type == "cuda"
    )
    tokens = torch.randint(0, 2, (batch, 84), device=device, dtype=torch.int32)
    tokens[:, :64] = torch.randint(0, 13, (batch, 64), device=device, dtype=torch.int32)
    tokens[:, 81:] = 0
    move = torch.randint(MOVES, (batch,), device=device)
    result = torch.randint(3, (batch,), device=device)
    centre = torch.randint(shape.value_bins, (batch,), device=device)

    def body(_inputs: list[Tensor]) -> dict[str, Tensor]:
        with torch.autocast(device.type, torch.bfloat16, enabled=config.bf16):
            outputs = compiled(tokens)
        loss = F.cross_entropy(outputs.policy.float(), move) + F.cross_entropy(outputs.wdl.float(), result)
        loss = loss + F.cross_entropy(outputs.value_bins.float(), centre)
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        optimizer.step()
        return {"loss": loss.detach()}

    stepper = Stepper(body, capture=run.captures)

    def step() -> None:
        stepper([])

    return step


def _show_divisions(config: TransformerTraining) -> None:
    from tabiya.minds.transformer.divisions import as_lines, tune

    for line in as_lines(tune(config.shape, config.batch)):
        print(json.dumps(line), flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="positions a second of a transformer's training")
    parser.add_argument("config", type=Path)
    parser.add_argument("--ways", action="store_true", help="every way of computing attention, synthetic")
    parser.add_argument("--tuned", action="store_true", help="with --ways: also with tuned products")
    parser.add_argument("--kernels", action="store_true", help="what a synthetic step spends its time on")
    parser.add_argument(
        "--divisions",
        action="store_true",
        help="first find the fused kernels' fastest divisions",
    )
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    try:
        config = load_config(args.config, TransformerTraining)
        if args.ways:
            modes = ("default", "max-autotune-no-cudagraphs") if args.tuned else ("default",)
            figures: Any = compare(config, args.steps, modes)
        else:
            with tempfile.TemporaryDirectory() as folder:
                run = Run(config, Path(folder))
                if args.divisions:
                    _show_divisions(config)
                figures = by_kernel(run) if args.kernels else measure(run, args.steps)
    except UserError as error:
        parser.error(str(error))
    for line in [figures] if args.json else figures if isinstance(figures, list) else figures.items():
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
