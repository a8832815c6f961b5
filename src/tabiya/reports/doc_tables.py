"""Tables in a page that a measurement writes: found by their marks, put in place, compared.

A page has `<!-- NAME -->` and `<!-- end of NAME -->` on lines of their own; what
is between them belongs to the tool that measured it, the rest to people. So a
figure is never typed, and a test can hold the page against its file.

    >>> print(with_tables("Costs:\\n<!-- price -->\\nold\\n<!-- end of price -->\\n", {"price": "| 5 |"}))
    Costs:
    <!-- price -->
    <BLANKLINE>
    | 5 |
    <BLANKLINE>
    <!-- end of price -->
    <BLANKLINE>
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tabiya.cli.common import print_json
from tabiya.errors import UserError
from tabiya.files import replacing, write_json


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def with_tables(page: str, tables: Mapping[str, str], name: str = "the page") -> str:
    """The page's text with the tables between their marks; `UserError` where it has no such marks."""
    for mark, written in tables.items():
        first, last = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->\n"
        start, end = page.find(first), page.find(last)
        if start < 0 or end < start:
            raise UserError(
                f"{name} has no place for {mark}: it lacks `{first.strip()}` and `{last.strip()}`"
            )
        page = f"{page[: start + len(first)]}\n{written}\n\n{page[end:]}"
    return page


def write_tables(path: Path, tables: Mapping[str, str]) -> None:
    """Put the tables in their places in a page."""
    try:
        before = path.read_text(encoding="utf-8")
    except OSError:
        raise UserError(f"no page {path} to write to") from None
    after = with_tables(before, tables, str(path))
    with replacing(path) as part:
        part.write_text(after, encoding="utf-8")


def add_page_arguments(parser: argparse.ArgumentParser, page: str, example: str) -> None:
    """The options of a measurement that writes a page; `example` is where its figures usually go."""
    parser.add_argument("--out", metavar="FILE", help=f"also write the figures, such as {example}")
    parser.add_argument("--write-docs", action="store_true", help="put the tables into the page")
    parser.add_argument("--page", default=page, metavar="FILE", help=f"the page ({page})")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON, not the tables")


def publish(args: argparse.Namespace, figures: dict[str, Any], tables: Mapping[str, str]) -> None:
    """Write and print figures and tables as those options say."""
    if args.out:
        write_json(Path(args.out), figures)
    if args.write_docs:
        write_tables(Path(args.page), tables)
    if args.json:
        print_json(figures)
    else:
        print("\n\n".join(tables.values()))


def rounded(value: float) -> str:
    """Two or three digits that say something: a measurement has no more.

    >>> [rounded(value) for value in (0.01234, 3.456, 78.9, 1234.5, 4_567_890)]
    ['0.0123', '3.46', '78.9', '1,230', '4,570,000']
    """
    if not value:
        return "0"
    short = float(f"{value:.3g}")
    if short >= 100:
        return f"{short:,.0f}"
    return f"{short:.10f}".rstrip("0").rstrip(".")


def sized(count: float) -> str:
    """Bytes in words.

    >>> [sized(count) for count in (95.4, 3_360_000_000, 2.4e12)]
    ['95.4 bytes', '3.36 GB', '2.4 TB']
    """
    for unit, size in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{rounded(count / size)} {unit}"
    return f"{rounded(count)} bytes"


def lasting(hours: float) -> str:
    """Hours in words.

    >>> [lasting(hours) for hours in (0.0001, 0.001, 0.2, 5.25, 300, 30_000)]
    ['under 1 s', '3.6 s', '12 min', '5.25 h', '12.5 days', '3.42 years']
    """
    for unit, size in (("years", 24 * 365.25), ("days", 24.0), ("h", 1.0), ("min", 1 / 60)):
        if hours >= (2 * size if unit == "days" else size):
            return f"{rounded(hours / size)} {unit}"
    return f"{rounded(3600 * hours)} s" if 3600 * hours >= 1 else "under 1 s"
