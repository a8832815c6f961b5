"""The result tables of a mind as a page to read.

Works on the tables' JSON alone. A share stands with its 95 % interval; what
was not measured is a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tabiya.reports.lab_table import share, signed, table

Json = Mapping[str, Any]
FEWEST = 10
"""Games that a family of openings needs for a row of its own."""

BUSY = 0.5
"""A load so far above the number of cores says that other programs had a part in what was timed."""


def markdown(tables: Mapping[str, Json]) -> str:
    """The whole report."""
    parts = ["# Result tables"]
    for name, write in _WRITERS.items():
        if name in tables:
            parts += [part for part in write(tables[name]) if part]
    parts.append("\n".join(f"- {note}" for note in _notes(tables)))
    commits = sorted({str(entry["commit"]) for one in tables.values() for entry in one["entries"].values()})
    dates = sorted({str(entry["date"]) for one in tables.values() for entry in one["entries"].values()})
    parts.append(f"Intervals are 95 %. Measured at commit {', '.join(commits)}, {dates[0]} to {dates[-1]}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _puzzles(found: Json) -> Iterator[str]:
    yield "## Puzzles by rating"
    entries = {entry["name"]: entry["figures"] for entry in found["entries"].values()}
    bands = sorted({(row["from"], row["to"]) for own in entries.values() for row in own["by_rating"]})
    by_band = {
        name: {(row["from"], row["to"]): row for row in own["by_rating"]} for name, own in entries.items()
    }
    rows = [
        [
            f"{low} to {high - 1}",
            _counts([by_band[name].get((low, high), {}).get("puzzles") for name in entries]),
            *(_share(by_band[name].get((low, high)), "solved") for name in entries),
        ]
        for low, high in bands
    ]
    rows.append(
        [
            "**all**",
            _counts([own["puzzles"] for own in entries.values()]),
            *(_share(own, "solved") for own in entries.values()),
        ]
    )
    rows.append(
        [
            "right answers",
            _counts([own["moves"] for own in entries.values()]),
            *(_share(own, "moves_right") for own in entries.values()),
        ]
    )
    looked = [own["nodes_per_move"] for own in entries.values()]
    rows.append(["positions looked at a move", "", *(_number(each) for each in looked)])
    yield table(["puzzles' rating", "puzzles", *entries], rows)


def _openings(found: Json) -> Iterator[str]:
    for entry in found["entries"].values():
        figures = entry["figures"]
        tables = figures["against"]
        yield f"## Openings: the score of {figures['player']} from book openings"
        volumes = sorted({row["volume"] for one in tables for row in one["by_volume"]})
        rows = []
        for one in tables:
            by_volume = {row["volume"]: row for row in one["by_volume"]}
            cells = [_score(by_volume.get(volume)) for volume in volumes]
            rows.append([one["opponent"], str(one["games"]), _score(one), *cells])
        yield table(["against", "games", "score", *volumes], rows)
        first = tables[0]
        large = [row for row in first["by_family"] if row["games"] >= FEWEST]
        rows = [[row["eco"], row["name"], str(row["games"]), _won(row), _score(row)] for row in large]
        small = [row for row in first["by_family"] if row["games"] < FEWEST]
        if small:
            summed = {key: sum(row[key] for row in small) for key in ("games", "wins", "draws", "losses")}
            points = summed["wins"] + summed["draws"] / 2
            rest = f"{len(small)} others with fewer than {FEWEST} games"
            cells = [str(summed["games"]), _won(summed), f"{100 * points / summed['games']:.1f} %"]
            rows.append(["", rest, *cells])
        whom = "all opponents" if first["opponent"] == "all" else first["opponent"]
        yield table(["ECO", f"family, against {whom}", "games", "won, drawn, lost", "score"], rows)


def _endgames(found: Json) -> Iterator[str]:
    yield "## Endgames by number of men"
    rows = []
    for entry in found["entries"].values():
        for row in entry["figures"]["by_men"]:
            judge = "tables" if row["judge"] == "syzygy" else "teacher"
            rows.append(
                [
                    entry["name"],
                    str(row["men"]),
                    judge,
                    f"{row['positions']:,}",
                    _share(row, "optimal"),
                    _percent(row["dtz_optimal_share"]),
                    f"{row['choices']:,}" if "choices" in row else "–",
                    _share(row, "choices_kept"),
                    _percent(row.get("any_move_share")),
                    _number(row["value_error"], 3),
                ]
            )
    head = ["player", "men", "judge", "positions", "result kept", "and fastest"]
    head += ["with a wrong move", "kept there", "by any move", "value off by"]
    yield table(head, rows)
    figures = [entry["figures"] for entry in found["entries"].values()]
    teachers = [own["teacher"] for own in figures if "teacher" in own]
    if teachers:
        limit = ", ".join(f"{name} {value:,}" for name, value in teachers[0]["limit"].items())
        yield f"The teacher is {teachers[0]['player']} ({limit}); what it judges are opinions."


def _size(found: Json) -> Iterator[str]:
    yield "## Size and latency"
    rows = []
    for entry in found["entries"].values():
        own = entry["figures"]
        parameters = "–" if own["parameters"] is None else f"{own['parameters']:,}"
        cores = f"{entry['machine']['processor']}, {own['threads']} threads"
        times = [f"{own['median_ms']:.2f}", f"{own['p95_ms']:.2f}"]
        rows.append([entry["name"], f"{own['bytes'] / 1e6:.2f}", parameters, cores, *times])
    gpu = found.get("gpu")
    if gpu:
        ending = f"{gpu['p95_ms']:.2f}" if gpu.get("p95_ms") is not None else "–"
        rows.append([gpu.get("name", ""), "", "", gpu["device"], f"{gpu['median_ms']:.2f}", ending])
    yield table(["network", "MB", "parameters", "on", "ms at batch 1, median", "95 % within"], rows)


def _engines(found: Json) -> Iterator[str]:
    yield "## Beside players that search"
    ratings = found.get("ratings", {})
    rows = []
    for name, entry in found["entries"].items():
        own = entry["figures"]
        line = ratings.get(name)
        # A bound stands where a player won or lost everything.
        elo = signed(line, "rating") if line else "–"
        games = f"{line['games']:,}" if line and line["games"] is not None else "–"
        looked = _number(own["positions_per_move"], 1)
        rows.append([entry["name"], looked, f"{own['median_ms']:.1f}", f"{own['p95_ms']:.1f}", elo, games])
    yield table(
        ["player", "positions looked at a move", "ms a move, median", "95 % within", "Elo", "games"], rows
    )
    limits = {_words(entry["settings"]["limit"]) for entry in found["entries"].values()}
    moves = {entry["figures"]["moves"] for entry in found["entries"].values()}
    yield (
        f"{_counts(sorted(moves))} positions, one at a time, with {' or '.join(sorted(limits))} for a move; "
        "a player that does not search takes what it needs."
    )


_WRITERS = {
    "puzzles": _puzzles,
    "openings": _openings,
    "endgames": _endgames,
    "size": _size,
    "engines": _engines,
}


def _notes(tables: Mapping[str, Json]) -> Iterator[str]:
    for table_name, found in tables.items():
        loads = {entry["name"]: _load(entry) for entry in found["entries"].values() if _load(entry) > BUSY}
        if loads:
            yield (
                f"{table_name}: other programs ran while the times of {', '.join(loads)} were taken "
                f"({max(loads.values()):.1f} more at work than there are cores), so they are too long"
            )
    networks: dict[str, dict[str, list[str]]] = {}
    for table_name, found in tables.items():
        for player, entry in found["entries"].items():
            own = entry["settings"].get("network")
            if own:
                networks.setdefault(player, {}).setdefault(own, []).append(table_name)
    for player, by_network in networks.items():
        if len(by_network) > 1:
            named = "; ".join(f"{network[:8]}: {', '.join(where)}" for network, where in by_network.items())
            yield f"{player} was another network in different tables ({named}): measure them again"
    gpu = tables.get("size", {}).get("gpu") or {}
    sized = {entry["settings"]["network"] for entry in tables.get("size", {}).get("entries", {}).values()}
    if gpu and gpu.get("sha256") not in sized:
        yield "the GPU's time is not shown to be of this network: its file names another sha256 or none"


def _load(entry: Json) -> float:
    """How many programs more than cores were at work when an entry was timed."""
    return float(entry["figures"].get("load_average", 0.0)) - int(entry["machine"]["cores"])


def _words(limit: Json) -> str:
    words = {"movetime": lambda value: f"{1000 * value:g} ms", "nodes": lambda value: f"{value:,} nodes"}
    return ", ".join(words.get(name, lambda v, n=name: f"{n} {v}")(value) for name, value in limit.items())


def _share(figures: Json | None, key: str) -> str:
    return share(dict(figures) if figures else None, f"{key}_share", f"{key}_95")


def _score(row: Json | None) -> str:
    return share(dict(row) if row else None, "score_share", "score_95")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _won(row: Json) -> str:
    return f"+{row['wins']} ={row['draws']} −{row['losses']}"


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _counts(counts: list[int | None]) -> str:
    """One number where all are equal, else each of them."""
    known = [f"{count:,}" for count in counts if count is not None]
    return " / ".join(dict.fromkeys(known))
