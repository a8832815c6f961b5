"""From measurements to prices: of a million labels, a thousand games, a billion positions, whole data sets.

Pure arithmetic on what `cost_measure` found, so that a small made-up
measurement can be checked by hand. Of several rounds the median counts.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from tabiya.reports.doc_tables import lasting, rounded, sized, table

MILLION, BILLION = 10**6, 10**9
HOUR = 3600.0

POSITIONS = 70 * MILLION
"""Of people's games, that a searchless network of this kind was taught."""
MOVE_LABELS = 2_500_000
"""Of them hard ones, with a score for every legal move."""
EVALUATIONS = 48 * BILLION
"""That an NNUE of this kind was taught."""

CORES, GPUS = (1, 10, 1000), (1, 8, 64)

LABELS = {
    "value-5": "value labels, depth 5",
    "moves-6": "all-move labels, depth 6",
    "moves-12": "all-move labels, depth 12",
}
GAMES = {
    "resnet": "`resnet` against itself, no search",
    "transformer": "`transformer` against itself, no search",
    "nnue-10000": "`nnue` against itself, 10,000 nodes a move",
    "nnue-clock": "`nnue` against itself, 1 s + 0.01 s a move",
}
TRAINING = {
    "resnet": "`resnet`",
    "transformer": "`transformer`, with its second passes",
    "nnue": "`nnue`, positions on the GPU",
    "nnue-streamed": "`nnue`, positions streamed from disk",
}


@dataclass(frozen=True)
class Price:
    """What so much of something takes: hours of a core or of a GPU, and bytes on disk."""

    name: str
    core_hours: float | None = None
    gpu_hours: float | None = None
    bytes: float | None = None


@dataclass(frozen=True)
class Unit:
    """What one of something takes, as measured: seconds (the median, the least, the most) and bytes."""

    seconds: float
    least: float
    most: float
    bytes: float

    @classmethod
    def of(cls, entry: dict[str, Any], count: int) -> Unit:
        """One of the `count` that an entry is about; those with a clock by the clock on the wall."""
        times = entry["wall_seconds" if entry.get("clock") else "core_seconds"]
        seconds = [value / count for value in times]
        return cls(statistics.median(seconds), min(seconds), max(seconds), entry["bytes"] / count)

    def price(self, name: str, amount: float) -> Price:
        return Price(name, core_hours=amount * self.seconds / HOUR, bytes=amount * self.bytes)


def label_units(measured: dict[str, Any]) -> dict[str, Unit]:
    return {name: Unit.of(entry, entry["positions"]) for name, entry in measured["labels"].items()}


def game_units(measured: dict[str, Any]) -> dict[str, Unit]:
    return {name: Unit.of(entry, entry["games"]) for name, entry in measured["games"].items()}


def training_rates(measured: dict[str, Any]) -> dict[str, float]:
    """Positions a second of one GPU."""
    rates = {name: entry["positions_per_second"] for name, entry in measured["training"].items()}
    return {name: statistics.median(values) for name, values in rates.items()}


def whole_sets(measured: dict[str, Any]) -> list[Price]:
    """What the full data sets would take, from the price of one label and one position each."""
    labels, rates = label_units(measured), training_rates(measured)
    position = Unit.of(measured["extraction"], measured["extraction"]["positions"])
    value = labels["value-5"]

    def passing(mind: str, amount: int, words: str) -> Price:
        return Price(f"{words}: one pass of {TRAINING[mind]}", gpu_hours=amount / rates[mind] / HOUR)

    seventy, all_moves, billions = "70 million positions", "2.5 million positions", "48 billion evaluations"
    stored = EVALUATIONS * (position.bytes + value.bytes)
    return [
        position.price(f"{seventy}: extracted from games", POSITIONS),
        value.price(f"{seventy}: {LABELS['value-5']}", POSITIONS),
        *(
            labels[name].price(f"{all_moves}: {LABELS[name]}", MOVE_LABELS)
            for name in ("moves-6", "moves-12")
            if name in labels
        ),
        passing("resnet", POSITIONS, seventy),
        passing("transformer", POSITIONS, seventy),
        Price(
            f"{billions}: extracted, {LABELS['value-5']}",
            core_hours=EVALUATIONS * (position.seconds + value.seconds) / HOUR,
            bytes=stored,
        ),
        passing("nnue-streamed", EVALUATIONS, billions),
    ]


