"""The ResNet's experiments whole, at a tiny size: from files to tables, resumed, and refused when wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.data.extract import Extraction, Tier, extract  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.minds.resnet.lab.plan import Lab  # noqa: E402
from tabiya.minds.resnet.lab.train import train  # noqa: E402
from tabiya.reports.lab_table import markdown  # noqa: E402

CONFIG = """
experiment = "{experiment}"
variants = {variants}
fractions = [0.2, 1.0]
[data]
games = "{folder}/games"
labels = "{folder}/labels.moves"
own = "{folder}/own.moves"
selfplay = "{folder}/selfplay.moves"
sampled = "{folder}/sampled.moves"
[budget]
steps = 4
batch = 32
warmup_steps = 1
device = "cpu"
bf16 = false
compile = false
report_steps = 1
checkpoint_steps = 2
[budget.shape]
blocks = 1
channels = 8
squeeze = 4
value_channels = 4
value_hidden = 16
[measures]
games = 2
anchor_games = 2
movetime = 1
max_moves = 8
puzzles = "{folder}/puzzles.csv"
puzzle_modes = ["policy", "value"]
labels = "{folder}/labels.moves"
label_count = 5
threads = 1
[[measures.anchors]]
player = "random?seed=3"
elo = 500
[[measures.anchors]]
player = "random?seed=4"
"""


def some_games(count: int) -> str:
    chance = random.Random(1)
    games = []
    for _ in range(count):
        board, words = _core.Board(), []
        for ply in range(8):
            move = chance.choice(board.legal_moves())
            words += [f"{ply // 2 + 1}."] * (ply % 2 == 0) + [board.san(move)]
            board.push(move)
        elo, result = chance.choice([2100, 2700]), chance.choice(["1-0", "0-1", "1/2-1/2"])
        tags = f'[WhiteElo "{elo}"]\n[BlackElo "{elo}"]\n[Result "{result}"]\n\n'
        games.append(f"{tags}{' '.join(words)} {result}\n\n")
    return "".join(games)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Networks this small lose more by sharing their work than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, random_labels, two_puzzles: str) -> Path:
    """Games of two tiers, four files of labels, two puzzles."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "g.pgn").write_text(some_games(120))
    tiers = (Tier("elite", 2600, 4000, weight=3.0), Tier("strong", 2000, 2600))
    extract([folder / "g.pgn"], folder / "games", Extraction(tiers=tiers))
    for name, seed in {"labels": 4, "own": 5, "selfplay": 6, "sampled": 3}.items():
        random_labels(folder / f"{name}.moves", 300, seed)
    (folder / "puzzles.csv").write_text(two_puzzles)
    return folder


def config(data: Path, path: Path, experiment: str, *variants: str) -> Path:
    path.write_text(CONFIG.format(experiment=experiment, variants=json.dumps(variants), folder=data))
    return path


# Whole experiments ----------------------------------------------------------------------------------------


def test_the_progression_from_files_to_its_table(data: Path, tmp_path: Path, run_lab):
    file = config(data, tmp_path / "lab.toml", "resnet-progress")
    out = tmp_path / "out"
    record = run_lab("resnet-progress", "--config", file, "--out", out)
    names = [row["name"] for row in record["rows"]]
    assert len(names) == 9
    # 36 pairs of 2 games; two anchors with 9 networks, and with each other, of 2 games.
    assert record["games"] == 36 * 2 + (2 * 9 + 1) * 2
    assert record == json.loads((out / "report.json").read_text())
    by_name = {row["name"]: row for row in record["rows"]}
    assert by_name["cloning"]["difference"] == 0
    for row in record["rows"]:
        assert row["seen"] == (0 if row["name"] == "untrained" else 4 * 32)
        assert row["exams"]["puzzles-policy"]["puzzles"] == 2
        assert row["exams"]["puzzles-value"]["nodes_per_move"] > 1
        assert row["exams"]["agree"]["positions"] >= 1
        assert row["games"] == 8 * 2 + 2 * 2
    assert by_name["cloning"]["positions"].keys() == {"games"}
    assert by_name["selfplay"]["positions"].keys() == {"games", "labels", "successors", "own"}
    assert by_name["selfplay"]["positions"]["labels"] > by_name["own"]["positions"]["labels"]
    assert {anchor["name"]: anchor["known"] for anchor in record["anchors"]} == {
        "random?seed=3": 500,
        "random?seed=4": None,
    }
    table = (out / "report.md").read_text()
    assert all(f"| {name} |" in table for name in names)
    assert "4 steps of 32 positions (128 shown, repeats included)" in table
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")
    # Asked again, everything is there: nothing is trained, played or examined a second time.
    parts = ("networks", "games", "exams")
    before = {path: path.stat().st_mtime_ns for part in parts for path in (out / part).rglob("*.[opj][ngs]*")}
    assert len(before) > 60
    again = run_lab("resnet-progress", "--config", file, "--out", out)
    assert again["rows"] == record["rows"]
    kept = {path for path, changed in before.items() if path.stat().st_mtime_ns == changed}
    assert {path.name for path in before.keys() - kept} <= {"result.json"}


