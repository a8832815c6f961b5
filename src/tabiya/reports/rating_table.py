"""The README's rating list: a table and a figure, made from the result of the tournament and never typed.

    python -m tabiya.reports.rating_table results/rating-list/result.json --readme README.md

replaces what stands between two marks in the README, draws
docs/pictures/rating-list.svg beside it, and keeps the games without their
comments as games.pgn.bz2 beside the result, small enough to come along and
be played through on the page. Without a result the README says that there is none.
"""

from __future__ import annotations

import argparse
import bz2
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import open_text, replacing
from tabiya.reports.doc_tables import write_tables
from tabiya.reports.rating_figure import figure

Json = Mapping[str, Any]

COMMAND = "tabiya tournament --config configs/rating-list.toml"
MARK = "rating list"
WIDEST_SHOWN = 100.0
"""Who need not be known so well is a rung between others: in the figure and the result, not in the table."""
NOT_PLAYED = f"The rating list has not been played yet; `{COMMAND}` plays it."
FIGURE = "docs/pictures/rating-list.svg"
PAGES = {
    **{name: f"docs/{name}.md" for name in ("resnet", "transformer", "nnue", "genetic")},
    **dict.fromkeys(("turing", "montecarlo", "random"), "docs/players.md"),
}


def section(result: Json | None) -> str:
    """What stands between the marks."""
    if result is None:
        return NOT_PLAYED
    ratings = result["ratings"]
    anchors = [line for line in ratings["players"] if line["anchor"]]
    rows = ["| player | Elo | 95 % | games | score |", "| --- | ---: | :---: | ---: | ---: |"]
    shown = [line for line in ratings["players"] if line.get("within", 0.0) <= WIDEST_SHOWN]
    rows += [_row(line) for line in shown]
    said = [
        f"{result['games']:,} games, {_pace(result)}, every opening with both colours; `{COMMAND}` plays "
        f"them, and [result.json](results/rating-list/result.json) has who scored what against whom. "
        f"White's advantage was {ratings['white_advantage']:.0f} Elo.",
    ]
    if anchors:
        said.append(
            "The scale is that of the anchors, whose ratings are given; beside each stands the 95 % interval "
            "that the games give it if it alone is no anchor, which shows how far they agree."
        )
    if rungs := len(ratings["players"]) - len(shown):
        said.append(f"{rungs} weaker settings that are rungs between the others are in the figure alone.")
    said += [f"{note[0].upper()}{note[1:]}." for note in ratings["notes"]]
    return "\n\n".join(["\n".join(rows), " ".join(said), f"![Ratings with their intervals]({FIGURE})"])


def _row(line: Json) -> str:
    name = _link(f"`{line['name']}`", PAGES[line["name"]]) if line["name"] in PAGES else line["name"]
    rating = "" if line["rating"] is None else f"{line['rating']:.0f}"
    ends = line["rating_95"]
    if line["anchor"]:
        rating = f"{rating} (given)"
        ends = line.get("as_if_free_95") or [None, None]
    low, high = ends
    between = f"{low:.0f} to {high:.0f}" if low is not None and high is not None else ""
    if line["rating"] is None:
        between = f"above {low:.0f}" if low is not None else f"below {high:.0f}" if high is not None else ""
    return f"| {name} | {rating} | {between} | {line['games']:,} | {100 * line['score_share']:.1f} % |"


def _pace(result: Json) -> str:
    pace = result["settings"]["pace"]
    if "movetime" in pace:
        return f"{1000 * pace['movetime']:g} ms a move"
    if "clock" in pace:
        return f"{pace['clock']:g} s and {pace.get('increment', 0):g} s a move"
    return ", ".join(f"{name} {value}" for name, value in pace.items())


def _link(text: str, target: str) -> str:
    return f"[{text}]({target})"


def read_result(path: Path) -> dict[str, Any] | None:
    """The result in a file; None if there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        players = found["ratings"]["players"]
        assert isinstance(players, list)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AssertionError):
        raise UserError(f"{path} is no result of `tabiya tournament`") from None
    return dict(found)


def keep_games(pgn: Path, target: Path) -> None:
    """The games without scores and times, compressed by what is best at games: some 250 bytes for each."""
    with open_text(pgn) as stream:
        text = stream.read()
    bare = re.sub(r"\s*\{[^}]*\}(?:\s*\d+\.\.\.)?", "", text)
    with replacing(target) as part:
        part.write_bytes(bz2.compress(bare.encode()))


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tabiya.reports.rating_table", description="The README's rating list from a result."
    )
    parser.add_argument("result", type=Path, help="result.json of the tournament")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), help="the file with the marks")
    args = parser.parse_args(words)
    try:
        result = read_result(args.result)
        write_tables(args.readme, {MARK: section(result)})
        if result is not None:
            with replacing(args.readme.parent / FIGURE) as part:
                part.write_text(figure(result), encoding="utf-8")
            pgn = args.result.with_name("games.pgn")
            if pgn.exists():
                keep_games(pgn, args.result.with_name("games.pgn.bz2"))
    except (UserError, OSError) as error:
        print(f"tabiya: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
