"""Every command that the README and the docs show is run at toy size, or where it cannot be, parsed.

A shown command is a line of a fenced block that begins with `tabiya` (or `$
tabiya`). What follows two spaces or a `#` is its description. Words in capitals stand for
something of the reader's; they are given a meaning in `STANDS_FOR` and the
files they name are made small in `desk`. What is only read stands in
`ONLY_READ` with the reason; nothing is passed over in silence.
"""

from __future__ import annotations

import bz2
import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from tabiya.cli import COMMANDS, Parser
from tabiya.cli.lab import EXPERIMENTS
from tabiya.errors import UserError
from tabiya.player import PlayerError, PlayerName
from tabiya.roster import KINDS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FEN = "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"

STANDS_FOR = {"FEN": FEN, "N": "1", "MIND": "turing"} | {name: f"random?name={name}" for name in "ABC"}

SMALL = {
    "play": ["--nodes", "200"],
    "move": ["--nodes", "200"],
    "match": ["--games", "2", "--nodes", "50", "--max-moves", "4"],
    "tournament": ["--games", "2", "--nodes", "50", "--max-moves", "4"],
    "bench": ["--positions", "200", "--repeat", "1"],
    "explain": ["--nodes", "200"],
    "eval puzzles": ["--max", "2", "--nodes", "50"],
}
"""What makes a command small enough, written behind it."""

ONLY_READ = {
    "tabiya serve": "does not end by itself; tests/web starts it",
    "tabiya train": "trains a network",
    "tabiya pipeline": "trains a network",
    "tabiya evolve": "evolves for hours",
    "tabiya lab": "an experiment of minutes to hours, on training runs or data that do not come along",
    "tabiya promote": "needs a training run and hours of games",
    "tabiya export": "needs a training run or thousands of games",
    "tabiya data label": "needs a teacher engine",
    "tabiya data choose": "needs a teacher engine",
    "tabiya data forcing": "needs a teacher engine",
    "tabiya data selfplay": "needs a training run; tests/minds/resnet/test_selfplay.py runs it",
    "tabiya data join": "needs labels",
    "tabiya data curate": "needs labels",
    "tabiya data extract GAMES…": "needs puzzles and evaluations, or games by rating",
    "tabiya eval agree": "needs labels",
    "tabiya eval endgames": "needs Syzygy tables",
    "tabiya eval openings": "needs masters' games and ECO tables",
    "tabiya eval suite": "needs a suite of positions",
    "tabiya explain transformer:": "needs a training run",
    "tabiya play human genetic:": "needs a gene pool",
    "tabiya play human resnet:": "needs a training run",
    "tabiya move genetic:": "needs a gene pool",
    "tabiya tournament --config": "hours of games; tests/cli/test_cli_tournament.py plays a small list",
    "tabiya tournament nnue resnet turing --nodes 1000 --on ray": "needs a cluster",
}
"""By the words that a command begins with."""


@dataclass(frozen=True)
class Shown:
    """A command as it stands in a document."""

    document: str
    line: int
    text: str

    def words(self) -> list[str]:
        """What its parser is given, without optional brackets, dots and redirections."""
        text = re.sub(r"[\[\]]", " ", self.text) if re.search(r" \[-", self.text) else self.text
        words = []
        for word in shlex.split(text)[1:]:
            if word == "<":
                break
            word = word.rstrip("…") if word != "…" else ""
            if word:
                words.append(STANDS_FOR.get(word, word))
        return words

    def reason(self) -> str | None:
        """Why it is only read; None: it is run."""
        plain = " ".join(self.text.split())
        fitting = [start for start in ONLY_READ if plain.startswith(start)]
        if any(word in plain for word in ("uci:", "xboard:")) and not fitting:
            return "needs an outside engine"
        return ONLY_READ[max(fitting, key=len)] if fitting else None


def shown_in(text: str, document: str) -> Iterator[Shown]:
    """The commands of a document's fenced blocks."""
    fenced, joined, begun = False, "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced, joined = not fenced, ""
            continue
        begun = begun if joined else number
        joined += line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        found = re.match(r"(?:\$ )?(tabiya(?: .*)?)$", joined)
        joined = ""
        if fenced and found:
            yield Shown(document, begun, without_description(found[1]))


def without_description(text: str) -> str:
    """
    >>> without_description("tabiya eval suite    MIND … --suite FILE      test positions")
    'tabiya eval suite    MIND … --suite FILE'
    >>> without_description("tabiya lab axes --stage play   # where: the games")
    'tabiya lab axes --stage play'
    """
    text = re.sub(r"\s+#\s.*$", "", text)
    return re.sub(r"\s{2,}(?!-|MIND\b)\S.*$", "", text).strip()


def read(shown: Shown) -> None:
    """Give a command to its real parser; a `UserError` says what is wrong with it."""
    name, *words = shown.words() or [""]
    if name in ("", "--help"):
        return
    if name not in COMMANDS:
        raise UserError(f"unknown command {name!r}")
    module = importlib.import_module(f"tabiya.cli.{COMMANDS[name][0]}")
    parser = Parser(prog=f"tabiya {name}")
    module.add_arguments(parser)
    args = parser.parse_args(words)
    if name == "lab":
        if args.name not in EXPERIMENTS:
            raise UserError(f"unknown experiment {args.name!r}")
        module = importlib.import_module(f"tabiya.cli.{EXPERIMENTS[args.name][0]}")
        parser = Parser(prog=f"tabiya lab {args.name}")
        module.add_arguments(parser, args.name)
        args = parser.parse_args(args.words)
    for word in words:
        if re.match(r"(configs|src|docs|tests)/", word) and not (ROOT / word).exists():
            raise UserError(f"there is no {word}")
    for player in _players(args):
        try:
            kind = PlayerName.parse(player).kind
        except PlayerError as error:
            raise UserError(str(error)) from None
        if kind not in KINDS:
            raise UserError(f"there is no player {kind!r}")