def prices(measured: dict[str, Any]) -> dict[str, list[Price]]:
    """Everything that has a price, by what it is counted in."""
    labels, games = label_units(measured), game_units(measured)
    return {
        "million_labels": [unit.price(name, MILLION) for name, unit in labels.items()],
        "thousand_games": [unit.price(name, 1000) for name, unit in games.items()],
        "billion_training_positions": [
            Price(name, gpu_hours=BILLION / rate / HOUR) for name, rate in training_rates(measured).items()
        ],
        "whole_sets": whole_sets(measured),
    }


def tables(measured: dict[str, Any]) -> dict[str, str]:
    """The tables of docs/scaling.md, by their marks there."""
    return {
        "measured costs": "\n\n".join(
            [_labels(measured), _games(measured), _training(measured), _source(measured)]
        ),
        "extrapolated costs": "\n\n".join([_whole(measured), _lasting(measured), _handed_out(measured)]),
    }


def _labels(measured: dict[str, Any]) -> str:
    rows = [
        [
            LABELS.get(name, name),
            f"{measured['labels'][name]['positions']:,} × {len(measured['labels'][name]['core_seconds'])}",
            _spread(unit, 1000),
            rounded(MILLION * unit.seconds / HOUR),
            sized(MILLION * unit.bytes),
        ]
        for name, unit in label_units(measured).items()
    ]
    heads = ["labels", "measured", "ms of a core each", "core-hours per million", "on disk per million"]
    return table(heads, rows)


def _games(measured: dict[str, Any]) -> str:
    rows = [
        [
            GAMES.get(name, name),
            f"{measured['games'][name]['games']:,}",
            rounded(unit.seconds),
            rounded(1000 * unit.seconds / HOUR),
            sized(1000 * unit.bytes),
        ]
        for name, unit in game_units(measured).items()
    ]
    heads = ["games", "measured", "seconds of a core each", "core-hours per thousand", "as PGN per thousand"]
    return table(heads, rows)


def _training(measured: dict[str, Any]) -> str:
    rows = [
        [
            TRAINING.get(name, name),
            measured["training"][name]["network"],
            f"`results/{measured['training'][name]['file']}`",
            f"{rate:,.0f}",
            rounded(BILLION / rate / HOUR),
        ]
        for name, rate in training_rates(measured).items()
    ]
    return table(
        ["training", "network", "measured", "positions a second", "GPU-hours per billion positions"], rows
    )


def _source(measured: dict[str, Any]) -> str:
    teachers = " and ".join(sorted({entry["teacher"] for entry in measured["labels"].values()}))
    machine, extraction = measured["machine"], measured["extraction"]
    position = Unit.of(extraction, extraction["positions"])
    return (
        f"Labels by {teachers}, of positions from {measured['input']}. "
        f"A core is one of {machine['cores']} ({machine['processor']}); {measured['date']}, "
        f"load average {measured['load_average']:g} at the start. "
        f"Extraction took {rounded(position.seconds * MILLION)} s of a core for a million positions, "
        f"{rounded(position.bytes)} bytes each."
    )


def _whole(measured: dict[str, Any]) -> str:
    rows = [
        [
            price.name,
            "" if price.core_hours is None else rounded(price.core_hours),
            "" if price.gpu_hours is None else rounded(price.gpu_hours),
            "" if price.bytes is None else sized(price.bytes),
        ]
        for price in whole_sets(measured)
    ]
    return table(["work", "core-hours", "GPU-hours", "on disk"], rows)


def _lasting(measured: dict[str, Any]) -> str:
    """How long the same takes where the work divides evenly."""
    found = []
    for price in whole_sets(measured):
        cores = ["" if price.core_hours is None else lasting(price.core_hours / number) for number in CORES]
        gpus = ["" if price.gpu_hours is None else lasting(price.gpu_hours / number) for number in GPUS]
        found.append([price.name, *cores, *gpus])
    heads = [*(_many(number, "core") for number in CORES), *(_many(number, "GPU") for number in GPUS)]
    return table(["work", *heads], found)


def _handed_out(measured: dict[str, Any]) -> str:
    """What the driver of many cores has to keep up with."""
    units, most = label_units(measured), max(CORES)
    chunks = {name: most / (measured["labels"][name]["chunk"] * unit.seconds) for name, unit in units.items()}
    words = ", ".join(f"{rounded(rate)} of {LABELS.get(name, name)}" for name, rate in chunks.items())
    return f"Chunks that {most:,} cores finish in a second: {words}."


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _spread(unit: Unit, factor: float) -> str:
    low, middle, high = (rounded(factor * value) for value in (unit.least, unit.seconds, unit.most))
    return middle if low == high else f"{middle} ({low} to {high})"
