"""`tabiya export`: a checkpoint as ONNX, a network in eight bits, and whether it still plays the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabiya._core import Board, random_positions
from tabiya.cli import main
from tabiya.learn.sidecar import read_sidecar, write_sidecar
from tabiya.minds.resnet.onnx_network import OnnxNetwork
from tabiya.minds.transformer.onnx_network import OnnxTransformer

QUICK = ("--positions", 12, "--runs", 1, "--passes", 2, "--max-moves", 8)


def export(capsys, *words: object) -> dict:
    assert main(["export", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys, *words: object) -> str:
    assert main(["export", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    return said.err


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    """The folder of a tiny run, with one checkpoint and a record of what it learned from."""
    torch = pytest.importorskip("torch")
    from tabiya.minds.resnet.network import ResNet, ResNetShape

    torch.manual_seed(3)
    shape = ResNetShape(blocks=1, channels=8, planes=18, squeeze=4, value_channels=4, value_hidden=8)
    return save_run(tmp_path_factory.mktemp("run"), "resnet", ResNet(shape))


@pytest.fixture(scope="module")
def transformer_run(tmp_path_factory) -> Path:
    """The same of a tiny transformer."""
    torch = pytest.importorskip("torch")
    from tabiya.minds.transformer.network import Transformer
    from tabiya.minds.transformer.shape import TransformerShape

    torch.set_num_threads(1)  # networks this small gain nothing from a second
    torch.manual_seed(3)
    network = Transformer(TransformerShape(layers=1, width=32, heads=2, mlp_ratio=2.0, value_hidden=8))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return save_run(tmp_path_factory.mktemp("run"), "transformer", network)


def save_run(folder: Path, mind: str, network) -> Path:
    from tabiya.learn.checkpoint import checkpoint_path, save_checkpoint, state_tensors
    from tabiya.learn.config import config_to_dict

    metadata = {"step": 7, "config": {"mind": mind, "shape": config_to_dict(network.shape)}}
    save_checkpoint(checkpoint_path(folder, 7), state_tensors(model=network, rng=False), metadata)
    (folder / "record.json").write_text(json.dumps({"trained_on": {"positions": 1234}}))
    return folder


@pytest.fixture(scope="module")
def transformer(transformer_run, tmp_path_factory) -> Path:
    """The run's network as ONNX, with its manifest."""
    out = tmp_path_factory.mktemp("transformer") / "net.onnx"
    assert main(["export", "onnx", str(transformer_run), "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize("half", [[], ["--half"]])
def test_a_run_becomes_a_network_with_its_manifest(capsys, run_folder, tmp_path, half):
    out = tmp_path / "net.onnx"
    figures = export(capsys, "onnx", run_folder, "--out", out, *half)
    assert figures["positions"] == 1000
    assert max(figures["difference_from_torch"].values()) < (0.05 if half else 1e-4)
    manifest = read_sidecar(out)
    assert manifest["trained_on"] == {"steps": 7, "positions": 1234}
    assert manifest["config"]["shape"]["channels"] == 8
    assert manifest["parameters"] == figures["parameters"]
    assert OnnxNetwork(out).planes == 18
    assert main(["move", f"resnet:{out}", Board().fen()]) == 0


@pytest.mark.parametrize("half", [[], ["--half"]])
def test_a_run_of_a_transformer_becomes_one(capsys, transformer_run, tmp_path, half):
    out = tmp_path / "net.onnx"
    figures = export(capsys, "onnx", transformer_run, "--out", out, *half)
    assert figures["positions"] == 1000
    assert max(figures["difference_from_torch"].values()) < (0.05 if half else 1e-3)
    assert figures["bytes"] == out.stat().st_size
    manifest = read_sidecar(out)
    assert (manifest["kind"], manifest["shape"]["width"]) == ("transformer", 32)
    assert manifest["trained_on"] == {"steps": 7, "positions": 1234}
    assert manifest["parameters"] == figures["parameters"]
    assert OnnxTransformer(out).shape.width == 32
    assert main(["move", f"transformer:{out}", Board().fen()]) == 0


def test_a_run_of_another_mind_is_refused_by_its_name(capsys, transformer_run, tmp_path):
    from tabiya.learn.checkpoint import load_checkpoint, save_checkpoint

    tensors, metadata = load_checkpoint(transformer_run / "step-00000007.safetensors")
    checkpoint, out = tmp_path / "step-00000001.safetensors", tmp_path / "a.onnx"
    for config, sentence in (
        ({"mind": "nnue"}, "is of a run of nnue; those of resnet and transformer become ONNX"),
        ({"mind": "resnet", "shape": {"width": 3}}, "unknown setting 'width'"),
        ({}, "does not say what shape its network has"),
    ):
        save_checkpoint(checkpoint, tensors, metadata | {"config": config})
        assert sentence in refused(capsys, "onnx", checkpoint, "--out", out)
    assert not out.exists()


def test_half_is_about_half(capsys, run_folder, tmp_path):
    whole = export(capsys, "onnx", run_folder, "--out", tmp_path / "whole.onnx")["bytes"]
    half = export(capsys, "onnx", run_folder, "--out", tmp_path / "half.onnx", "--half")["bytes"]
    assert half < 0.75 * whole  # so small a network is partly graph


def test_a_damaged_checkpoint_is_refused_and_leaves_what_was_there(capsys, run_folder, tmp_path):
    checkpoint = tmp_path / "step-00000007.safetensors"
    whole = (run_folder / checkpoint.name).read_bytes()
    checkpoint.write_bytes(whole[:-5] + b"12345")
    out = tmp_path / "net.onnx"
    out.write_bytes(b"the network before")
    assert "is damaged" in refused(capsys, "onnx", checkpoint, "--out", out)
    assert out.read_bytes() == b"the network before"


def test_a_folder_without_a_checkpoint_is_named(capsys, tmp_path):
    pytest.importorskip("torch")
    said = refused(capsys, "onnx", tmp_path, "--out", tmp_path / "a.onnx")
    assert f"no checkpoint (step-….safetensors) in the folder {tmp_path}" in said
    assert "no run or checkpoint" in refused(capsys, "onnx", tmp_path / "x", "--out", tmp_path / "a.onnx")
    assert "ends in .onnx" in refused(capsys, "onnx", tmp_path, "--out", tmp_path / "a.bin")


def test_int8_obeys_the_contract_and_carries_the_manifest_over(capsys, make_network, tmp_path):
    source, out = make_network(), tmp_path / "int8.onnx"
    write_sidecar(source, kind="resnet", planes=18, parameters=99, trained_on={"positions": 5})
    figures = export(capsys, "int8", source, "--out", out, "--positions", 96)
    assert [attempt["kept_float"] for attempt in figures["tried"]] == [
        "nothing",
        "first",
        "heads",
        "first+heads",
    ]
    truest = min(figures["tried"], key=lambda attempt: attempt["policy_divergence"])
    assert figures["kept_float"] == truest["kept_float"]
    assert figures["bytes"] < source.stat().st_size
    packed = random_positions(32, 1)
    heads = ["policy", "q", "wdl", "value_bins"]
    ours, theirs = (OnnxNetwork(path).evaluate(packed, heads) for path in (source, out))
    assert {head: each.shape for head, each in ours.items()} == {
        head: each.shape for head, each in theirs.items()
    }
    manifest = read_sidecar(out)
    assert (manifest["parameters"], manifest["trained_on"]) == (99, {"positions": 5})
    assert manifest["config"]["int8"]["method"] == "static"
    assert manifest["measured"] == {}


def test_weights_alone_are_a_quarter_and_nearly_the_same(capsys, make_network, tmp_path):
    source, out = make_network(), tmp_path / "small.onnx"
    figures = export(capsys, "int8", source, "--out", out, "--weights-only")
    assert figures["method"] == "weights"
    assert figures["bytes"] < 0.5 * source.stat().st_size
    packed = random_positions(64, 1)
    ours, theirs = (OnnxNetwork(path).evaluate(packed, ["policy"])["policy"] for path in (source, out))
    assert 0 < np.abs(ours - theirs).max() < 0.05 * np.abs(ours).max()
    assert "needs no --calibration" in refused(
        capsys, "int8", source, "--out", out, "--weights-only", "--calibration", "x.fen"
    )


def test_a_transformer_becomes_int8_without_calibration(capsys, transformer, tmp_path):
    out = tmp_path / "int8.onnx"
    figures = export(capsys, "int8", transformer, "--out", out, "--positions", 24)
    assert [attempt["kept_float"] for attempt in figures["tried"]] == ["nothing", "heads"]
    truest = min(figures["tried"], key=lambda attempt: attempt["policy_divergence"])
    assert (figures["method"], figures["kept_float"]) == ("dynamic", truest["kept_float"])
    assert figures["bytes"] == truest["bytes"] == out.stat().st_size < transformer.stat().st_size
    assert OnnxTransformer(out).shape == OnnxTransformer(transformer).shape
    manifest = read_sidecar(out)
    assert (manifest["kind"], manifest["shape"]["width"]) == ("transformer", 32)
    assert manifest["trained_on"] == {"steps": 7, "positions": 1234}
    assert manifest["config"]["int8"]["method"] == "dynamic"
    before = out.read_bytes()
    words = ("int8", transformer, "--out", out, "--positions", 4, "--keep", "first")
    assert "of a transformer nothing or heads can stay float, not first" in refused(capsys, *words)
    assert out.read_bytes() == before
    assert main(["export", "int8", str(transformer), "--out", str(out), "--positions", "4"]) == 0
    assert "dynamic int8, float: " in capsys.readouterr().out


def test_a_transformer_s_weights_alone_are_smaller_and_nearly_the_same(capsys, transformer, tmp_path):
    out = tmp_path / "small.onnx"
    figures = export(capsys, "int8", transformer, "--out", out, "--weights-only")
    assert figures["weights_int8"] > 0
    assert figures["bytes"] < 0.6 * transformer.stat().st_size
    packed = random_positions(16, 1)
    ours, theirs = (
        OnnxTransformer(path).evaluate(packed, ["policy"])["policy"] for path in (transformer, out)
    )
    assert 0 < np.abs(ours - theirs).max() < 0.1 * np.abs(ours).max()


def test_calibration_takes_a_list_of_positions(capsys, make_network, tmp_path):
    from tabiya._core import unpack_fens

    source, positions = make_network(), tmp_path / "some.fen"
    positions.write_text("\n".join(unpack_fens(random_positions(80, 2))) + "\n")
    out = tmp_path / "int8.onnx"
    words = ("int8", source, "--out", out, "--calibration", positions, "--keep", "first+heads")
    figures = export(capsys, *words)
    assert (figures["calibration_positions"], figures["held_out_positions"]) == (60, 20)
    before = out.read_bytes()
    positions.write_text("\n".join(unpack_fens(random_positions(20, 2))) + "\n")
    assert "calibration needs at least 64 positions, got 20" in refused(capsys, *words)
    assert "no such file" in refused(
        capsys, "int8", source, "--out", out, "--calibration", tmp_path / "none.fen"
    )
    assert out.read_bytes() == before


def test_check_compares_size_latency_moves_and_strength(capsys, make_network, tmp_path):
    first, second = make_network("a"), make_network("b", seed=2)
    words = ("--games", 6, "--positions", 40, "--runs", 2, "--passes", 5, "--max-moves", 20)
    out = tmp_path / "out"
    figures = export(capsys, "check", first, "--against", second, *words, "--out", out)
    assert figures["network"]["bytes"] == first.stat().st_size
    assert figures["network"]["median_ms"] > 0
    assert len(figures["against"]["run_medians_ms"]) == 2
    assert (figures["latency"]["threads"], figures["latency"]["passes"]) == (2, 10)
    assert figures["agreement"]["positions"] == 40
    assert figures["agreement"]["same_choice"] < 1
    assert figures["agreement"]["policy_divergence"] > 0
    assert figures["match"]["games"] == 6
    assert len(figures["match"]["elo_95"]) == 2
    assert json.loads((out / "check.json").read_text()) == figures
    assert (out / "match" / "games.pgn").read_text().count("[Event ") == 6


def test_a_network_agrees_with_itself(capsys, make_network, tmp_path):
    network = make_network()
    words = ("--games", 4, "--positions", 30, "--runs", 1, "--passes", 3, "--max-moves", 20)
    figures = export(capsys, "check", network, "--against", network, *words)
    assert figures["agreement"]["same_choice"] == 1
    assert figures["agreement"]["policy_divergence"] == 0
    assert max(figures["agreement"]["largest_output_difference"].values()) == 0
    assert figures["match"]["score_share"] == 0.5
    assert figures["match"]["pgn"] is None


def test_check_compares_two_transformers_by_the_same_figures(capsys, transformer, tmp_path):
    small, out = tmp_path / "int8.onnx", tmp_path / "out"
    export(capsys, "int8", transformer, "--out", small, "--positions", 4, "--keep", "heads")
    figures = export(capsys, "check", small, "--against", transformer, "--games", 2, *QUICK, "--out", out)
    assert figures["network"]["bytes"] == small.stat().st_size
    assert figures["network"]["median_ms"] > 0
    assert figures["latency"]["ratio"] > 0
    assert figures["agreement"]["positions"] == 12
    low, high = figures["agreement"]["same_choice_95"]
    assert low <= figures["agreement"]["same_choice"] <= high
    assert 0 < figures["agreement"]["policy_divergence"] < 0.5
    assert set(figures["agreement"]["largest_output_difference"]) == {"policy", "wdl", "value_bins"}
    assert figures["match"]["games"] == 2
    assert json.loads((out / "check.json").read_text()) == figures
    assert (out / "match" / "games.pgn").read_text().count("[Event ") == 2


def test_a_transformer_may_be_checked_against_a_resnet(capsys, transformer, make_network):
    resnet = make_network()
    figures = export(capsys, "check", transformer, "--against", resnet, "--games", 2, *QUICK)
    assert figures["agreement"]["same_choice"] < 1
    assert figures["agreement"]["policy_divergence"] > 0
    assert "q_difference" not in figures["agreement"]
    assert "policy" not in figures["agreement"]["largest_output_difference"]
    assert figures["latency"]["ratio"] > 0
    assert figures["match"]["games"] == 2
    assert (
        main(
            ["export", "check", str(transformer), "--against", str(resnet), "--games", "0", *map(str, QUICK)]
        )
        == 0
    )
    assert "12 positions: same move" in capsys.readouterr().out


def test_a_network_is_known_by_its_name_its_manifest_its_run_or_its_own_words(
    transformer, make_network, tmp_path
):
    from tabiya.cli.export_files import open_network

    bare = tmp_path / "run" / "bare.onnx"
    bare.parent.mkdir()
    bare.write_bytes(transformer.read_bytes())
    for text in (f"transformer:{bare}", transformer, bare, bare.parent, f"{bare}?passes=2&threads=1"):
        assert open_network(str(text)).name.startswith("transformer:")
    assert open_network(f"{bare}?passes=2").settings.passes == 2
    assert open_network("transformer").name == "transformer"
    assert open_network("resnet").name == "resnet"
    assert open_network(str(make_network())).name == "resnet:tiny"
    (bare.parent / "config.json").write_text('{"mind": "transformer"}')
    assert open_network(str(bare.parent)).name == "transformer:bare"


@pytest.mark.parametrize("verb", ["int8", "check"])
def test_a_network_of_another_kind_than_said_is_refused(capsys, transformer, make_network, tmp_path, verb):
    resnet, other = make_network(), tmp_path / "other.onnx"
    out = ["--out", tmp_path / "out.onnx"] if verb == "int8" else []
    assert "must have one input, planes" in refused(capsys, verb, f"resnet:{transformer}", *out)
    assert "is no transformer of tabiya" in refused(capsys, verb, f"transformer:{resnet}", *out)
    other.write_bytes(b"integers")
    write_sidecar(other, kind="nnue", parameters=1)
    assert "is of the mind nnue; networks of resnet and transformer are taken" in refused(
        capsys, verb, other, *out
    )
    assert not (tmp_path / "out.onnx").exists()


def test_networks_of_two_kinds_duel(capsys, transformer, make_network):
    words = ["--device", "cpu", "--games", 2, "--max-moves", 3]
    figures = export(capsys, "duel", make_network(), f"{transformer}?passes=2", *words)
    assert figures["match"]["games"] == 2
    assert "faults" not in figures["match"]


def test_check_prints_a_table_and_works_without_another_network(capsys, make_network):
    network = make_network()
    assert main(["export", "check", str(network), "--positions", "5", "--runs", "1", "--passes", "3"]) == 0
    said = capsys.readouterr().out
    assert "ms (median)" in said
    assert "batch 1, 2 threads, 3 passes in 1 runs" in said
    assert "games" not in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--games", "-1"], "--games must be at least 0, got -1"),
        (["--runs", "0"], "--runs must be at least 1, got 0"),
        (["--threads", "0"], "threads must lie between 1 and 256, not 0"),
        (["--against", "none.onnx"], "no network none.onnx"),
        (["--games", "5000"], "5000 games need 2500 different openings"),
    ],
)
def test_check_refuses_in_one_sentence(capsys, make_network, words, sentence):
    network = make_network()
    against = [] if "--against" in words else ["--against", str(network)]
    quick = ["--positions", "5", "--runs", "1", "--passes", "1"]
    assert sentence in refused(capsys, "check", network, *against, *quick, *words)


@pytest.mark.parametrize("kind", ["resnet", "transformer"])
def test_int8_and_check_load_no_torch(make_network, request, tmp_path, kind):
    # The fixture itself needs torch: a ResNet is checked where there is none, too.
    network = make_network() if kind == "resnet" else request.getfixturevalue("transformer")
    program = (
        "import sys\nfrom tabiya.cli import main\n"
        f"net, out = {str(network)!r}, {str(tmp_path / 'out.onnx')!r}\n"
        "assert main(['export', 'int8', net, '--out', out, '--keep', 'heads', '--positions', '64']) == 0\n"
        "quick = ['--positions', '4', '--runs', '1', '--passes', '1', '--games', '2', '--max-moves', '3']\n"
        "assert main(['export', 'check', out, '--against', net, *quick]) == 0\n"
        "print('torch' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split()[-1] == "False"
    assert answer.stderr == ""
