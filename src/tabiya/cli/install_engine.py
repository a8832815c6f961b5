"""`tabiya install-engine PROGRAM [MIND …]`: minds in the engine list of a chess program."""

from __future__ import annotations

import argparse
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabiya.cli.common import print_json
from tabiya.errors import UserError

if TYPE_CHECKING:
    from tabiya.programs.engine import Edit, Engine
    from tabiya.programs.known import Program, Settings

NOT_OURS = ("human", "uci", "xboard")
"""Kinds of player that no other program needs from us: a person, and engines from outside."""

LICHESS_OPTIONS = {"Threads": 1, "Hash": 64, "Move Overhead": 100}
"""What lichess-bot is told to set, of the options that the mind has."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    # `install-engine xboard --dry-run turing`: argparse takes no list after an option otherwise.
    parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
    parser.add_argument(
        "program",
        nargs="?",
        metavar="PROGRAM",
        help="xboard, pychess, cutechess, arena, banksia, lichess-bot",
    )
    parser.add_argument("minds", nargs="*", metavar="MIND", help="players to enter (default: all shipped)")
    parser.add_argument("--list", action="store_true", help="the programs, their settings, what is entered")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")
    parser.add_argument(
        "--remove", action="store_true", help="take these minds (default: all of ours) out again"
    )
    parser.add_argument("--file", type=Path, metavar="FILE", help="another settings file than the usual one")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="lichess-bot's folder, for its engine file"
    )
    parser.add_argument(
        "--tabiya", dest="starter", metavar="FILE", help="another `tabiya` than the one in use"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    from tabiya.programs.known import PROGRAMS

    if args.list or args.program is None:
        return _list(args)
    program = PROGRAMS.get(args.program)
    if program is None:
        close = difflib.get_close_matches(args.program, PROGRAMS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else f"; there are {', '.join(PROGRAMS)}"
        raise UserError(f"unknown chess program {args.program!r}{hint}")
    if args.folder is not None and program.name != "lichess-bot":
        raise UserError(f"--folder is for lichess-bot; the settings of {program.title} are named with --file")
    if args.file is not None and program.settings is None:
        raise UserError(
            f"{program.title} has no settings file that could be written, so --file means nothing"
        )
    if program.settings is not None:
        return _settings(program, program.settings, args)
    if args.remove:
        raise UserError(f"nothing was written for {program.title}: take the engine out in the program itself")
    return _lichess_bot(program, args) if program.name == "lichess-bot" else _by_hand(program, args)


def _list(args: argparse.Namespace) -> int:
    """Every program, its settings file and our engines in it; a damaged file is said in its row."""
    from tabiya.programs import settings_file
    from tabiya.programs.known import PROGRAMS

    rows: list[dict[str, Any]] = []
    for program in PROGRAMS.values():
        row: dict[str, Any] = {"program": program.name, "title": program.title, "protocol": program.protocol}
        row |= {"file": None, "exists": False, "engines": [], "error": None}
        if program.settings is not None:
            path = program.settings.path()
            row |= {"file": str(path), "exists": path.exists()}
            try:
                row["engines"] = program.settings.installed(
                    settings_file.read(path, strict=program.settings.strict)
                )
            except UserError as error:
                row["error"] = str(error)
        rows.append(row)
    if args.json:
        print_json({"programs": rows})
        return 0
    for row in rows:
        what = row["error"] or ", ".join(row["engines"]) or "none of ours"
        where = (
            f"{row['file']}{'' if row['exists'] else ' (not there yet)'}: {what}"
            if row["file"]
            else "by hand"
        )
        print(f"{row['program']:<12} {where}")
    print("`tabiya install-engine PROGRAM` enters the shipped minds, --dry-run shows what it would do.")
    return 0


def _settings(program: Program, settings: Settings, args: argparse.Namespace) -> int:
    from tabiya.programs import settings_file, starter
    from tabiya.programs.engine import PREFIX

    path = Path(os.path.abspath(args.file.expanduser())) if args.file else settings.path()
    folder = path.parent / "tabiya" if settings.starters else None
    before = settings_file.read(path, strict=settings.strict)
    left_out: list[str] = []
    engines: list[Engine] = []
    if not args.remove:
        engines, left_out = _engines(program, args, folder)
    try:
        if args.remove:
            edit = settings.remove(before, [PREFIX + _lasting(mind) for mind in args.minds])
        else:
            edit = settings.install(before, engines)
    except UserError as error:
        raise UserError(f"{path} {error}; it was left as it is") from None
    stale = _stale_starters(engines, edit) if folder else []
    changed = edit.text != before or bool(stale)
    backup = None
    if changed and not args.dry_run:
        # First the starters, then the list: no entry may ever lead to nothing.
        for engine in stale:
            settings_file.write(Path(engine.starter), starter.starter(engine), keep=False, executable=True)
        if edit.text != before:
            backup = settings_file.write(path, edit.text, keep=not settings.installed(before))
        if folder:
            _drop_starters(folder, [name.removeprefix(PREFIX) for name in edit.removed])
    if args.json:
        print_json(
            {"program": program.name, "file": str(path), "changed": changed, "dry_run": args.dry_run}
            | {"added": edit.added, "updated": edit.updated, "removed": edit.removed}
            | {"unchanged": edit.unchanged, "left_out": left_out, "backup": backup and str(backup)}
            | {"commands": {engine.name: engine.words for engine in engines}}
        )
        return 0
    if args.dry_run:
        _show_difference(path, before, edit.text)
        for engine in stale:
            print(f"would be written: {engine.starter}")
    _tell(program, path, edit, args.dry_run)
    for reason in left_out:
        print(f"left out: {reason}")
    if backup:
        print(f"the file as it was: {backup}")
    if changed:
        print(f"note: {settings.note(path)}.")
        if edit.added:
            print(f"then: {settings.then}.")
    return 0


def _stale_starters(engines: list[Engine], edit: Edit) -> list[Engine]:
    """The engines whose file is missing or old; one whose list entry is right counts as updated then."""
    from tabiya.programs import settings_file, starter

    stale = []
    for engine in engines:
        there = settings_file.read(Path(engine.starter), strict=False)
        if there == starter.starter(engine):
            continue
        if there and not starter.is_starter(there):
            raise UserError(f"{engine.starter} is a file of someone else's: move it away first")
        stale.append(engine)
        if engine.name in edit.unchanged:
            edit.unchanged.remove(engine.name)
            edit.updated.append(engine.name)
    return stale


def _drop_starters(folder: Path, minds: list[str]) -> None:
    from tabiya.programs import settings_file, starter

    for mind in minds:
        path = folder / starter.starter_name(mind)
        if starter.is_starter(settings_file.read(path, strict=False)):
            path.unlink()


def _tell(program: Program, path: Path, edit: Edit, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    done = [
        f"{would}{verb}: {', '.join(names)}"
        for verb, names in (("added", edit.added), ("updated", edit.updated), ("removed", edit.removed))
        if names
    ]
    if edit.unchanged:
        done.append(f"already there: {', '.join(edit.unchanged)}")
    print(f"{program.title}, {path}: {'; '.join(done) or 'nothing of ours is there'}")


def _show_difference(path: Path, before: str, after: str) -> None:
    old, new = (
        text.encode(errors="surrogateescape").decode(errors="replace").splitlines()
        for text in (before, after)
    )
    for line in difflib.unified_diff(old, new, str(path), str(path), lineterm=""):
        print(line)


def _by_hand(program: Program, args: argparse.Namespace) -> int:
    engines, left_out = _engines(program, args)
    if args.json:
        commands = {engine.name: engine.words for engine in engines}
        print_json({"program": program.name, "commands": commands, "left_out": left_out, "changed": False})
        return 0
    print(f"{program.title}: {program.steps}.")
    for engine in engines:
        print(f"\n{engine.name}")
        print(f"  command     {engine.program}")
        print(f"  parameters  {engine.protocol} {engine.mind}")
        print(f"  protocol    {engine.protocol.upper()}")
    for reason in left_out:
        print(f"\nleft out: {reason}")
    return 0


def _lichess_bot(program: Program, args: argparse.Namespace) -> int:
    from tabiya.programs import lichess_bot, settings_file, starter
    from tabiya.roster import open_player

    if len(args.minds) > 1:
        raise UserError("lichess-bot plays with one engine: name one mind")
    args.minds = args.minds or ["nnue"]
    (engine,), _ = _engines(program, args)
    with open_player(engine.mind) as player:
        offered = {option.name for option in player.options()}
    options = {name: value for name, value in LICHESS_OPTIONS.items() if name in offered}
    if args.folder is not None and not args.folder.expanduser().is_dir():
        raise UserError(f"no folder {args.folder}: --folder takes the folder of lichess-bot")
    folder = Path(os.path.abspath((args.folder or Path("lichess-bot")).expanduser())) / "engines"
    path = folder / starter.starter_name(engine.mind)
    script = starter.starter(engine)
    section = lichess_bot.section(engine, folder, options)
    writes = args.folder is not None and not args.dry_run
    there = settings_file.read(path, strict=False)
    changed = args.folder is not None and there != script
    if writes and changed:
        settings_file.write(path, script, keep=not starter.is_starter(there), executable=True)
    if args.json:
        print_json(
            {"program": program.name, "starter": str(path), "changed": changed, "dry_run": args.dry_run}
            | {"script": script, "section": section, "commands": {engine.name: engine.words}}
        )
        return 0
    if writes:
        print(f"{path}: {'written' if changed else 'already there'}")
    else:
        print(f"1. With --folder DIR, lichess-bot's folder, this file is written as {path}:\n")
        print(script)
    print("2. In lichess-bot's config.yml, put this in the place of its `engine:` part:\n")
    print(section)
    print(
        "3. Your token you enter yourself, as lichess-bot's own instructions say: it is not asked for here."
    )
    return 0


def _engines(
    program: Program, args: argparse.Namespace, folder: Path | None = None
) -> tuple[list[Engine], list[str]]:
    """The engines to enter, each opened once so that none is entered that cannot play.

    `folder` is where their own files lie, for a program that needs such files.
    """
    from tabiya.player import PlayerError, PlayerName
    from tabiya.programs.engine import Engine, program_in_use, refuse_odd_characters
    from tabiya.programs.starter import starter_name
    from tabiya.roster import KINDS, open_player

    starter = args.starter
    if starter is None:
        starter = program_in_use()
    elif not os.access(starter := os.path.abspath(os.path.expanduser(starter)), os.X_OK):
        raise UserError(f"{starter} is no program that can be run")
    engines, left_out = [], []
    for mind in args.minds or [kind for kind in KINDS if kind not in NOT_OURS]:
        if PlayerName.parse(mind).kind == "human":
            raise UserError("a person cannot be an engine; leave out 'human'")
        lasting = _lasting(mind)
        own_file = str(folder / starter_name(lasting)) if folder else ""
        engine = Engine(starter, program.protocol, lasting, own_file)
        refuse_odd_characters(engine)
        try:
            open_player(lasting).close()
        except PlayerError as error:
            if args.minds:
                raise
            left_out.append(f"{mind}: {error}")
            continue
        if engine not in engines:
            engines.append(engine)
    return engines, left_out


def _lasting(mind: str) -> str:
    """A mind's name that means the same in any folder: an existing file in it as an absolute path."""
    head, mark, query = mind.partition("?")
    kind, colon, rest = head.partition(":")
    where, number, part = rest.partition("#")
    if where and Path(where).expanduser().exists():
        where = os.path.abspath(os.path.expanduser(where))
    return f"{kind}{colon}{where}{number}{part}{mark}{query}"