def _players(args: object) -> list[str]:
    found = []
    for name in ("player", "players", "mind", "minds", "white", "black", "one", "two"):
        value = getattr(args, name, None)
        found += (
            [value] if isinstance(value, str) else [each for each in value or () if isinstance(each, str)]
        )
    return found


ALL = [
    shown
    for path in DOCUMENTS
    for shown in shown_in(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
]


def _name(shown: Shown) -> str:
    return f"{shown.document}:{shown.line}"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files of every kind that the documents name, and a home of its own."""
    game = '[Event "x"]\n[White "a"]\n[Black "b"]\n[Result "{}"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 {}\n\n'
    games = "".join(game.format(end, end) for end in ("1-0", "0-1", "1/2-1/2"))
    for name in ("games.pgn", "game.pgn", "GAMES.pgn"):
        (tmp_path / name).write_text(games)
        (tmp_path / f"{name}.zst").write_bytes(zstandard.ZstdCompressor().compress(games.encode()))
        (tmp_path / f"{name}.bz2").write_bytes(bz2.compress(games.encode()))
    (tmp_path / "openings.epd").write_text(f"{FEN}\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -\n")
    (tmp_path / "lichess-bot").mkdir()
    for name in ("src", "configs", "docs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "FILE").write_text(
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
        "x,6k1/5ppp/8/8/8/8/r7/3RK3 b - - 0 1,a2a1 d1a1,600,80,90,100,mate,https://example.org,\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / ".config"))
    return tmp_path


def run(shown: Shown, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shown.words()
    small = SMALL.get(" ".join(words[:2])) or SMALL.get(words[0] if words else "") or []
    if words[:1] == ["match"] and "--tc" in words:
        small = ["--games", "2", "--tc", "1+0.01", "--max-moves", "4"]
    return subprocess.run(
        [sys.executable, "-m", "tabiya", *words, *small],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        input="quit\n" if words[:1] in (["uci"], ["xboard"]) else "",
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("shown", ALL, ids=_name)
def test_a_shown_command_is_one_that_its_parser_understands(shown: Shown) -> None:
    read(shown)


@pytest.mark.parametrize("shown", [each for each in ALL if each.reason() is None], ids=_name)
def test_a_shown_command_runs(shown: Shown, desk: Path) -> None:
    answer = run(shown, desk)
    assert answer.returncode == 0, f"{shown.text}\n{answer.stderr}"
    assert "Traceback" not in answer.stderr


def test_enough_is_shown_and_enough_of_it_is_run() -> None:
    assert len(ALL) > 90
    assert sum(each.reason() is None for each in ALL) > 30


def test_what_is_only_read_is_still_shown_somewhere() -> None:
    plain = [" ".join(each.text.split()) for each in ALL]
    stale = [start for start in ONLY_READ if not any(text.startswith(start) for text in plain)]
    assert stale == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("tabiya plya human nnue", "unknown command 'plya'"),
        ("tabiya match turing random --gmaes 4      two players", "unrecognized arguments: --gmaes 4"),
        ("tabiya match turing random --games many", "invalid int value: 'many'"),
        ("tabiya match turing", "the following arguments are required"),
        ("tabiya lab axess", "unknown experiment 'axess'"),
        ("tabiya lab axes --stge train   # a slip", "unrecognized arguments: --stge"),
        ("tabiya eval puzles MIND --puzzles FILE", "invalid choice: 'puzles'"),
        ("tabiya train configs/none.toml", "there is no configs/none.toml"),
        ("$ tabiya tournament turing rezzet", "there is no player 'rezzet'"),
        ("tabiya export onnx RUN --out FILE.onnx [--hlaf]", "unrecognized arguments: --hlaf"),
    ],
)
def test_a_doctored_document_is_caught_by_reading(line: str, wrong: str) -> None:
    (shown,) = shown_in(f"Text.\n\n```\n{line}\n```\n", "doctored.md")
    with pytest.raises(UserError, match=re.escape(wrong)):
        read(shown)


@pytest.mark.parametrize("line", ["tabiya elo missing.pgn", "tabiya move turing nonsense"])
def test_a_doctored_document_is_caught_by_running(line: str, desk: Path) -> None:
    (shown,) = shown_in(f"```\n{line}\n```\n", "doctored.md")
    assert shown.reason() is None
    assert run(shown, desk).returncode == 2


def test_commands_named_in_the_text_are_there() -> None:
    wrong = []
    for path in DOCUMENTS:
        for name, verb in re.findall(
            r"`tabiya ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", path.read_text(encoding="utf-8")
        ):
            if name not in COMMANDS or (name == "lab" and verb and verb not in EXPERIMENTS):
                wrong.append(f"{path.relative_to(ROOT)}: tabiya {name} {verb}")
    assert wrong == []


def test_every_link_of_the_documents_leads_somewhere() -> None:
    wrong = []
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert wrong == []
