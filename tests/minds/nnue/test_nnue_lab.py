"""The NNUE's experiments whole, at a tiny size: from files to reports, resumed, and refused when wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.cli.lab import EXPERIMENTS  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.minds.nnue.lab.plan import Lab  # noqa: E402
from tabiya.minds.nnue.lab.train import train  # noqa: E402
from tabiya.minds.nnue.lab.variants import comparison  # noqa: E402
from tabiya.reports.nnue_lab_table import markdown  # noqa: E402

CONFIG = """
experiment = "{experiment}"
variants = {variants}
{more}
[[data.sources]]
kind = "successors"
path = "{labels}"
quiet = true
[[data.played]]
kind = "games"
path = "{games}"
[budget]
steps = 6
batch = 64
warmup_steps = 1
ema_decay = 0.9
device = "cpu"
bf16 = false
curve_points = 3
[budget.shape]
l1 = 16
l2 = 8
[grid]
l1 = [8, 16]
l2 = [4, 8]
extra = [4]
[statistics]
counts = [32, 128]
positions = 200
scout_l1 = 2
scout_steps = 2
[measures]
games = 2
nodes = 30
max_moves = 6
hash = 1
puzzles = "{folder}/puzzles.csv"
puzzle_nodes = 50
humans = "{games}"
human_count = 20
human_nodes = 20
speed_positions = 2
speed_nodes = 200
"""

PGN = '[Result "1-0"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n'


@pytest.fixture
def config(labels_file: Path, games_folder: Path, tmp_path: Path, two_puzzles: str):
    """Writes the settings of an experiment."""
    (tmp_path / "puzzles.csv").write_text(two_puzzles)
    (tmp_path / "some.pgn").write_text(PGN)

    def write(experiment: str, *variants: str, more: str = "", **changes: str) -> Path:
        text = CONFIG.format(
            experiment=experiment,
            variants=json.dumps(variants),
            more=more,
            labels=labels_file,
            games=games_folder,
            folder=tmp_path,
        )
        for before, after in changes.items():
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / f"{experiment}.toml"
        path.write_text(text)
        return path

    return write


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


# Whole experiments ----------------------------------------------------------------------------------------


def test_the_axes_from_files_to_their_report(config, tmp_path: Path, run_lab):
    file, out = config("axes"), tmp_path / "out"
    record = run_lab("axes", "--config", file, "--out", out)
    sizes = {row["name"]: row["inputs"]["size"] for row in record["rows"]}
    assert sizes == {
        "material": 12,
        "h": 96,
        "v": 96,
        "h-v": 192,
        "d1-d2": 360,
        "h-v-d1-d2": 552,
        "hv": 768,
        "hv-h-v": 960,
        "hv-d1-d2": 1128,
        "hv-h-v-d1-d2": 1320,
    }
    assert record["games"] == 10 * 9 // 2 * 2
    assert record == json.loads((out / "report.json").read_text())
    for row in record["rows"]:
        assert row["seen"] == 6 * 64
        assert row["loss"] > 0
        assert [point["step"] for point in row["curve"]] == [2, 4, 6]
        assert row["exams"]["puzzles"]["puzzles"] == 2
        assert row["exams"]["speed"]["nps"] > 0
        people = row["exams"]["human"]
        assert people["positions"] == people["without_search"]["positions"] == 20
        assert row["neurons"]["unused"] <= row["neurons"]["l1"] == 16
        assert row["games"] == 9 * 2
        assert is_png(out / "weights" / f"{row['name']}.png")
    assert next(row for row in record["rows"] if row["name"] == "hv")["difference"] == 0
    table = (out / "report.md").read_text()
    assert table == markdown(json.loads(json.dumps(record)))
    assert all(f"| {name} |" in table for name in sizes)
    assert is_png(out / "report.png")
    # Asked again, everything is there: nothing is trained, played or examined a second time.
    parts = ("networks", "games", "exams")
    before = {path: path.stat().st_mtime_ns for part in parts for path in (out / part).rglob("*.[npj][ngs]*")}
    assert len(before) > 60
    for stage in ("train", "play"):
        run_lab("axes", "--config", file, "--out", out, "--stage", stage)
    kept = {path for path, changed in before.items() if path.stat().st_mtime_ns == changed}
    assert {path.name for path in before.keys() - kept} <= {"result.json"}


def test_the_sweep_has_a_grid_of_each_figure(config, tmp_path: Path, run_lab):
    out = tmp_path / "out"
    record = run_lab("nnue-sweep", "--config", config("nnue-sweep"), "--out", out)
    assert [row["name"] for row in record["rows"]] == ["8x4", "8x8", "16x4", "16x8", "16x4x4", "16x8x4"]
    text = (out / "report.md").read_text()
    for what in ("loss", "Elo", "puzzle moves right, %", "nodes a second"):
        assert f"| {what}: L1 down, L2 across | 4 | 8 |" in text
    assert is_png(out / "report.png")


def test_pairs_of_pieces_are_chosen_by_frequency_and_by_use(config, tmp_path: Path, run_lab):
    out = tmp_path / "out"
    record = run_lab("statistical", "--config", config("statistical"), "--out", out)
    sizes = {row["name"]: row["inputs"]["size"] for row in record["rows"]}
    assert sizes == {
        "all": 768,
        "frequent-32": 800,
        "used-32": 800,
        "frequent-128": 896,
        "used-128": 896,
    }
    sets = record["choices"]["sets"]
    assert sets["frequent-32"]["share_of_pairs_seen"] >= sets["used-32"]["share_of_pairs_seen"] > 0
    assert sets["frequent-128"]["first"][:4] == sets["frequent-32"]["first"][:4]
    assert [one["count"] for one in record["choices"]["in_both"]] == [32, 128]
    assert "Chosen by both ways" in (out / "report.md").read_text()
    assert all(len(set(name.split(", "))) == 2 for name in sets["used-32"]["first"])


def test_moves_teach_and_tune_in_one_experiment(config, tmp_path: Path, run_lab):
    out = tmp_path / "out"
    record = run_lab("pqr", "--config", config("pqr"), "--out", out)
    rows = {row["name"]: row for row in record["rows"]}
    assert list(rows) == ["evaluations", "pqr", "triplet", "signed-triplet", "tuned-pqr", "tuned-triplet"]
    assert all(0 <= row["prefers_played"] <= 1 for row in rows.values())
    assert rows["pqr"]["seen"] == 3 * rows["evaluations"]["seen"]
    # A quarter of the steps, from where the teacher's network ended.
    assert rows["tuned-pqr"]["steps"] == 2
    assert abs(rows["tuned-pqr"]["loss"] - rows["evaluations"]["loss"]) < abs(
        rows["pqr"]["loss"] - rows["evaluations"]["loss"]
    )
    assert "pqr, after evaluations" in (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("experiment", "variants"),
    [
        ("pairs", ("hv", "hv-ph-pv")),
        ("mobility", ("all", "both")),
        ("attacks", ("all", "both")),
        ("symmetry", ("all", "mirror-hv", "kp")),
        ("piece-move", ("all", "all-moves")),
        ("neurons", ("all", "buckets")),
    ],
)
def test_every_other_experiment_comes_to_its_report(
    experiment: str, variants: tuple[str, ...], config, tmp_path: Path, run_lab
):
    file = config(experiment, *variants)
    record = run_lab(experiment, "--config", file, "--out", tmp_path / "out")
    assert [row["name"] for row in record["rows"]] == list(variants)
    assert all(row["loss"] > 0 and row["inputs"]["active"] > 1 for row in record["rows"])
    assert record["games"] == len(variants) * (len(variants) - 1)


def test_every_network_of_every_experiment_can_be_made(config):
    for name in ("nnue-sweep", "axes", "pairs", "mobility", "attacks", "symmetry", "piece-move", "neurons"):
        lab = load_config(config(name), Lab)
        for variant in comparison(lab).variants:
            assert _core.FeatureSet(variant.shape.features).size > 0


def test_a_network_of_your_own_stands_beside_the_others(config, tmp_path: Path, run_lab):
    more = '[[added]]\nname = "wide"\nfeatures = "FILE*ROLE*COLOR + KING"\nl1 = 24\n'
    pgn = f'hash = 1\npgn = "{tmp_path}/some.pgn"'
    file = config("pairs", "hv", "wide", more=more, **{"hash = 1": pgn})
    record = run_lab("pairs", "--config", file, "--out", tmp_path / "out")
    assert [(row["name"], row["l1"], row["inputs"]["size"]) for row in record["rows"]] == [
        ("hv", 16, 768),
        ("wide", 24, 96 + 64),
    ]
    # On games, where they are given, updates are counted.
    assert all(row["exams"]["features"]["added"] > 0 for row in record["rows"])
    assert "| added a move |" in (tmp_path / "out" / "report.md").read_text()


# Training apart -------------------------------------------------------------------------------------------


def test_training_stops_when_its_minutes_are_over_and_goes_on_to_the_same_networks(
    config, check_training_in_parts
):
    names = ["h", "hv", "hv-h-v"]
    check_training_in_parts(train, load_config(config("axes", *names), Lab), names, ".nnue")


def test_networks_that_share_samples_equal_one_that_is_trained_alone(config, tmp_path: Path):
    together, alone = LabFolder(tmp_path / "together", ".nnue"), LabFolder(tmp_path / "alone", ".nnue")
    train(load_config(config("nnue-sweep"), Lab), together)
    train(load_config(config("nnue-sweep", "16x8", "16x4"), Lab), alone)
    assert together.network("16x8").read_bytes() == alone.network("16x8").read_bytes()


def test_training_needs_neither_a_chess_library_nor_zstandard_and_networks_travel(
    config, tmp_path: Path, run_lab, lab_without
):
    file, out = config("axes", "h", "hv"), tmp_path / "out"
    words = ("axes", "--stage", "train", "--config", file, "--out", out)
    answer = lab_without(("chess", "zstandard"), *words)
    assert answer.returncode == 0, answer.stderr
    names = sorted(path.name for path in (out / "networks").iterdir())
    assert names == ["h.inside.json", "h.json", "h.nnue", "hv.inside.json", "hv.json", "hv.nnue"]
    there = tmp_path / "there"
    there.mkdir()
    (out / "networks").rename(there / "networks")
    (out / "lab.json").rename(there / "lab.json")
    for stage in ("play", "report"):
        record = run_lab("axes", "--config", file, "--out", there, "--stage", stage)
    assert record["games"] == 2


# What lies inside -----------------------------------------------------------------------------------------


def test_pictures_of_single_piece_features_are_the_weights_themselves(config, tmp_path: Path):
    from tabiya.minds.nnue.lab.inside import look_inside
    from tabiya.minds.nnue.network import NnueNetwork, NnueShape
    from tabiya.minds.nnue.sources import Samples

    torch.manual_seed(1)
    network = NnueNetwork(NnueShape(features="ALL", l1=8, l2=4))
    with torch.no_grad():
        network.weight[:, 3] = 0  # with a bias below nothing it is never active
        network.bias[3] = -1
        network.l2.weight[:, [5, 13]] = 0  # nobody reads neuron 5, in either view
        network.weight[:, 6] = 0
        network.bias[6] = 2
    positions = _core.random_positions(100, 1)
    samples = Samples(positions[:, None], np.zeros(100, np.float32), np.zeros(100, np.int8))
    inside = look_inside(network, {"some": samples})
    assert inside["views"] == 200
    neurons = inside["neurons"]
    assert (neurons["silent"], neurons["constant"], neurons["unheard"], neurons["unused"]) == (1, 1, 1, 3)
    pieces = ("pawn", "knight", "bishop", "rook", "queen", "king")
    numbers = {network.features.name(number): number for number in range(network.size)}
    for place, neuron in enumerate(inside["weights"]["neurons"]):
        for colour, side in enumerate(("white", "black")):
            for role, piece in enumerate(pieces):
                for square in (0, 4, 3, 27, 63):
                    name = f"{side} {piece} on {'abcdefgh'[square % 8]}{square // 8 + 1}"
                    weight = float(network.weight[numbers[name], neuron].detach())
                    shown = inside["weights"]["boards"][place][6 * colour + role][square]
                    assert shown == pytest.approx(weight, abs=6e-4)
    assert inside["features"]["largest_weight"] == round(network.limits.first, 3)
    assert inside["features"]["at_the_end"] == 0
    assert inside["features"]["active"] == pytest.approx(
        np.mean([len(_core.FeatureSet("ALL").active(row.tobytes())) for row in positions])
    )


# What is refused ------------------------------------------------------------------------------------------


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["lab", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    # What was done before may stand above it.
    *_, last = said.err.splitlines()
    assert last.startswith("tabiya: ")
    return last


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("steps = 6", "stepz = 6"), "unknown setting 'stepz' in [budget]"),
        (('"hv"', '"hv-h-w"'), "axes has no network 'hv-h-w', did you mean 'hv-h-v'?"),
        (('"h", "hv"', '"h", "v"'), "tells every network's Elo from 'hv', which this config leaves out"),
        (('device = "cpu"', 'device = "cuda"'), "no CUDA device here"),
        (('"axes"', '"pairs"'), "is a config of pairs, not of axes"),
        (("nodes = 30", 'nodes = 30\nclock = "1+0.01"'), "one of clock, movetime and nodes, got clock and"),
        (("wood.moves", "missing.moves"), "missing.moves, which data.sources asks for"),
        (("[budget.shape]", '[budget.loss]\nmethod = "pqr"\n[budget.shape]'), "its method is for pqr"),
        (('kind = "games"', 'kind = "successors"'), "successors have no moves to learn from"),
    ],
)
def test_a_wrong_config_is_one_sentence(change: tuple[str, str], sentence: str, config, tmp_path, capsys):
    if "cuda" in change[1] and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    file = config("axes", "h", "hv", **dict([change]))
    assert sentence in refusal(capsys, "axes", "--config", file, "--out", tmp_path / "out")


def test_playing_before_training_is_refused_with_what_to_do(config, tmp_path: Path, capsys):
    words = ("axes", "--config", config("axes", "h", "hv"), "--out", tmp_path / "out", "--stage")
    for stage in ("play", "report"):
        assert "lacks the network h: run the stage train first" in refusal(capsys, *words, stage)


def test_a_name_that_is_no_file_s_and_features_that_are_none_are_refused(config, tmp_path: Path, capsys):
    for name, features, sentence in (
        ("../up", "ALL", "made of letters, digits and '-', got '../up'"),
        ("mine", "FILES*ROLE", "cannot read the features 'FILES*ROLE'"),
        ("hv", "ALL", "two networks of pairs are called 'hv'"),
    ):
        file = config("pairs", more=f'[[added]]\nname = "{name}"\nfeatures = "{features}"\n')
        assert sentence in refusal(capsys, "pairs", "--config", file, "--out", tmp_path / "out")


def test_a_book_too_small_is_refused_before_anything_is_asked(config, tmp_path: Path, capsys):
    out = tmp_path / "out"
    file = config("axes", "h", "hv", **{"\ngames = 2": "\ngames = 2000"})
    assert "openings for 1000 pairs of games" in refusal(capsys, "axes", "--config", file, "--out", out)
    assert not (out / "exams").exists()


def test_a_tuned_network_without_its_teacher_s_is_refused(config, tmp_path: Path, capsys):
    out = tmp_path / "out"
    words = ("pqr", "--config", config("pqr", "evaluations", "tuned-pqr"), "--out", out, "--stage", "train")
    assert main(["lab", *map(str, words)]) == 0
    capsys.readouterr()
    (out / "networks" / "tuned-pqr.json").unlink()
    for path in (out / "runs" / "evaluations").glob("step-*"):
        path.unlink()
    assert "begins with the last checkpoint of evaluations" in refusal(capsys, *words)


@pytest.mark.parametrize("name", [name for name, (module, _) in EXPERIMENTS.items() if module == "lab_nnue"])
def test_every_experiment_has_a_config_that_can_be_read(name: str):
    stem = f"lab-nnue-{name.removeprefix('nnue-')}"
    lab = load_config(Path(__file__).parents[3] / "configs" / f"{stem}.toml", Lab)
    assert lab.experiment == name
    assert len(comparison(lab).variants) > 1
