"""Configs: what a file may say, and how it is told that it may not."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tabiya.errors import UserError
from tabiya.learn.config import config_from_dict, config_to_dict, load_config


@dataclass(frozen=True, kw_only=True)
class Network:
    blocks: int = 12
    head: Literal["policy", "own"] = "policy"

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise UserError(f"a network has at least one block, not {self.blocks}")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    shards: str
    weight: float = 1.0
    network: Network | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    name: str
    steps: int
    peak: float = 1e-3
    compiled: bool = True
    betas: tuple[float, float] = (0.9, 0.99)
    marks: tuple[int, ...] = ()
    seed: int | None = None
    stop: int | str = "never"
    network: Network = field(default_factory=Network)
    datasets: tuple[Dataset, ...] = ()


NEEDED = 'name = "a"\nsteps = 5\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    path = written(folder, text)
    with pytest.raises(UserError) as caught:
        load_config(path, Run)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message.replace(str(path), "FILE")


def test_a_whole_config_is_read_with_its_tables_and_defaults(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        name = "main"
        steps = 1_000
        peak = 1  # a whole number is a number
        betas = [0.8, 0.95]
        marks = [1, 2, 3]
        stop = 7
        [network]
        head = "own"
        [[datasets]]
        shards = "elite"
        [[datasets]]
        shards = "master"
        weight = 0.5
        network = { blocks = 2 }
        """,
    )
    run = load_config(path, Run)
    assert run == Run(
        name="main",
        steps=1000,
        peak=1.0,
        betas=(0.8, 0.95),
        marks=(1, 2, 3),
        stop=7,
        network=Network(head="own"),
        datasets=(
            Dataset(shards="elite"),
            Dataset(shards="master", weight=0.5, network=Network(blocks=2)),
        ),
    )
    assert type(run.peak) is float


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (NEEDED + "stpes = 3", "unknown setting 'stpes' in FILE, did you mean 'steps'?"),
        (
            NEEDED + "[network]\nblcks = 3",
            "unknown setting 'blcks' in [network] of FILE, did you mean 'blocks'?",
        ),
        (
            NEEDED + "[network]\nzzz = 3",
            "unknown setting 'zzz' in [network] of FILE, which knows blocks, head",
        ),
        (
            NEEDED + '[[datasets]]\nshards = "a"\n[[datasets]]\nshards = "b"\nwieght = 1',
            "unknown setting 'wieght' in [[datasets]] number 2 of FILE, did you mean 'weight'?",
        ),
        (
            NEEDED + '[[datasets]]\nshards = "a"\nnetwork.blcks = 1',
            "unknown setting 'blcks' in [datasets.network] number 1 of FILE, did you mean 'blocks'?",
        ),
    ],
)
def test_a_misspelt_setting_is_refused_by_name(tmp_path: Path, text: str, answer: str) -> None:
    assert refusal(tmp_path, text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("name = 3", "'name' in FILE must be a text, not 3"),
        ("steps = 5.0", "'steps' in FILE must be a whole number, not 5.0"),
        ("steps = true", "'steps' in FILE must be a whole number, not true"),
        ('peak = "fast"', "'peak' in FILE must be a number, not 'fast'"),
        ("peak = false", "'peak' in FILE must be a number, not false"),
        ("peak = nan", "'peak' in FILE must be a finite number, not nan"),
        ("peak = 1" + "0" * 400, f"'peak' in FILE must be a finite number, not 1{'0' * 56}..."),
        ("compiled = 1", "'compiled' in FILE must be true or false, not 1"),
        ("betas = [0.9]", "'betas' in FILE must be a list of 2 (a number, a number), not [0.9]"),
        ("marks = 3", "'marks' in FILE must be a list, each a whole number, not 3"),
        ('marks = [1, "x"]', "'marks[1]' in FILE must be a whole number, not 'x'"),
        ("seed = 1.5", "'seed' in FILE must be a whole number, not 1.5"),
        ("stop = 1.5", "'stop' in FILE must be a whole number or a text, not 1.5"),
        ("network = 3", "'network' in FILE must be a table, not 3"),
        ("name = { x = 1 }", "'name' in FILE must be a text, not a table"),
        ("datasets = [3]", "'datasets[0]' in FILE must be a table, not 3"),
        ('network.head = "both"', "'head' in [network] of FILE must be 'policy' or 'own', not 'both'"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(tmp_path: Path, text: str, answer: str) -> None:
    key = text.partition(" ")[0]
    needed = "".join(line + "\n" for line in NEEDED.splitlines() if not line.startswith(f"{key} "))
    assert refusal(tmp_path, needed + text) == f"setting {answer}"


def test_missing_settings_are_all_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, "") == "missing settings 'name' and 'steps' in FILE"
    assert refusal(tmp_path, 'name = "a"') == "missing setting 'steps' in FILE"
    assert (
        refusal(tmp_path, NEEDED + "[[datasets]]")
        == "missing setting 'shards' in [[datasets]] number 1 of FILE"
    )


def test_a_check_of_the_dataclass_is_told_with_its_place(tmp_path: Path) -> None:
    answer = refusal(tmp_path, NEEDED + "[network]\nblocks = 0")
    assert answer == "[network] of FILE: a network has at least one block, not 0"


@pytest.mark.parametrize(
    "text", ["steps = ", "steps = 1\nsteps = 2", "a" + "[" * 5000, "steps = 1" + "0" * 5000]
)
def test_what_is_no_toml_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text).startswith("FILE is no valid TOML: ")


def test_what_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^no file .*none\.toml$"):
        load_config(tmp_path / "none.toml", Run)
    with pytest.raises(UserError, match=r"^cannot read .*: Is a directory$"):
        load_config(tmp_path, Run)
    path = tmp_path / "latin.toml"
    path.write_bytes('name = "é"'.encode("latin-1"))
    with pytest.raises(UserError, match="not UTF-8 text"):
        load_config(path, Run)


def test_a_file_with_a_byte_order_mark_and_other_line_ends_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf" + NEEDED.replace("\n", "\r\n").encode())
    assert load_config(path, Run) == Run(name="a", steps=5)


networks = some.builds(Network, blocks=some.integers(1, 99), head=some.sampled_from(["policy", "own"]))
finite = some.floats(allow_nan=False, allow_infinity=False)
runs = some.builds(
    Run,
    name=some.text(),
    steps=some.integers(),
    peak=finite,
    compiled=some.booleans(),
    betas=some.tuples(finite, finite),
    marks=some.lists(some.integers()).map(tuple),
    seed=some.none() | some.integers(),
    stop=some.integers() | some.text(),
    network=networks,
    datasets=some.lists(
        some.builds(Dataset, shards=some.text(), weight=finite, network=some.none() | networks), max_size=3
    ).map(tuple),
)


@given(runs)
def test_a_config_survives_json(run: Run) -> None:
    assert config_from_dict(json.loads(json.dumps(config_to_dict(run))), Run) == run


def test_a_stored_config_is_read_as_strictly_as_a_file() -> None:
    stored: dict[str, Any] = config_to_dict(Run(name="a", steps=5))
    with pytest.raises(UserError, match="unknown setting 'blcks' in the stored config"):
        config_from_dict({**stored, "blcks": 3}, Run)
    with pytest.raises(UserError, match=r"'name' in old\.safetensors must be a text, not empty"):
        config_from_dict({**stored, "name": None}, Run, "old.safetensors")
