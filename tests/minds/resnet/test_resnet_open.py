"""Opening the ResNet player: which network a name means, which options it takes, what it refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabiya._core import Board
from tabiya.minds.resnet.player import ResNetPlayer, open_player
from tabiya.minds.resnet.shelf import network_path
from tabiya.player import Limit, PlayerError, PlayerFailure, PlayerName

ANY = Limit()


def opened(path: Path) -> ResNetPlayer:
    player = open_player(PlayerName.parse(f"resnet:{path}"))
    assert isinstance(player, ResNetPlayer)
    return player


def refused(text: str) -> str:
    with pytest.raises(PlayerError) as caught:
        open_player(PlayerName.parse(text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_a_shipped_network_one_must_be_named(tmp_path):
    with pytest.raises(PlayerError, match="no resnet network is shipped yet: name one with resnet:path"):
        network_path("", shipped=tmp_path)


def test_one_network_is_shipped_and_no_more(tmp_path):
    (tmp_path / "one.onnx").touch()
    assert network_path("", shipped=tmp_path).name == "one.onnx"
    (tmp_path / "two.onnx").touch()
    with pytest.raises(PlayerError, match=r"one shipped network was expected in .* one\.onnx, two\.onnx"):
        network_path("", shipped=tmp_path)


def test_a_folder_stands_for_its_newest_network(build, tmp_path):
    assert "no .onnx file in the folder" in refused(f"resnet:{tmp_path}")
    for age, name in enumerate(["new.onnx", "old.onnx", ".part.onnx"]):
        os.utime(build(name), (1_000_000 - age * (1 if name == "old.onnx" else -9),) * 2)
    player = opened(tmp_path)
    assert player.network.path.name == "new.onnx"
    assert player.name == "resnet:new"


def test_a_missing_file_is_named(tmp_path):
    assert f"no network {tmp_path / 'none.onnx'}" in refused(f"resnet:{tmp_path / 'none.onnx'}")


def test_a_damaged_network_is_refused_in_one_sentence(build):
    path = build()
    whole = path.read_bytes()
    for damage in (b"", b"no network at all", whole[: len(whole) // 2]):
        path.write_bytes(damage)
        assert f"{path} is no ONNX network, or a damaged one" in refused(f"resnet:{path}")


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"planes": 19}, r"must read planes of shape \[any, 18 or 21, 8, 8\], but reads"),
        (
            {"kind": "FLOAT"},
            r"must have one input, planes of tensor\(uint8\), but has planes",
        ),
        ({"moves": 1968}, r"the output 'policy' of .* must be \[any, 4672\] of tensor\(float\), but is"),
        ({"leave_out": "q"}, "has no output 'q'; it has policy, wdl, value_bins"),
    ],
)
def test_a_network_of_another_shape_is_refused(build, shape, sentence):
    path = build(**shape)
    with pytest.raises(PlayerError, match=sentence):
        opened(path)


def test_a_network_that_answers_no_number_loses_its_game(build):
    player = opened(build(policy=np.full(4672, np.nan)))
    with pytest.raises(PlayerFailure, match=r"tiny\.onnx answered with a policy that is not a number"):
        player.play(Board(), ANY)


def test_a_finished_game_has_no_move(build):
    mated = Board("rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3")
    with pytest.raises(PlayerFailure, match="asked for a move where there is none"):
        opened(build()).play(mated, ANY)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("temprature=1", "resnet has no option 'temprature', did you mean 'temperature'?"),
        ("temperature=warm", "temperature must be a number, not 'warm'"),
        ("temperature=nan", "temperature must lie between 0 and 100, not nan"),
        ("top_p=1.5", "top_p must lie between 0 and 1, not 1.5"),
        ("threads=0", "threads must lie between 1 and 256, not 0"),
        ("threads=1.5", "threads must be a whole number, not '1.5'"),
        ("mode=search", "mode must be one of policy, q, mix, second, value, not 'search'"),
    ],
)
def test_a_wrong_option_is_refused_by_name(build, option, sentence):
    assert refused(f"resnet:{build()}?{option}") == sentence


def test_every_option_is_offered_with_a_default_it_takes(build):
    player = opened(build())
    before = player.settings
    for option in player.options():
        player.set_option(option.name.upper(), option.default)
    assert player.settings == before
    player.set_option("threads", "1")
    assert player.play(Board(), ANY).nodes == 1
    with pytest.raises(ValueError, match="did you mean 'margin'"):
        player.set_option("margn", "0")


def test_threads_cannot_change_once_the_file_is_gone_and_play_goes_on(build):
    path = build()
    player = opened(path)
    path.unlink()
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        player.set_option("threads", "1")
    assert player.settings.threads == 2
    assert player.play(Board(), ANY).nodes == 1


def test_playing_loads_no_torch(build):
    program = (
        "import sys\nfrom tabiya._core import Board\nfrom tabiya.player import Limit, PlayerName\n"
        "from tabiya.minds.resnet.player import open_player\n"
        f"print(open_player(PlayerName.parse('resnet:{build()}')).play(Board(), Limit()).nodes)\n"
        "print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["1", "False"]


def test_without_onnx_runtime_the_player_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "any.onnx").touch()
    assert "ONNX Runtime, which is not installed: run `pip install onnxruntime`" in refused(
        f"resnet:{tmp_path / 'any.onnx'}"
    )
