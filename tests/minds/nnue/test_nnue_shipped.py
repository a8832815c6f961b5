"""The network that is shipped: its manifest is its own, and `nnue` alone plays with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabiya._core import Board
from tabiya.cli.minds import ASSETS, shipped_figures
from tabiya.learn.sidecar import read_sidecar
from tabiya.minds.nnue.player import open_player
from tabiya.minds.nnue.promotion import network_inputs, network_parameters
from tabiya.minds.nnue.shelf import network_path
from tabiya.player import Limit, PlayerName


@pytest.fixture(scope="module")
def network() -> Path:
    path = network_path("")
    assert path is not None
    return path


def test_the_manifest_is_of_this_very_file(network: Path) -> None:
    manifest = read_sidecar(network)
    assert manifest["kind"] == "nnue"
    assert manifest["parameters"] == network_parameters(network)
    inputs = network_inputs(network)
    assert {key: manifest[key] for key in inputs} == inputs
    assert manifest["trained_on"]["device_minutes"] > 0
    sources = manifest["config"]["sources"]
    assert sources
    assert all(source["path"].startswith("data/") for source in sources)


def test_minds_shows_its_size(network: Path) -> None:
    figures = shipped_figures(ASSETS / "nnue")
    assert figures["bytes"] == network.stat().st_size
    assert figures["parameters"] == network_parameters(network)


def test_nnue_alone_plays_with_it(network: Path) -> None:
    player = open_player(PlayerName.parse("nnue"))
    assert player.name == "nnue"
    features = read_sidecar(network)["features"]
    assert player.note.startswith(f"network main.nnue: {features} -> 2 x 512 -> 32 -> 1")
    # The queen hangs.
    board = Board("rnb1kbnr/pppp1ppp/8/4p1q1/3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 1 3")
    assert player.play(board, Limit(nodes=2000)).move == "c1g5"


@pytest.mark.parametrize(
    ("fen", "least", "most"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", -60, 120),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1", -3000, -400),
        ("rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 150, 1500),
        ("rnbqkb1r/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1", -1500, -150),
    ],
    ids=["level", "a queen down", "a knight up", "a knight down"],
)
def test_it_knows_who_stands_better(fen: str, least: float, most: float) -> None:
    decision = open_player(PlayerName.parse("nnue?hash=1")).play(Board(fen), Limit(nodes=5000))
    assert decision.score is not None
    assert least < decision.score < most
