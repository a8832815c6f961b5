"""`tabiya data download MONTH…`: monthly Lichess files, resumed and checked."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from tabiya.cli.common import Meter, print_json, progress

MEGABYTE = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from tabiya.data.download import BASE_URL, VARIANTS

    parser.add_argument("months", nargs="+", metavar="MONTH", help="months such as 2013-01")
    parser.add_argument("--out", type=Path, default=Path(), metavar="DIR", help="folder for the files (here)")
    parser.add_argument("--variant", choices=VARIANTS, default="standard", help="kind of chess (standard)")
    parser.add_argument("--base-url", default=BASE_URL, metavar="URL", help=f"another server ({BASE_URL})")
    parser.add_argument("--json", action="store_true", help="print what was fetched as JSON")


def run(args: argparse.Namespace) -> int:
    from tabiya.data.download import Watch, download_month, file_name, published_sums

    for month in args.months:
        file_name(month, args.variant)  # a misspelt month is told before the first byte is fetched
    sums = published_sums(args.base_url, args.variant)
    done = []
    for month in args.months:
        with ExitStack() as bars:
            meters: list[Meter] = []

            def start(
                task: str, total: int, have: int, bars: ExitStack = bars, meters: list[Meter] = meters
            ) -> None:
                bars.close()
                known = total / MEGABYTE if total else None
                meters[:] = [bars.enter_context(progress(task, known, have / MEGABYTE, "MB"))]

            def advance(count: int, meters: list[Meter] = meters) -> None:
                meters[0].advance(count / MEGABYTE)

            watch = Watch(start, advance, lambda why: print(f"tabiya: {why}", file=sys.stderr))
            result = download_month(month, args.out, sums, args.base_url, args.variant, watch=watch)
        done.append(result)
        if not args.json:
            how = f"{result.fetched / MEGABYTE:,.1f} MB fetched" if result.fetched else "was there already"
            print(f"{result.file}: {result.bytes / MEGABYTE:,.1f} MB, {how}, SHA-256 checked", flush=True)
    if args.json:
        print_json(
            {
                "files": [
                    {
                        "month": result.month,
                        "file": str(result.file),
                        "bytes": result.bytes,
                        "fetched": result.fetched,
                        "sha256": result.sha256,
                    }
                    for result in done
                ]
            }
        )
    return 0
