"""`tabiya serve`: the web page, on this machine alone unless told otherwise."""

from __future__ import annotations

import argparse
import sys

from tabiya.errors import UserError

PORT = 8642


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine alone)"
    )
    parser.add_argument(
        "--port", type=int, default=PORT, help=f"port to listen on ({PORT}; 0 takes a free one)"
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="a name under which browsers may reach this server, beside localhost and its address",
    )
    parser.add_argument(
        "--results",
        action="append",
        metavar="DIR",
        help="folder of results, training runs and gene pools; may be given again (results and runs)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument("--json", action="store_true", help="print the address as JSON")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tabiya.cli.common import print_json
    from tabiya.lens.explain import for_page
    from tabiya.roster import KINDS, open_player
    from tabiya.web.app import Page
    from tabiya.web.server import is_loopback, listening, make_server, url_of

    if not 0 <= args.port <= 65535:
        raise UserError(f"--port must lie between 0 and 65535, got {args.port}")
    folders = [Path(folder) for folder in args.results or ("results", "runs")]
    page = Page(open_player, KINDS, folders, for_page)
    with listening(args.host, args.port) as address:
        url = url_of(args.host, address.getsockname()[1])

        def ready() -> None:
            if args.json:
                print_json({"url": url})
            else:
                print(f"Tabiya is at {url} (Ctrl-C ends it)")
            sys.stdout.flush()
            if not is_loopback(args.host):
                print("tabiya: everyone who can reach this machine can use the page", file=sys.stderr)
            if args.open:
                import webbrowser

                webbrowser.open(url)

        make_server(page, args.host, args.name, ready).run([address])
    return 0
