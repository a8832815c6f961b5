"""`tabiya pipeline a|b|c|campaign CONFIG`: one phase of the ResNet's training, done or gone on with."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json, progress
from tabiya.cli.lab_stages import need_torch
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.minds.resnet.pipeline.stages import Record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "phase",
        choices=["a", "b", "c", "campaign"],
        help="a: clone games; b: label hard positions and learn them; c: learn from self-play's mistakes; "
        "campaign: b and c at once on one machine",
    )
    parser.add_argument("config", help="the pipeline's settings, such as configs/pipeline-main.toml")
    parser.add_argument("--out", metavar="DIR", help="the work folder (the config's `work`)")
    parser.add_argument(
        "--only", metavar="PART", help="one part of the phase; of c: selfplay, label or train"
    )
    parser.add_argument("--iteration", type=int, metavar="K", help="one iteration of phase c")
    parser.add_argument("--minutes", type=float, metavar="N", help="stop after N minutes, to go on later")
    parser.add_argument("--json", action="store_true", help="print the stages' records as JSON")
    there = parser.add_argument_group(
        "on another machine",
        "Code and files are brought there by rsync, the command runs on without a connection, its log is "
        "shown here and what it made is fetched. The same command goes on after a lost connection.",
    )
    there.add_argument("--remote", metavar="USER@HOST", help="run it there, over ssh")
    there.add_argument("--port", type=int, metavar="N", help="ssh's port there")
    there.add_argument("--key", metavar="FILE", help="the private key to log in with")
    there.add_argument("--ssh-config", metavar="FILE", help="settings for ssh, instead of your own")
    there.add_argument("--remote-dir", metavar="DIR", help="the folder there (tabiya-remote)")
    there.add_argument("--remote-python", metavar="PYTHON", help="a Python there that has torch (python3)")
    there.add_argument(
        "--fetch", choices=["all", "network"], help="what is brought back of the work folder (all)"
    )


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    if args.minutes is not None and args.minutes <= 0:
        raise UserError(f"--minutes must be positive, got {args.minutes}")
    if args.remote is not None:
        return _remote(args)
    for option in ("port", "key", "ssh_config", "remote_dir", "remote_python", "fetch"):
        if getattr(args, option) is not None:
            raise UserError(f"--{option.replace('_', '-')} is for --remote USER@HOST")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError("a pipeline is one process: torchrun is for `tabiya train`")
    need_torch("training")
    if args.phase == "campaign":
        return _campaign(args)
    from tabiya.minds.resnet.pipeline.config import read_pipeline
    from tabiya.minds.resnet.pipeline.phases import run_phase
    from tabiya.minds.resnet.pipeline.stages import Clock, Work

    pipeline = read_pipeline(args.config)
    work = Work(Path(args.out or pipeline.work), Clock(args.minutes), progress)

    def tell(record: Record, now: bool) -> None:
        if not args.json:
            print(_line(record, now), flush=True)

    # The trainer's own lines belong to standard error where standard output is for a program.
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        report = run_phase(
            pipeline,
            args.phase,
            work,
            config=args.config,
            only=args.only,
            iteration=args.iteration,
            tell=tell,
        )
    if args.json:
        print_json(report)
    elif not report["complete"]:
        print(f"the {args.minutes:g} minutes are over: the same command goes on from here")
    elif report["network"]:
        print(f"play it: tabiya play human resnet:{report['network']}")
    return 0


def _remote(args: argparse.Namespace) -> int:
    """The same command on another machine; this one needs no torch for it."""
    from pathlib import Path

    from tabiya.learn.config import read_toml
    from tabiya.remote.errand import Errand, inputs, relative, run
    from tabiya.remote.host import Host
    from tabiya.remote.job import Job

    settings = read_toml(args.config)
    files = inputs(args.config, settings)
    work = relative(args.out or settings.get("work") or Path("runs") / Path(args.config).stem)
    words = ["pipeline", args.phase, relative(args.config), "--out", work]
    for option in ("only", "iteration", "minutes"):
        value = getattr(args, option)
        words += [] if value is None else [f"--{option}", str(value)]
    words += ["--json"] if args.json else []
    host = Host(
        args.remote,
        args.port,
        None if args.key is None else Path(args.key),
        None if args.ssh_config is None else Path(args.ssh_config),
    )
    job = Job(host, args.remote_dir or "tabiya-remote", args.remote_python or "python3")
    return run(Errand(tuple(words), tuple(files), work, args.json, args.fetch or "all"), job)


def _campaign(args: argparse.Namespace) -> int:
    from pathlib import Path

    from tabiya.learn.config import load_config
    from tabiya.minds.resnet.campaign import Campaign, run_campaign

    if args.only or args.iteration:
        raise UserError("a campaign has no parts: --only and --iteration are for the phases a, b and c")
    plan = load_config(args.config, Campaign)
    folder = Path(args.out or Path("runs") / Path(args.config).stem)
    with redirect_stdout(sys.stderr) if args.json else nullcontext():
        record = run_campaign(plan, folder, minutes=args.minutes)
    if args.json:
        print_json(record)
    else:
        print(f"play it: tabiya play human resnet:{folder / 'train'}")
    return 0


def _line(record: Record, now: bool) -> str:
    """What a stage did, in one line."""
    did = ", ".join(_figure(name, value) for name, value in record.did.items() if _is_told(value))
    return f"{record.stage.replace('/', ' ')}: {did} ({record.seconds:.1f} s{'' if now else ', done before'})"


def _is_told(value: Any) -> bool:
    return isinstance(value, (int, str)) and (not isinstance(value, str) or len(value) < 40)


def _figure(name: str, value: Any) -> str:
    name = name.replace("_", " ")
    return f"{value:,} {name}" if isinstance(value, int) else f"{name} {value}"
