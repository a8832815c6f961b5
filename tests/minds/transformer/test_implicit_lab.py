"""`tabiya lab implicit` whole, at a toy size: from files to answers, resumed, and playing without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya import _core  # noqa: E402
from tabiya.arena.ratings import Game  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.feed import Source  # noqa: E402
from tabiya.learn.lab.folder import LabFolder  # noqa: E402
from tabiya.learn.token_tables import load_tokens  # noqa: E402
from tabiya.minds.transformer.lab.gains import Gain, elo_gains, noise_of, paired  # noqa: E402
from tabiya.minds.transformer.lab.implicit_table import markdown  # noqa: E402
from tabiya.minds.transformer.lab.plan import ImplicitLab  # noqa: E402
from tabiya.minds.transformer.lab.questions import ask_moves, peoples_moves, teachers_moves  # noqa: E402
from tabiya.minds.transformer.lab.run import training_of  # noqa: E402
from tabiya.minds.transformer.lab.tables import SharedTables  # noqa: E402
from tabiya.minds.transformer.lab.train import train  # noqa: E402
from tabiya.minds.transformer.lab.variants import KINDS, variants_of  # noqa: E402
from tabiya.minds.transformer.onnx_network import OnnxTransformer  # noqa: E402
from tabiya.minds.transformer.shape import Wire  # noqa: E402
from tabiya.minds.transformer.tokens import renumbered  # noqa: E402

CONFIG = """
experiment = "implicit"
variants = {variants}
seeds = [0, 1]
[data]
games = "{folder}/games"
labels = "{folder}/all.moves"
[budget]
steps = 3
batch = 16
mlp_ratio = 1.0
value_hidden = 8
warmup_steps = 1
device = "cpu"
bf16 = false
compile = false
wide_attention = "plain"
report_steps = 1
checkpoint_steps = 1
{sizes}
[measures]
games = 2
anchor_games = 2
max_moves = 6
puzzles = "{folder}/puzzles.csv"
people = "{folder}/games"
people_count = 12
labels = "{folder}/all.moves"
label_count = 12
threads = 1
[[measures.anchors]]
player = "random?seed=3"
elo = 500
[[measures.anchors]]
player = "random?seed=4"
"""
TWO_SIZES = """
[[sizes]]
layers = 1
width = 16
heads = 2
[[sizes]]
layers = 2
width = 16
heads = 2
steps = 2
"""
ONE_SIZE = TWO_SIZES.split("[[sizes]]")[2].join(["[[sizes]]", ""])
# Beside the two short puzzles: two of a kind make an interval.
LONG_PUZZLES = """\
c,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,e2e4 e7e5 g1f3 b8c6 f1b5 a7a6,1300,80,90,10,long,,
d,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,d2d4 d7d5 c2c4 e7e6 b1c3 g8f6,1300,80,90,10,long,,
"""


@pytest.fixture
def data(tmp_path: Path, games: Path, random_labels, two_puzzles: str) -> Path:
    """Games, labels of which some are held out, puzzles, all in one folder."""
    random_labels(tmp_path / "all.moves", 400, 4)
    (tmp_path / "puzzles.csv").write_text(two_puzzles + LONG_PUZZLES)
    return tmp_path


def config(data: Path, *variants: str, sizes: str = TWO_SIZES) -> Path:
    path = data / "lab.toml"
    path.write_text(CONFIG.format(folder=data, variants=json.dumps(variants), sizes=sizes))
    return path


def lab_of(data: Path, *variants: str, sizes: str = TWO_SIZES) -> ImplicitLab:
    return load_config(config(data, *variants, sizes=sizes), ImplicitLab)


def test_from_files_to_answers_where_training_has_no_chess_library_and_playing_no_torch(
    data: Path, lab_without
):
    file, out = config(data, "masked", "flipped", "no-rights"), data / "out"
    words = ("implicit", "--config", file, "--out", out)
    trained = lab_without(("chess", "zstandard"), *words, "--stage", "train")
    assert trained.returncode == 0, trained.stderr
    assert len(list((out / "networks").glob("*.onnx"))) == 2 * (2 + 3)
    for stage in ("play", "report"):
        answer = lab_without(("torch",), *words, "--stage", stage, "--json")
        assert answer.returncode == 0, answer.stderr
    record = json.loads((out / "report.json").read_text())
    # Two sizes of five networks and a base that looks twice, the bases of two sizes, two anchors.
    assert record["games"] == 2 * (2 * 15 + 1 + 2 * 12 + 1)
    answers = {each["key"]: each for each in record["answers"]}
    assert set(answers) == {"mask", "flip", "rights", "refinement", "size", "depth"}
    assert {each["answer"] for each in answers.values()} <= {"yes", "no", "not decided"}
    assert set(answers["mask"]["gains"]) == {"1x16", "2x16"}
    assert answers["mask"]["at"] == "2x16"
    assert answers["size"]["at"] == "2x16 less 1x16"
    assert answers["depth"]["gains"]["2x16"]["puzzles"]["gain"] is not None
    assert record["noise"]["puzzles"]["freedom"] == 2
    by_name = {row["name"]: row for row in record["rows"]}
    assert len(by_name) == 2 * (2 + 3 + 1)
    assert by_name["2x16-base"]["steps"] == 2
    assert by_name["1x16-base-2"]["seed"] == 1
    for row in record["rows"]:
        assert [part["moves"] for part in row["exams"]["puzzles"]["by_length"]] == [1, 3]
        if row["passes"] == 1:
            assert 0 < row["exams"]["teacher"]["illegal"] < 1
            assert row["exams"]["people"]["positions"] == 12
    text = (out / "report.md").read_text()
    assert markdown(record) == text
    assert all(f"| {each['claim']} | **{each['answer']}** |" in text for each in answers.values())
    assert (out / "report.png").read_bytes().startswith(b"\x89PNG")


def test_two_processes_side_by_side_do_what_one_would(data: Path, capsys: pytest.CaptureFixture[str]):
    file = config(data, "flipped", sizes=ONE_SIZE)
    for jobs in ("1", "2"):
        words = [
            "lab",
            "implicit",
            "--config",
            str(file),
            "--out",
            str(data / jobs),
            "--jobs",
            jobs,
            "--json",
        ]
        assert main(words) == 0
        capsys.readouterr()
    alone, together = (json.loads((data / jobs / "report.json").read_text()) for jobs in ("1", "2"))
    assert together["games"] == alone["games"] > 0
    for one, other in zip(alone["rows"], together["rows"], strict=True):
        assert one["name"] == other["name"]
        # Up to rounding: a process of its own may add up in another order.
        assert one["validation"] == pytest.approx(other["validation"], rel=1e-3, abs=1e-3)
    assert main(["lab", "implicit", "--config", str(file), "--out", str(data / "0"), "--jobs", "0"]) == 2
    assert "--jobs must be at least 1, got 0" in capsys.readouterr().err


def test_one_size_after_the_other_comes_to_the_same_as_all_at_once(
    data: Path, lab_without, capsys: pytest.CaptureFixture[str]
):
    words = ["lab", "implicit", "--config", str(config(data, "flipped")), "--out", str(data / "out")]
    for size, others in (("2x16", "1x16"), ("1x16", "2x16")):
        for stage in ("train", "play"):
            assert main([*words, "--stage", stage, "--size", size, "--json"]) == 0
        if size == "2x16":
            found = {path.name for path in (data / "out" / "networks").iterdir()}
            found |= {path.name for path in (data / "out" / "games").iterdir()}
            assert found
            assert not any(others in name for name in found)
    assert main([*words, "--stage", "play", "--json"]) == 0
    assert main([*words, "--stage", "report", "--json"]) == 0
    record = json.loads((data / "out" / "report.json").read_text())
    # Four players of each size, the bases of both, two anchors: nothing is missing, nothing played twice.
    assert record["games"] == 2 * (2 * 6 + 1 + 2 * 8 + 1)
    # Networks that have played may stay where they were trained: their manifests are enough.
    for network in (data / "out" / "networks").glob("*.onnx"):
        network.unlink()
    assert main([*words, "--stage", "play", "--json"]) == 0
    assert main([*words, "--stage", "report", "--json"]) == 0
    assert json.loads((data / "out" / "report.json").read_text())["rows"] == record["rows"]
    (data / "out" / "exams" / "2x16-base.people.json").unlink()
    # In a process that has none of them open.
    refused = lab_without(("torch",), *words[1:], "--stage", "play")
    assert refused.returncode == 2
    assert "2x16-base.onnx" in refused.stderr
    assert refused.stderr.count("\n") == 1
    capsys.readouterr()
    assert main([*words, "--stage", "play", "--size", "3x16"]) == 2
    assert "no size '3x16' in" in capsys.readouterr().err
    assert main([*words, "--size", "2x16"]) == 2
    assert "--size goes with --stage train or --stage play" in capsys.readouterr().err


def test_every_switch_is_trained_and_differs_from_the_base_in_itself_alone(data: Path):
    lab, folder = lab_of(data, sizes=ONE_SIZE), LabFolder(data / "out")
    assert train(lab, folder) == []
    shapes = {v.kind: folder.manifests([v.name])[v.name]["config"] for v in variants_of(lab)}
    assert set(shapes) == {"base", *KINDS}
    base = shapes["base"]
    assert base["shape"]["flipped"] is False
    assert base["loss"]["mask_illegal"] is False
    differences = {
        kind: {
            key for part in ("shape", "loss") for key, value in one[part].items() if value != base[part][key]
        }
        for kind, one in shapes.items()
        if kind != "base"
    }
    assert differences == {
        "masked": {"mask_illegal"},
        "flipped": {"flipped"},
        "added": {"pieces"},
        "added-flipped": {"pieces", "flipped"},
        "separate": {"pieces"},
        "separate-flipped": {"pieces", "flipped"},
        "no-rights": {"rights_head"},
        "no-refinement": {"refinement"},
        "feedback": {"feedback"},
        "no-bias": {"bias"},
        "fromto": {"policy"},
    }
    assert shapes["feedback"]["shape"]["feedback"] == [{"from_block": 2, "to_block": 2, "cycles": 1}]
    sums = {manifest["sha256"] for manifest in folder.manifests(v.name for v in variants_of(lab)).values()}
    assert len(sums) == len(KINDS) + 2


def test_training_stops_when_its_minutes_are_over_and_goes_on_to_the_same_networks(
    data: Path, check_training_in_parts
):
    lab = lab_of(data, "flipped", sizes=ONE_SIZE)
    check_training_in_parts(train, lab, [variant.name for variant in variants_of(lab)])


def test_shared_tables_are_those_that_a_run_would_read_for_itself(data: Path):
    tables, cpu = SharedTables(), torch.device("cpu")
    for source in (
        Source(kind="games", path=str(data / "games"), share=1),
        Source(kind="labels", path=str(data / "all.moves"), share=1),
    ):
        for flipped in (True, False):
            own = load_tokens(
                source, "train", cpu, lambda legal, packed, f=flipped: renumbered(legal, packed, f)
            )
            shared = tables.table(source, "train", cpu, flipped)
            assert torch.equal(shared.legal, own.legal)
            assert torch.equal(shared.packed, own.packed)


def test_wide_networks_are_computed_in_a_way_of_their_own(data: Path):
    text = config(data, sizes=ONE_SIZE).read_text().replace('wide_attention = "plain"', 'attention = "fused"')
    path = data / "gpu.toml"
    path.write_text(text.replace('device = "cpu"', 'device = "cuda"'))
    lab = load_config(path, ImplicitLab)
    ways = {}
    for variant in variants_of(lab):
        made = training_of(lab.data, lab.budget, variant.shape, steps=3, seed=0, masked=False)
        ways[variant.kind] = (made.attention, made.padded_rows)
    assert ways["base"] == ways["feedback"] == ("fused", 0)
    assert ways["separate"] == ways["separate-flipped"] == ("sdpa", 152)


# What is asked ------------------------------------------------------------------------------------------


def test_moves_of_people_and_teacher_are_told_in_the_network_s_own_view(data: Path):
    lab, folder = lab_of(data, "flipped", sizes=ONE_SIZE), LabFolder(data / "out")
    train(lab, folder)
    people, teacher = (
        peoples_moves(str(data / "games"), 20, 0),
        teachers_moves(str(data / "all.moves"), 20, 0),
    )
    for name in ("2x16-base", "2x16-flipped"):
        network = OnnxTransformer(folder.network(name), 1)
        for questions in (people, teacher):
            figures = ask_moves(questions, network, lambda: None)
            assert figures["each"] == _by_hand(questions, network)
            assert figures["top1"] == figures["each"].count("1") / len(questions)
            # Hardly trained: nearly all of 1968 moves are illegal, and have their part.
            assert figures["illegal"] > 0.9


def _by_hand(questions: Any, network: OnnxTransformer) -> str:
    """Board by board, by the moves' names."""
    bits = ""
    for row, packed in enumerate(questions.packed):
        board = _core.Board.from_packed(packed.tobytes())
        policy = network.evaluate(packed.reshape(1, 32), ("policy",))["policy"][0]
        moves = board.legal_moves()
        numbers = [_core.move_to_index(board, move, "uci", network.shape.view) for move in moves]
        chosen = int(np.argmax(policy[numbers]))
        if questions.played is not None:
            bits += "01"[moves[chosen] == _core.code_to_uci(int(questions.played[row]))]
        else:
            _, offsets, scores = questions.labels
            own = scores[offsets[row] : offsets[row + 1]]
            bits += "01"[bool(own[chosen] == own.max())]
    return bits


