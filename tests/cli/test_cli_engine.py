"""`tabiya uci` and `tabiya xboard`: the same module, told apart by the command."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tabiya.cli import main


@pytest.mark.parametrize(
    ("command", "greeting", "answer"),
    [("uci", "uci\n", "uciok"), ("xboard", "xboard\nprotover 2\n", "feature done=1")],
)
def test_each_command_speaks_its_own_protocol_and_turing_is_the_default(command, greeting, answer):
    done = subprocess.run(
        [sys.executable, "-m", "tabiya", command],
        input=greeting,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert answer in done.stdout.splitlines()
    assert "turing" in done.stdout


@pytest.mark.parametrize("command", ["uci", "xboard"])
def test_a_mistake_is_one_sentence_and_exit_2(capsys, command):
    assert main([command, "nobody"]) == 2
    assert "unknown player 'nobody'" in capsys.readouterr().err
    assert main([command, "human"]) == 2
    assert "a person cannot be an engine" in capsys.readouterr().err
