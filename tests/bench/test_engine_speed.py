"""`tabiya lab search-speed`: engines as processes, asked in turn; what is counted, and what breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabiya.bench.engines import Effort, Engine, measure
from tabiya.cli import main
from tabiya.errors import UserError

FAKE = """#!/bin/sh
while read -r first rest; do
  case "$first" in
    uci) echo "id name fake 1"; echo uciok;;
    isready) echo readyok;;
    setoption) echo "$rest" >> {heard};;
    go)
      echo "info depth 3 nodes 777 pv e2e4"
      [ "$rest" = infinite ] || echo "bestmove e2e4";;
    stop) echo "bestmove e2e4";;
    quit) exit;;
  esac
done
"""
FEW = Effort(nodes=50, depth=1, stops=2, rounds=2, hash=1, positions=["8/8/8/8/8/4k3/8/4K2R w - - 0 1"] * 3)


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    engine = tmp_path / "fake.sh"
    engine.write_text(FAKE.format(heard=tmp_path / "heard"))
    engine.chmod(0o755)
    return engine


def test_nodes_are_the_engine_s_own_count_and_every_search_is_counted(fake: Path, tmp_path: Path) -> None:
    steps: list[int] = []
    with Engine(f"uci:{fake}?Skill=3", 7) as engine:
        (figures,) = measure([engine], FEW, lambda: steps.append(1))
    assert len(steps) == FEW.searches == 2 * 3 + 3 + 2
    assert figures["engine"] == "fake 1"
    assert figures["nodes"] == 3 * 777
    assert len(figures["rounds"]) == 2
    assert figures["nps"] > 0
    assert figures["to_depth"]["nodes"] == 3 * 777
    assert figures["stop_ms"]["times"] == 2
    assert 0 < figures["stop_ms"]["median"] <= figures["stop_ms"]["most"]
    heard = (tmp_path / "heard").read_text().splitlines()
    assert heard == ["name Hash value 7", "name Threads value 1", "name Skill value 3"]


def test_our_mind_and_another_engine_make_one_record(
    fake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fens = tmp_path / "few.epd"
    fens.write_text("8/8/8/8/8/4k3/8/4K2R w - -\n")
    out = tmp_path / "deep" / "speed.json"
    words = ["--nodes", "300", "--depth", "2", "--stops", "1", "--rounds", "1", "--positions", str(fens)]
    assert main(["lab", "search-speed", "nnue", f"uci:{fake}", *words, "--out", str(out), "--json"]) == 0
    record = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out) == record
    ours, other = record["engines"]
    assert (ours["player"], other["player"]) == ("nnue", f"uci:{fake}")
    assert 0 < ours["nodes"] <= 300
    assert ours["to_depth"]["each"][0]["nodes"] > 0
    assert len(record["nps_ratio"]) == 1
    assert record["settings"]["positions"] == 1


def test_an_engine_that_is_missing_or_dies_is_one_sentence(fake: Path) -> None:
    with pytest.raises(UserError, match="no engine '/nowhere/engine'"):
        Engine("uci:/nowhere/engine", 1)
    fake.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UserError, match="died before it"):
        Engine(f"uci:{fake}", 1)
    with pytest.raises(UserError, match="nodes must be at least 1, got 0"):
        Effort(nodes=0)