# How gains are told -------------------------------------------------------------------------------------


def test_a_gain_in_shares_is_told_question_by_question():
    ours = [np.tile([1.0, 1, 0, 1], 4), np.tile([1.0, 0, 0, 1], 4)]
    theirs = [np.tile([1.0, 0, 0, 0], 4)]
    gain = paired(ours, theirs)
    assert gain is not None
    each = np.tile([0, 0.5, 0, 1], 4)
    assert gain.value == pytest.approx(each.mean())
    assert gain.error == pytest.approx(each.std(ddof=1) / 4)
    among = np.arange(16) < 3
    assert paired(ours, theirs, among) == Gain(pytest.approx(0.5 / 3), pytest.approx(1 / 3))
    # Where no answer differs, the next one might.
    assert paired(theirs, theirs) == Gain(0.0, 1 / 16)
    assert paired([], theirs) is None


def test_seeds_of_the_base_count_as_one_player_and_their_games_with_each_other_not_at_all():
    games = [Game("base", "other", 1.0), Game("other", "base", 0.5), Game("base-2", "other", 0.0)] * 4
    games += [Game("base", "base-2", 1.0)] * 50 + [Game("base-2", "base", 1.0)] * 10
    told = elo_gains(games, "base", {"base-2": "base"})
    assert set(told) == {"other"}
    assert told["other"].value == pytest.approx(0, abs=60)
    apart = elo_gains(games, "base")
    assert set(apart) == {"other", "base-2"}
    assert apart["base-2"].value < -100