def test_an_ablation_from_files_to_its_table(data: Path, tmp_path: Path, run_lab):
    chosen = ("everything", "no-engine", "no-weights", "18-planes", "no-excite", "q-on-policy", "probability")
    file = config(data, tmp_path / "lab.toml", "resnet-ablation", *chosen)
    record = run_lab("resnet-ablation", "--config", file, "--out", tmp_path / "out")
    assert [row["name"] for row in record["rows"]] == list(chosen)
    parameters = {row["name"]: row["parameters"] for row in record["rows"]}
    assert parameters["18-planes"] == parameters["everything"] - 3 * 8 * 9
    assert parameters["q-on-policy"] < parameters["everything"]
    assert parameters["no-weights"] == parameters["everything"]
    assert len({row["network"] for row in record["rows"]}) == len(chosen)


def test_the_data_table_from_files_to_its_curve(data: Path, tmp_path: Path, run_lab):
    file = config(data, tmp_path / "lab.toml", "resnet-data")
    record = run_lab("resnet-data", "--config", file, "--out", tmp_path / "out")
    small, whole = (sum(row["positions"].values()) for row in record["rows"])
    assert 0.15 < small / whole < 0.25
    assert [row["name"] for row in record["rows"]] == ["data-20", "data-100"]
    assert (tmp_path / "out" / "report.png").exists()


def test_mistakes_against_positions_by_chance_from_files_to_their_table(data: Path, tmp_path: Path, run_lab):
    file = config(data, tmp_path / "lab.toml", "resnet-mistakes")
    record = run_lab("resnet-mistakes", "--config", file, "--out", tmp_path / "out")
    by_name = {row["name"]: row for row in record["rows"]}
    assert list(by_name) == ["before", "mistakes", "sampled"]
    assert by_name["sampled"]["difference"] == 0
    assert "corrected" not in by_name["before"]["positions"]
    assert by_name["mistakes"]["positions"]["corrected"] > 0
    assert by_name["mistakes"]["network"] != by_name["sampled"]["network"]


def test_training_stops_when_its_minutes_are_over_and_goes_on_to_the_same_networks(
    data: Path, tmp_path: Path, check_training_in_parts
):
    names = ["untrained", "cloning", "elite"]
    lab = load_config(config(data, tmp_path / "lab.toml", "resnet-progress", *names), Lab)
    check_training_in_parts(train, lab, names)


def test_training_needs_neither_a_chess_library_nor_zstandard(data: Path, tmp_path: Path, lab_without):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "cloning", "successors")
    words = ("resnet-progress", "--stage", "train", "--config", file, "--out", tmp_path / "out")
    answer = lab_without(("chess", "zstandard"), *words)
    assert answer.returncode == 0, answer.stderr
    networks = sorted(path.name for path in (tmp_path / "out" / "networks").iterdir())
    assert networks == ["cloning.json", "cloning.onnx", "successors.json", "successors.onnx"]


