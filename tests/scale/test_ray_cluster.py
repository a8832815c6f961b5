"""Work on a Ray cluster of three nodes, each with a raylet of its own, on this machine.

What matters is that nothing but time depends on where work is done: the same
files as on this machine alone, also when a node dies or the driver is killed.
"""

from __future__ import annotations

import json
import random
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tabiya import _core
from tabiya.cli import main

HERE = Path(__file__).resolve().parent
FAKE = HERE.parent / "data" / "fake_teacher.py"
CONFIG = HERE.parent / "minds" / "genetic" / "small.conf"
NODES = "20000"  # with this limit a chunk is 50 positions
POSITIONS = 600
MEMORY = 80 * 2**20


class Machines:
    """The cluster, and what tests do to it."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": MEMORY},
        )
        self._others = [self._add(), self._add()]
        self._cluster.wait_for_nodes()
        self.on = f"ray:{self._cluster.address}"

    def _add(self) -> Any:
        return self._cluster.add_node(num_cpus=1, object_store_memory=MEMORY)

    def kill_one(self) -> None:
        self._cluster.remove_node(self._others.pop(), allow_graceful=False)

    def replace_one(self) -> None:
        self._others.append(self._add())
        self._cluster.wait_for_nodes()

    def shutdown(self) -> None:
        self._cluster.shutdown()


@pytest.fixture(scope="module")
def machines(needs_ray: None) -> Iterator[Machines]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Known to this cluster and its drivers alone, and to no file in the home of whoever runs the tests.
        environment.setenv("RAY_AUTH_MODE", "token")
        environment.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
        found = Machines()
        yield found
        found.shutdown()


@pytest.fixture
def teacher(tmp_path: Path) -> str:
    """A slow teacher that leaves a mark when it starts."""
    marks, script = tmp_path / "marks", tmp_path / "teacher"
    marks.mkdir()
    script.write_text(f"#!/bin/sh\n: > '{marks}'/$$\nexec '{sys.executable}' '{FAKE}' --slow 8\n")
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def fens(tmp_path: Path) -> Path:
    path = tmp_path / "p.fen"
    path.write_text("".join(f"{fen}\n" for fen in _core.unpack_fens(_core.random_positions(POSITIONS, 5))))
    return path


def label(fens: Path, teacher: str, out: Path, *more: str) -> list[str]:
    return ["data", "label", str(fens), "--teacher", teacher, "--nodes", NODES, "--out", str(out), *more]


def tournament(out: Path, *more: str, games: int = 4) -> list[str]:
    players = ["random", "random?Seed=5", "turing"]
    limits = ["--games", str(games), "--depth", "1", "--max-moves", "12", "--seed", "3"]
    return ["tournament", *players, *limits, "--out", str(out), *more]


def without_times(folder: Path) -> str:
    """The games but for the time they took, the name of their folder and the day."""
    text = (folder / "games.pgn").read_text()
    return re.sub(r"\[%emt [^]]*\]|\[(Event|Date) [^]]*\]\n", "", text).replace("\n", " ")


def wait_for(condition: Callable[[], bool], driver: subprocess.Popen[bytes], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert driver.poll() is None, "the driver ended too soon"
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def started(words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tabiya", *words], stdout=subprocess.DEVNULL)


def test_labels_are_those_of_this_machine(
    machines: Machines, fens: Path, teacher: str, tmp_path: Path
) -> None:
    for kind in ([], ["--all-moves", "--max", "12"]):
        assert main(label(fens, teacher, tmp_path / "here", *kind, "--workers", "3")) == 0
        assert main(label(fens, teacher, tmp_path / "there", *kind, "--on", machines.on)) == 0
    for name in ("p.i16", "p.moves"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()
    here, there = (json.loads((tmp_path / name / "p.i16.json").read_text()) for name in ("here", "there"))
    assert there | {"seconds": 0} == here | {"seconds": 0}


def games_of(seed: int) -> str:
    """Forty random games of thirty half-moves."""
    chance, games = random.Random(seed), []
    for number in range(40):
        board, moves = _core.Board(), []
        for _ in range(30):
            if board.outcome() is None:
                move = chance.choice(board.legal_moves())
                moves.append(board.san(move))
                board.push(move)
        games.append(f'[White "{number}"]\n[Result "*"]\n\n{" ".join(moves)} *\n\n')
    return "".join(games)


@pytest.mark.parametrize("more", [[], ["--dedup"]], ids=["side by side", "in order"])
def test_extracted_positions_are_those_of_this_machine(
    machines: Machines, tmp_path: Path, more: list[str]
) -> None:
    sources = [tmp_path / f"{name}.pgn" for name in "abc"]
    for seed, source in enumerate(sources):
        source.write_text(games_of(seed))
    manifests = []
    for name, where in (("here", "local"), ("there", machines.on)):
        words = ["data", "extract", *map(str, sources), "--out", str(tmp_path / name), "--on", where, *more]
        assert main(words) == 0
        manifests.append(json.loads((tmp_path / name / "manifest.json").read_text()) | {"seconds": 0})
    assert manifests[0] == manifests[1]
    names = sorted(path.name for path in (tmp_path / "here").glob("*"))
    assert names == sorted(path.name for path in (tmp_path / "there").glob("*"))
    for path in (tmp_path / "here").glob("*.pos"):
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


def test_a_tournament_is_that_of_this_machine(machines: Machines, tmp_path: Path) -> None:
    assert main(tournament(tmp_path / "here")) == 0
    assert main(tournament(tmp_path / "there", "--on", machines.on)) == 0
    assert without_times(tmp_path / "here") == without_times(tmp_path / "there")
    here, there = (json.loads((tmp_path / name / "result.json").read_text()) for name in ("here", "there"))
    for key in ("games", "ratings", "cross_table", "endings", "faults", "engines", "settings"):
        assert here[key] == there[key]


def evolve(out: Path, *more: str, config: Path = CONFIG) -> list[str]:
    return ["evolve", str(config), "--out", str(out), "--json", *more]


def same_pool(here: Path, there: Path) -> None:
    names = sorted(path.name for path in here.iterdir())
    assert names == sorted(path.name for path in there.iterdir())
    for name in names:
        contents = [(folder / name).read_bytes() for folder in (here, there)]
        if name.endswith(".json"):
            states = [json.loads(text) for text in contents]
            for state in states:
                state["world"]["seconds"] = 0
            assert states[0] == states[1]
        else:
            assert contents[0] == contents[1], name


def test_a_gene_pool_is_that_of_this_machine(machines: Machines, tmp_path: Path) -> None:
    assert main(evolve(tmp_path / "here")) == 0
    assert main(evolve(tmp_path / "there", "--on", machines.on)) == 0
    same_pool(tmp_path / "here", tmp_path / "there")


def test_an_evaluation_is_that_of_this_machine(
    machines: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boards = [_core.Board(fen) for fen in _core.unpack_fens(_core.random_positions(40, 6))]
    lines = [f"{' '.join(board.fen().split()[:4])} bm {board.legal_moves()[0]};" for board in boards]
    (tmp_path / "s.epd").write_text("\n".join(lines) + "\n")
    words = ["eval", "suite", "turing", "turing", "--suite", str(tmp_path / "s.epd"), "--depth", "1"]
    figures = []
    for where in ("local", machines.on):
        # Two players on a cluster of three cores: the first makes room for the second.
        assert main([*words, "--json", "--on", where]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    assert figures[0] == figures[1]


def test_a_player_that_is_not_there_is_one_sentence_with_its_machine(
    machines: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["match", "random", "uci:/no/such/engine", "--games", "2", "--out", str(tmp_path / "m")]
    assert main([*words, "--on", machines.on]) == 2
    error = capsys.readouterr().err
    assert "/no/such/engine" in error
    assert "(on " in error
    assert error.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_a_killed_driver_goes_on_where_it_was(
    machines: Machines, fens: Path, teacher: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = label(fens, teacher, tmp_path / "there", "--on", machines.on, "--json")
    driver = started(words)
    part = tmp_path / "there" / "p.i16.part"
    wait_for(lambda: part.exists() and any(part.read_bytes().strip(b"\xff\x7f")), driver)
    driver.kill()
    driver.wait()
    assert not (tmp_path / "there" / "p.i16").exists()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["files"][0]["newly_labelled"] < POSITIONS
    assert main(label(fens, teacher, tmp_path / "here", "--workers", "3")) == 0
    assert (tmp_path / "here" / "p.i16").read_bytes() == (tmp_path / "there" / "p.i16").read_bytes()


def test_a_node_that_dies_costs_time_and_no_labels(
    machines: Machines, fens: Path, teacher: str, tmp_path: Path
) -> None:
    driver = started(label(fens, teacher, tmp_path / "there", "--on", machines.on))
    try:
        # Three teachers on three nodes with one core each: the one that dies had work.
        wait_for(lambda: len(list((tmp_path / "marks").iterdir())) >= 3, driver)
        assert not (tmp_path / "there" / "p.i16").exists()
        machines.kill_one()
        assert driver.wait(600) == 0
    finally:
        driver.kill()
        machines.replace_one()
    assert main(label(fens, teacher, tmp_path / "here", "--workers", "3")) == 0
    assert (tmp_path / "here" / "p.i16").read_bytes() == (tmp_path / "there" / "p.i16").read_bytes()


def test_a_killed_evolution_goes_on_to_the_same_pool(machines: Machines, tmp_path: Path) -> None:
    config = tmp_path / "slow.conf"
    config.write_text(CONFIG.read_text().replace("game nodes = 300", "game nodes = 300000"))
    driver = started(evolve(tmp_path / "there", "--on", machines.on, config=config))
    state = tmp_path / "there" / "pool.txt_state.json"

    def turns() -> int:
        return int(json.loads(state.read_text())["world"]["turn"]) if state.exists() else 0

    wait_for(lambda: turns() >= 2, driver)
    driver.kill()
    driver.wait()
    assert turns() < 10
    assert main(evolve(tmp_path / "there", "--on", machines.on, config=config)) == 0
    assert main(evolve(tmp_path / "here", config=config)) == 0
    same_pool(tmp_path / "here", tmp_path / "there")


def test_a_node_that_dies_costs_time_and_no_games(machines: Machines, tmp_path: Path) -> None:
    words = tournament(tmp_path / "there", "--on", machines.on, games=30)
    driver = started(words)
    games = tmp_path / "there" / "games.pgn"

    def played() -> int:
        return games.read_text().count("[Event ") if games.exists() else 0

    try:
        wait_for(lambda: played() >= 6, driver)
        assert played() < 90
        machines.kill_one()
        assert driver.wait(600) == 0
    finally:
        driver.kill()
        machines.replace_one()
    assert main(tournament(tmp_path / "here", "--concurrency", "2", games=30)) == 0
    assert without_times(tmp_path / "here") == without_times(tmp_path / "there")