def test_the_luck_of_seeds_is_what_games_do_not_explain():
    loud = noise_of([[0.0, 20.0, -20.0], [0.0, 30.0, -30.0]], [10.0, 10.0])
    assert loud.freedom == 4
    assert loud.sigma == pytest.approx(((400 * 2 + 900 * 2) / 4 - 50) ** 0.5)
    assert noise_of([[0.0, 3.0, -3.0]], [30.0]).sigma == 0
    assert noise_of([[0.0]], []).freedom == 0
    assert loud.added(Gain(5.0, 3.0), 3, 1).error == pytest.approx((9 + loud.sigma**2 * 4 / 3) ** 0.5)


# What is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (('["flipped"]', '["fliped"]'), "did you mean 'flipped'?"),
        (("steps = 3", "stepz = 3"), "unknown setting 'stepz' in [budget]"),
        (("layers = 1", "layers = 2"), "a size is named twice in 2x16, 2x16"),
        (("seeds = [0, 1]", "seeds = [1, 1]"), "seeds must be at least one and all different"),
        (("all.moves", "none.moves"), "none.moves, which data.labels asks for"),
        (("width = 16", "width = 15"), "a width of 15 cannot be shared by 2 heads"),
    ],
)
def test_a_wrong_config_is_one_sentence(
    change: tuple[str, str], sentence: str, data: Path, capsys: pytest.CaptureFixture[str]
):
    file = config(data, "flipped")
    file.write_text(file.read_text().replace(*change))
    assert main(["lab", "implicit", "--config", str(file), "--out", str(data / "out")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_playing_before_training_is_refused_with_what_to_do(data: Path, capsys: pytest.CaptureFixture[str]):
    words = [
        "lab",
        "implicit",
        "--config",
        str(config(data, "flipped")),
        "--out",
        str(data / "out"),
        "--stage",
    ]
    for stage in ("play", "report"):
        assert main([*words, stage]) == 2
        assert "lacks the network 1x16-base: run the stage train first" in capsys.readouterr().err


def test_the_shipped_config_is_read_and_has_every_switch_at_three_sizes():
    lab = load_config(Path(__file__).parents[3] / "configs" / "lab-implicit.toml", ImplicitLab)
    names = [variant.name for variant in variants_of(lab)]
    assert len(names) == 3 * (len(KINDS) + 3)
    assert {variant.size.name for variant in variants_of(lab)} == {"2x64", "4x128", "8x256"}
    wired = [variant.shape.feedback for variant in variants_of(lab) if variant.kind == "feedback"]
    assert wired[-1] == (Wire(from_block=8, to_block=5),)
