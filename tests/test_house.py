"""What a newcomer meets first: the commands, the pins, the set-up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tabiya import __version__
from tabiya.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def tabiya(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "tabiya", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {_normal(package): version for package, version in pairs}


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def test_help_names_every_command() -> None:
    answer = tabiya("--help")
    assert answer.returncode == 0
    listed = {line.split()[0] for line in answer.stdout.splitlines() if line.startswith("  ")}
    assert listed == set(COMMANDS)


def test_no_words_at_all_say_what_can_be_done_in_ten_lines() -> None:
    answer = tabiya()
    assert answer.returncode == 0
    assert 5 <= len(answer.stdout.splitlines()) <= 10


def test_the_version_is_that_of_the_compiled_module() -> None:
    assert tabiya("--version").stdout == f"tabiya {__version__}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_built_command_explains_its_options(name: str) -> None:
    answer = tabiya(name, "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert f"usage: tabiya {name}" in answer.stdout


def test_a_misspelt_command_is_answered_with_the_right_one() -> None:
    answer = tabiya("plya")
    assert answer.returncode == 2
    assert answer.stderr == "tabiya: unknown command 'plya', did you mean 'play'?\n"


def test_the_main_job_plays_one_game_and_ends_where_there_is_no_terminal() -> None:
    answer = tabiya("play")
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"1-0|0-1|1/2-1/2", answer.stdout)


@pytest.mark.parametrize(("name", "group"), [("run", "project"), ("build", "build-system"), ("dev", "dev")])
def test_every_package_asked_for_is_pinned(name: str, group: str) -> None:
    asked = {
        "project": PROJECT["project"]["dependencies"],
        "build-system": PROJECT["build-system"]["requires"],
        "dev": [*EXTRAS["train"], *(need for need in EXTRAS["dev"] if need != "tabiya[train]")],
    }[group]
    names = {_normal(re.split(r"[<>=!~;\[ ]", requirement)[0]) for requirement in asked}
    assert names <= set(pins(name))


def test_what_playing_needs_has_no_torch_and_no_matplotlib() -> None:
    needed = {*pins("run"), *pins("build")}
    assert needed & {"torch", "matplotlib", "onnx", "pytest", "mypy"} == set()


def test_make_run_installs_only_what_playing_needs() -> None:
    # Not as a child of the `make test` that may be running this.
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--dry-run", "--always-make", "run"]
    plan = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"requirements/(\w+)\.txt", plan) == ["run", "build"]
    assert plan.rstrip().endswith("bin/tabiya serve")


def test_continuous_integration_is_one_executable_file_that_makes_the_tests() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
    assert script.read_text().rstrip().endswith("exec make test")


def test_the_readme_shows_no_command_that_is_not_there() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    shown = {
        name for block in blocks for name in re.findall(r"^(?:\$ |  )?tabiya (\w+)", block, re.MULTILINE)
    }
    assert shown
    assert shown <= set(COMMANDS)
