"""`tabiya lab rounding`: the histogram of a run's own file against its checkpoint, kept as a record."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.files import checksum  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.minds.nnue.quantised import Errors  # noqa: E402
from tabiya.minds.nnue.rounding import measure, verdict  # noqa: E402
from tabiya.minds.nnue.training import NnueTraining, Run  # noqa: E402

CONFIG = """
mind = "nnue"
steps = 6
batch = 128
device = "cpu"
bf16 = false
compile = false
[shape]
l1 = 16
l2 = 8
[[sources]]
kind = "successors"
path = "{path}"
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, labels_file: Path) -> Path:
    folder = tmp_path_factory.mktemp("rounding")
    config = folder / "nnue.toml"
    config.write_text(CONFIG.format(path=labels_file))
    Run(load_config(config, NnueTraining), folder / "run").train()
    return folder / "run"


def test_a_run_s_histogram_is_counted_and_kept(
    run: Path, tmp_path: Path, labels_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "record.json"
    words = ["--positions", "300", "--positions-from", str(labels_file), "--out", str(out)]
    assert main(["lab", "rounding", str(run), *words, "--json"]) == 0
    record = json.loads(out.read_text())
    assert json.loads(capsys.readouterr().out) == record
    assert record["positions"] == sum(record["counts"]) == 300
    assert len(record["edges"]) == len(record["counts"]) + 1
    assert record["sha256"] == checksum(run / "step-00000006.nnue")
    assert record["positions_from"] == {"name": "wood.moves", "sha256": checksum(labels_file)}
    assert record["within_50"] >= 0.95
    assert "within what is asked" in record["verdict"]
    assert main(["lab", "rounding", str(run), *words]) == 0
    assert "step-00000006.nnue against step-00000006.safetensors on 300" in capsys.readouterr().out


def test_the_errors_are_those_of_the_file_and_not_of_a_new_rounding(run: Path, tmp_path: Path) -> None:
    """A file with another output scale is wrong everywhere, and the histogram must say so."""
    whole = _core.QuantisedNetwork((run / "step-00000006.nnue").read_bytes())
    content = bytearray(whole.content())
    content[48:52] = (60).to_bytes(4, "little")
    content[-4:] = zlib.crc32(bytes(content[:-4])).to_bytes(4, "little")
    other = tmp_path / "other.nnue"
    other.write_bytes(bytes(content))
    packed = _core.random_positions(200, 3)
    assert measure(run, packed, other)["largest"] > measure(run, packed)["largest"]


def test_a_checkpoint_can_be_rounded_anew(run: Path, tmp_path: Path, labels_file: Path) -> None:
    anew = tmp_path / "anew" / "main.nnue"
    words = [
        "--positions",
        "50",
        "--positions-from",
        str(labels_file),
        "--out",
        str(tmp_path / "record.json"),
    ]
    assert main(["lab", "rounding", str(run), "--anew", str(anew), *words]) == 0
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["network"], record["sha256"]) == ("main.nnue", checksum(anew))
    old = _core.QuantisedNetwork((run / "step-00000006.nnue").read_bytes())
    assert _core.QuantisedNetwork(anew.read_bytes()).scales == old.scales
    assert main(["lab", "rounding", str(run), "--anew", str(tmp_path / "main.txt"), *words]) == 2


def test_what_was_not_made_from_the_checkpoint_is_refused(
    run: Path, make_network: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.nnue"
    cut.write_bytes(make_network("whole.nnue").read_bytes()[:-5])
    for file, sentence in {
        tmp_path / "none.nnue": "No such file",
        cut: "cannot be used",
        make_network("other.nnue", l1=8): "is of another shape than",
    }.items():
        words = ["--network", str(file), "--positions", "5", "--out", str(tmp_path / "record.json")]
        assert main(["lab", "rounding", str(run), *words]) == 2
        assert sentence in capsys.readouterr().err
    assert main(["lab", "rounding", str(tmp_path), "--positions", "5"]) == 2
    assert "no checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "record.json").exists()


def test_the_verdict_looks_at_the_share_and_at_the_median() -> None:
    def errors(within: float, median: float) -> Errors:
        return Errors(1, median, 0.0, within, 0.0, (0.0, 1.0), (1,))

    assert "within what" in verdict(errors(0.95, -5.0))
    assert "beyond what" in verdict(errors(0.94, 0.0))
    assert "beyond what" in verdict(errors(1.0, 5.5))
