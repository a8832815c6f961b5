"""`tabiya install-engine` as a user calls it: files, backups, refusals, what is printed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import chess
import chess.engine
import pytest

from tabiya.cli import main
from tabiya.programs.known import PROGRAMS
from tabiya.programs.settings_file import BACKUP

WITH_FILES = sorted(name for name, program in PROGRAMS.items() if program.settings)
FOREIGN = {
    "xboard": b'-firstChessProgramNames {fairymax\n"Caf\xe9" -fcp cafe\n}\n',
    "pychess": b'[{"name": "other", "command": "/usr/bin/other"}]',
    "cutechess": b'[{"name": "other", "command": "other"}]\n',
}
FILES = {
    "xboard": ".xboardrc",
    "pychess": ".config/pychess/engines.json",
    "cutechess": ".config/cutechess/engines.json",
}


def install(program: str, starter: Path, *words: str) -> int:
    return main(["install-engine", program, "--tabiya", str(starter), *words])


@pytest.fixture(params=WITH_FILES)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(home: Path, program: str) -> Path:
    path = home / FILES[program]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(FOREIGN[program])
    return path


def test_twice_is_once_and_the_first_state_is_kept_beside(file: Path, program: str, starter: Path) -> None:
    assert install(program, starter, "random") == 0
    once = file.read_bytes()
    assert once != FOREIGN[program]
    assert install(program, starter, "random") == 0
    assert file.read_bytes() == once
    assert install(program, starter, "turing") == 0
    assert (file.parent / (file.name + BACKUP)).read_bytes() == FOREIGN[program]
    assert main(["install-engine", program, "--remove"]) == 0
    assert file.read_bytes() == FOREIGN[program]


def test_a_dry_run_shows_the_change_and_makes_none(
    file: Path, program: str, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(program, starter, "--dry-run", "random") == 0
    shown = capsys.readouterr().out
    assert "would be added: Tabiya random" in shown
    assert any(line.startswith("+") and "Tabiya random" in line for line in shown.splitlines())
    assert file.read_bytes() == FOREIGN[program]
    assert sorted(file.parent.iterdir()) == [file]


def test_json_tells_what_was_done(
    file: Path, program: str, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(program, starter, "random", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(file)
    assert (told["changed"], told["added"], told["dry_run"]) == (True, ["Tabiya random"], False)
    assert told["commands"]["Tabiya random"] == [str(starter), PROGRAMS[program].protocol, "random"]
    assert main(["install-engine", "--list", "--json"]) == 0
    rows = {row["program"]: row for row in json.loads(capsys.readouterr().out)["programs"]}
    assert rows[program]["engines"] == ["Tabiya random"]


@pytest.mark.parametrize("content", [b"\xff\xfe\0\0", b"<xml>not ours</xml>", b"[{]"])
def test_a_file_that_is_not_understood_is_left_alone(
    file: Path, program: str, starter: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_bytes(content)
    assert install(program, starter, "random") == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert "left as it is" in error
    assert error.count("\n") == 1
    assert file.read_bytes() == content
    assert main(["install-engine", program, "--remove"]) == 2
    assert main(["install-engine", "--list"]) == 0
    assert sorted(file.parent.iterdir()) == [file]


def test_mode_and_link_of_the_file_stay(file: Path, program: str, starter: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfile"
    file.rename(real)
    real.chmod(0o600)
    file.symlink_to(real)
    assert install(program, starter, "random") == 0
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert b"Tabiya random" in real.read_bytes()


def test_a_file_that_is_missing_is_made_and_has_no_backup(home: Path, program: str, starter: Path) -> None:
    assert install(program, starter, "random") == 0
    file = home / FILES[program]
    assert b"Tabiya random" in file.read_bytes()
    assert install(program, starter, "turing") == 0
    assert sorted(each.name for each in file.parent.iterdir() if each.is_file()) == [file.name]


@pytest.mark.parametrize("program", ["cutechess", "pychess"])
def test_every_mind_has_a_file_of_its_own_that_goes_with_its_entry(
    home: Path, program: str, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(program, starter, "random", "random?seed=1") == 0
    first, second = json.loads((home / FILES[program]).read_text())
    assert first["command"] != second["command"]
    with chess.engine.SimpleEngine.popen_uci([second["command"]], timeout=60) as engine:
        assert engine.play(chess.Board(), chess.engine.Limit(nodes=1)).move in chess.Board().legal_moves
    # The list is right and the program has moved: only the file is written anew.
    moved = starter.with_name("tabiya-moved")
    starter.rename(moved)
    capsys.readouterr()
    assert install(program, moved, "random", "--dry-run") == 0
    assert f"would be written: {first['command']}" in capsys.readouterr().out
    assert install(program, moved, "random", "--json") == 0
    assert json.loads(capsys.readouterr().out)["updated"] == ["Tabiya random"]
    assert str(moved) in Path(first["command"]).read_text()
    assert main(["install-engine", program, "--remove", "random"]) == 0
    assert not Path(first["command"]).exists()
    assert Path(second["command"]).exists()


def test_a_file_of_someone_elses_is_not_made_a_starter(home: Path, starter: Path) -> None:
    own = home / ".config" / "cutechess" / "tabiya" / "tabiya-random"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\necho mine\n")
    assert install("cutechess", starter, "random") == 2
    assert own.read_text() == "#!/bin/sh\necho mine\n"
    assert not (home / FILES["cutechess"]).exists()


def test_xdg_config_home_is_heeded(home: Path, starter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "settings"))
    assert install("pychess", starter, "random") == 0
    assert (home / "settings" / "pychess" / "engines.json").is_file()
    assert not (home / ".config").exists()


def test_without_a_mind_every_one_that_can_play_is_entered(
    home: Path, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install("cutechess", starter, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {"Tabiya nnue", "Tabiya turing", "Tabiya random", "Tabiya montecarlo"} <= set(told["added"])
    assert not {"Tabiya human", "Tabiya uci", "Tabiya xboard"} & set(told["added"])
    entered = {name.removeprefix("Tabiya ") for name in told["added"]}
    assert not entered & {reason.partition(":")[0] for reason in told["left_out"]}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["xbord"], "did you mean 'xboard'?"),
        (["zzz"], "there are xboard, pychess"),
        (["xboard", "nobody"], "unknown player 'nobody'"),
        (["xboard", "human"], "a person cannot be an engine"),
        (["xboard", "random?seed=1}"], "cannot hold"),
        (["xboard", 'random?seed="1'], "cannot hold"),
        (["pychess", "random", "--folder", "."], "--folder is for lichess-bot"),
        (["arena", "--file", "x"], "no settings file"),
        (["arena", "--remove"], "nothing was written for Arena"),
        (["lichess-bot", "random", "turing"], "one engine"),
        (["lichess-bot", "random", "--folder", "/no/such/folder"], "no folder"),
        (["xboard", "random", "--tabiya", "/no/such/program"], "no program that can be run"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(
    home: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install-engine", *words]) == 2
    error = capsys.readouterr().err
    assert why in error
    assert error.count("\n") == 1
    assert list(home.iterdir()) == []


def test_a_path_in_a_minds_name_is_written_in_full(
    home: Path, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(starter.parent)
    assert install("cutechess", starter, "uci:tabiya?args=uci+random") == 0
    (entry,) = json.loads((home / FILES["cutechess"]).read_text())
    assert entry["name"] == f"Tabiya uci:{starter}?args=uci+random"
    assert main(["install-engine", "cutechess", "uci:tabiya?args=uci+random", "--remove"]) == 0
    assert json.loads((home / FILES["cutechess"]).read_text()) == []


def test_where_there_is_no_file_the_command_is_printed(
    home: Path, starter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for program in ("arena", "banksia"):
        assert install(program, starter, "turing") == 0
        shown = capsys.readouterr().out
        assert f"command     {starter}\n" in shown
        assert "parameters  uci turing\n" in shown
    assert list(home.iterdir()) == []


def test_lichess_bots_starter_takes_the_options_of_its_section(
    home: Path, starter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yml"
    config.write_text('token: "secret"\n')
    assert install("lichess-bot", starter, "nnue", "--folder", str(tmp_path), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    lines = [line.split(": ", 1) for line in told["section"].splitlines()]
    keys = {line[0].strip(): line[1] for line in lines if len(line) == 2}
    command = os.path.join(json.loads(keys["dir"]), json.loads(keys["name"]))
    assert command == told["starter"]
    # As lichess-bot does: the file without a word, then every option of the section at once.
    with chess.engine.SimpleEngine.popen_uci([command], timeout=60) as engine:
        engine.configure({name: int(keys[name]) for name in ("Threads", "Hash", "Move Overhead")})
        move = engine.play(chess.Board(), chess.engine.Limit(nodes=100)).move
    assert move in chess.Board().legal_moves
    assert config.read_text() == 'token: "secret"\n'
    assert "secret" not in json.dumps(told)
    assert install("lichess-bot", starter, "random", "--json") == 0
    assert "uci_options: {}" in json.loads(capsys.readouterr().out)["section"]


@pytest.mark.parametrize("protocol", ["uci", "xboard"])
def test_python_chess_plays_with_the_command_that_is_entered(
    home: Path, starter: Path, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "xboard" if protocol == "xboard" else "pychess"
    assert install(program, starter, "random?seed=1", "--json") == 0
    words = json.loads(capsys.readouterr().out)["commands"]["Tabiya random?seed=1"]
    start = {"uci": chess.engine.SimpleEngine.popen_uci, "xboard": chess.engine.SimpleEngine.popen_xboard}
    board = chess.Board()
    with start[protocol](words, timeout=60) as engine:
        for _ply in range(4):
            move = engine.play(board, chess.engine.Limit(time=1)).move
            assert move is not None
            board.push(move)
    assert board.ply() == 4


def test_the_program_that_is_entered_is_there_and_named_in_full(home: Path, starter: Path) -> None:
    answer = subprocess.run(
        [str(starter), "install-engine", "cutechess", "random", "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    program = json.loads(answer.stdout)["commands"]["Tabiya random"][0]
    # `python -m tabiya` is named by the `tabiya` installed beside that Python, or on the PATH.
    assert os.path.isabs(program)
    assert os.path.basename(program) == "tabiya"
    assert os.access(program, os.X_OK)
