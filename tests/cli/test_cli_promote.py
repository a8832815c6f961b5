"""`tabiya promote`: only a network that wins takes the shipped one's place, and always with its manifest."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tabiya.cli import main
from tabiya.files import checksum
from tabiya.learn import promotion
from tabiya.learn.sidecar import read_sidecar, write_sidecar
from tabiya.minds.resnet import shelf
from tabiya.minds.resnet.promotion import shipped_shelf

QUICK = ["--max-moves", "10", "--at-once", "16"]


@pytest.fixture
def shipped(tmp_path, monkeypatch) -> Path:
    """An empty shelf in the place of the package's own, and a working folder of its own."""
    folder = tmp_path / "assets"
    folder.mkdir()
    monkeypatch.setattr(shelf, "SHIPPED", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def promote(capsys, *words: object) -> tuple[int, dict]:
    code = main(["promote", *map(str, words), *QUICK, "--json"])
    return code, json.loads(capsys.readouterr().out)


def in_place(shipped: Path, make_network, **more) -> Path:
    network = make_network("main", folder=shipped, **more)
    measured = {"elo": {"rating": 1500}}
    write_sidecar(network, kind="resnet", planes=18, parameters=7, measured=measured)
    return network


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_network_that_wins_replaces_the_shipped_one(capsys, shipped, make_network, tmp_path):
    old = checksum(in_place(shipped, make_network, broken=True))
    run = tmp_path / "run"
    candidate = make_network("best", folder=run)
    (run / "config.json").write_text(json.dumps({"mind": "resnet", "steps": 3}))
    (run / "record.json").write_text(json.dumps({"trained_on": {"positions": 77}}))
    code, outcome = promote(capsys, run)
    assert (code, outcome["promoted"]) == (0, True)
    assert sorted(content(shipped)) == ["main.json", "main.onnx"]
    assert (shipped / "main.onnx").read_bytes() == candidate.read_bytes()
    manifest = read_sidecar(shipped / "main.onnx")
    assert manifest["name"] == "main"
    assert manifest["config"] == {"mind": "resnet", "steps": 3}
    assert manifest["trained_on"] == {"positions": 77}
    won = manifest["measured"]["promotion"]
    assert (won["sprt"]["verdict"], won["losses"], won["replaced"]) == ("H1", 0, old)
    # Its predecessor's rating is not its own, and a sequential test measures none.
    assert "elo" not in manifest["measured"]
    assert "elo" not in won
    assert json.loads(Path(outcome["record"]).read_text())["sprt"]["verdict"] == "H1"


def test_a_network_that_loses_changes_nothing(capsys, shipped, make_network):
    in_place(shipped, make_network)
    before = content(shipped)
    code, outcome = promote(capsys, make_network("bad", broken=True))
    assert (code, outcome["promoted"]) == (1, False)
    assert outcome["match"]["sprt"]["verdict"] == "H0"
    assert content(shipped) == before


def test_games_that_decide_nothing_change_nothing(capsys, shipped, make_network):
    in_place(shipped, make_network)
    before = content(shipped)
    candidate = make_network("other", seed=2)
    assert main(["promote", str(candidate), "--games", "4", *QUICK]) == 1
    assert "the games did not decide, more of them might" in capsys.readouterr().out
    assert content(shipped) == before


def test_a_forced_promotion_leaves_its_reason(capsys, shipped, make_network):
    in_place(shipped, make_network)
    candidate = make_network("other", seed=2)
    code, outcome = promote(capsys, candidate, "--force", "the planes have changed")
    assert (code, outcome["forced"]) == (0, "the planes have changed")
    manifest = read_sidecar(shipped / "main.onnx")
    assert manifest["measured"]["promotion"]["forced"] == "the planes have changed"
    assert main(["promote", str(candidate), "--force", " "]) == 2
    assert "--force needs a reason" in capsys.readouterr().err


def test_where_nothing_is_shipped_the_first_network_is_taken(capsys, shipped, make_network):
    code, outcome = promote(capsys, make_network("first"))
    assert (code, outcome["verdict"]) == (0, "there was no network to beat")
    assert read_sidecar(shipped / "main.onnx")["parameters"] > 0


def test_a_candidates_own_manifest_is_kept(capsys, shipped, make_network):
    in_place(shipped, make_network, broken=True)
    candidate = make_network("best")
    own = {"config": {"seed": 4}, "trained_on": {"games": 9}, "measured": {"puzzles": 0.5}}
    write_sidecar(candidate, kind="resnet", planes=18, parameters=4321, **own)
    promote(capsys, candidate)
    manifest = read_sidecar(shipped / "main.onnx")
    assert manifest["parameters"] == 4321
    assert (manifest["config"], manifest["trained_on"]) == ({"seed": 4}, {"games": 9})
    assert manifest["measured"]["puzzles"] == 0.5


def test_bad_candidates_are_refused_before_any_game(capsys, shipped, make_network, tmp_path):
    network = in_place(shipped, make_network)
    before = content(shipped)
    run = tmp_path / "run"
    run.mkdir()
    (run / "step-00000010.safetensors").touch()
    stale = make_network("stale", seed=3)
    write_sidecar(stale, kind="resnet", planes=18, parameters=1)
    stale.write_bytes(make_network("x", seed=4).read_bytes())
    (tmp_path / "damaged.onnx").write_bytes(b"no network")
    for candidate, sentence in {
        network: "is the shipped network already",
        tmp_path / "none.onnx": "no network",
        tmp_path / "damaged.onnx": "is no ONNX network, or a damaged one",
        run: f"run `tabiya export onnx {run} --out {run / 'main.onnx'}` first",
        stale: "describes another network",
    }.items():
        assert main(["promote", str(candidate), *QUICK]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
    assert content(shipped) == before
    assert not (tmp_path / "results").exists()


def test_a_run_of_another_mind_and_nodes_for_a_mind_without_search_are_refused(
    capsys, shipped, make_network, tmp_path
):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"mind": "oracle"}')
    assert main(["promote", "run"]) == 2
    assert (
        "is a run of oracle; networks of transformer, resnet, nnue can be promoted" in capsys.readouterr().err
    )
    assert main(["promote", str(make_network("other")), "--nodes", "100"]) == 2
    assert "a resnet does not search" in capsys.readouterr().err


def test_more_games_than_the_book_has_are_refused(capsys, shipped, make_network):
    in_place(shipped, make_network)
    assert main(["promote", str(make_network("other", seed=2)), "--games", "9000", *QUICK]) == 2
    assert "9000 games need 4500 different openings" in capsys.readouterr().err


@pytest.mark.parametrize("renames", [0, 1])
def test_a_kill_in_the_middle_leaves_a_network_that_plays_and_is_mended(
    capsys, shipped, make_network, monkeypatch, renames
):
    """Killed before the first rename, or between the network's and the manifest's."""
    network = in_place(shipped, make_network)
    old = network.read_bytes()
    candidate = make_network("other", seed=2)
    done: list[object] = []

    class KilledError(BaseException):
        pass

    def replace(*names: object) -> None:
        if len(done) == renames:
            raise KilledError
        done.append(names)
        return real(*names)

    real = os.replace
    with monkeypatch.context() as patch:
        patch.setattr(promotion.os, "replace", replace)
        with pytest.raises(KilledError):
            shipped_shelf().install(candidate, {"forced": "for the test"})
    # Whatever happened, exactly one network is there, and it plays.
    assert network.read_bytes() == (candidate.read_bytes() if renames else old)
    assert shelf.network_path("", shipped) == network
    assert main(["promote", str(candidate), *QUICK]) == 2
    said = capsys.readouterr().err
    assert "finished an earlier promotion of main.onnx" in said
    assert "is the shipped network already" in said
    assert sorted(content(shipped)) == ["main.json", "main.onnx"]
    assert read_sidecar(network)["measured"]["promotion"]["forced"] == "for the test"


def test_what_was_half_written_is_thrown_away(shipped, make_network):
    network = in_place(shipped, make_network)
    before = content(shipped)
    (shipped / ".main.onnx.next").write_bytes(b"half a netw")
    assert shipped_shelf().recover() is None
    (shipped / ".main.json.next").write_text('{"sha256": "of another"}')
    assert shipped_shelf().recover() is None
    assert content(shipped) == before
    assert shelf.network_path("", shipped) == network


def test_a_promotion_that_was_stopped_goes_on_with_its_games(capsys, shipped, make_network, monkeypatch):
    from tabiya.arena import mass

    in_place(shipped, make_network)
    candidate = make_network("other", seed=2)

    def interrupted(*_arguments: object, **_more: object) -> None:
        raise KeyboardInterrupt

    words = ["promote", str(candidate), "--games", "8", "--out", "games", *QUICK]
    main(words)
    whole = Path("games/games.pgn").read_text()
    games = whole.split("[Event ")
    Path("games/games.pgn").write_text("[Event ".join(games[:6]))
    with monkeypatch.context() as patch:
        patch.setattr(mass, "play_together", interrupted)
        assert main(words) == 130
    assert Path("games/games.pgn").read_text().count("[Event ") == 5
    assert main(words) == 1
    assert Path("games/games.pgn").read_text().count("[Event ") == 8