# What is refused ------------------------------------------------------------------------------------------


def refusal(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["lab", *map(str, words)]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    return said.err


def test_other_settings_in_an_experiment_s_folder_are_refused_by_name(data: Path, tmp_path: Path, capsys):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    one = load_config(file, Lab)
    train(one, LabFolder(tmp_path / "out"), minutes=0)
    file.write_text(file.read_text().replace("batch = 32", "batch = 64"))
    words = ("--config", file, "--out", tmp_path / "out", "--stage", "train")
    assert "begun with budget.batch = 32, now it is 64" in refusal(capsys, "resnet-progress", *words)


def test_playing_before_training_is_refused_with_what_to_do(data: Path, tmp_path: Path, capsys):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    words = ("resnet-progress", "--config", file, "--out", tmp_path / "out", "--stage")
    for stage in ("play", "report"):
        assert "lacks the network untrained: run the stage train first" in refusal(capsys, *words, stage)


def test_a_report_before_the_games_says_how_many_are_missing(data: Path, tmp_path: Path, run_lab, capsys):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    words = ("resnet-progress", "--config", file, "--out", tmp_path / "out", "--stage")
    assert main(["lab", *map(str, words), "train"]) == 0
    capsys.readouterr()
    record = run_lab(*words, "report")
    assert "0 of 12 games are played: run the stage play to its end" in record["notes"]
    assert record["verdict"] == "No games tie the networks to each other yet."


def test_games_of_other_networks_are_not_taken_for_these(data: Path, tmp_path: Path, run_lab, capsys):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    out = tmp_path / "out"
    words = ("resnet-progress", "--config", file, "--out", out)
    run_lab(*words)
    for path in (out / "networks").glob("cloning.*"):
        path.unlink()
    for path in (out / "runs" / "cloning").glob("step-*"):
        path.unlink()
    (out / "runs" / "cloning" / "log.jsonl").unlink()
    text = (out / "lab.json").read_text().replace('"budget.seed": 0', '"budget.seed": 1')
    (out / "lab.json").write_text(text)
    file.write_text(file.read_text().replace("steps = 4\n", "steps = 4\nseed = 1\n"))
    (out / "runs" / "cloning" / "config.json").unlink()
    assert main(["lab", *map(str, words), "--stage", "train"]) == 0
    capsys.readouterr()
    assert "begun with networks.cloning" in refusal(capsys, *words, "--stage", "play")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("steps = 4", "stepz = 4"), "unknown setting 'stepz' in [budget]"),
        (("labels.moves", "missing.moves"), "missing.moves, which data.labels asks for"),
        (('device = "cpu"', 'device = "cuda"'), "no CUDA device here"),
        (("resnet-progress", "resnet-data"), "is a config of resnet-data, not of resnet-progress"),
        (("random?seed=4", "random?seed=3"), "the anchor random?seed=3 is named twice"),
        (("\ngames = 2", "\ngames = 0"), "games must be at least 1"),
        (("[0.2, 1.0]", "[0.2, 2.0]"), "fractions must be above 0 and at most 1"),
    ],
)
def test_a_wrong_config_is_one_sentence(
    change: tuple[str, str], sentence: str, data: Path, tmp_path: Path, capsys
):
    if "cuda" in change[1] and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    file.write_text(file.read_text().replace(*change))
    assert sentence in refusal(capsys, "resnet-progress", "--config", file, "--out", tmp_path / "out")


def test_a_misspelt_experiment_is_answered_with_the_right_one(capsys):
    assert "did you mean 'resnet-data'?" in refusal(capsys, "resnet-dta")
    assert "which experiment?" in refusal(capsys)


def test_the_table_can_be_made_again_from_the_record_alone(data: Path, tmp_path: Path, run_lab):
    file = config(data, tmp_path / "lab.toml", "resnet-progress", "untrained", "cloning")
    record = run_lab("resnet-progress", "--config", file, "--out", tmp_path / "out")
    assert markdown(json.loads(json.dumps(record))) == (tmp_path / "out" / "report.md").read_text()
