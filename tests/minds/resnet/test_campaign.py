"""Training, self-play and labelling at once, small: every part happens, and a stop loses none of it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from tabiya import _core
from tabiya.cli import main
from tabiya.data.extract import extract
from tabiya.data.labels import load_move_labels, write_move_labels
from tabiya.errors import UserError
from tabiya.learn.config import config_to_dict
from tabiya.learn.feed import Source
from tabiya.learn.log import read_log
from tabiya.minds.resnet import campaign
from tabiya.minds.resnet.campaign import Campaign, run_campaign
from tabiya.minds.resnet.network import ResNetShape
from tabiya.minds.resnet.selfplay import SelfPlaySettings
from tabiya.minds.resnet.training import ResNetTraining
from tabiya.player import Limit
from tabiya.roster import open_player

FAKE = Path(__file__).resolve().parents[2] / "data" / "fake_teacher.py"


@pytest.fixture
def plan(tmp_path: Path) -> Campaign:
    games = []
    for seed in range(400):
        board, chance = _core.Board(), np.random.default_rng(seed)
        sans = []
        while board.outcome() is None and board.ply < 8:
            moves = board.legal_moves()
            move = moves[chance.integers(len(moves))]
            sans.append(board.san(move))
            board.push(move)
        games.append(f'[Result "1/2-1/2"]\n\n{" ".join(sans)} 1/2-1/2\n\n')
    (tmp_path / "g.pgn").write_text("".join(games))
    extract([tmp_path / "g.pgn"], tmp_path / "games")
    positions = _core.random_positions(300, 11)
    offsets, _, _ = _core.successors(positions)
    scores = np.random.default_rng(0).integers(-300, 300, offsets[-1]).astype(np.int16)
    write_move_labels(tmp_path / "l.moves", (positions, offsets, scores))
    filler = _core.unpack_fens(_core.random_positions(40, 12))
    (tmp_path / "filler.fen").write_text("".join(f"{fen}\n" for fen in filler))
    (tmp_path / "openings.fen").write_text(_core.Board().fen() + "\n")
    return Campaign(
        training=ResNetTraining(
            sources=(
                Source(kind="games", path=str(tmp_path / "games"), share=0.4),
                Source(kind="labels", path=str(tmp_path / "l.moves"), share=0.3),
                Source(kind="successors", path=str(tmp_path / "l.moves"), share=0.3),
            ),
            steps=12,
            batch=32,
            warmup_steps=1,
            device="cpu",
            bf16=False,
            compile=False,
            shape=ResNetShape(blocks=1, channels=8, squeeze=4),
            report_steps=1,
            validate_steps=100,
            checkpoint_steps=100,
        ),
        openings=str(tmp_path / "openings.fen"),
        selfplay=SelfPlaySettings(games=4, plies=20, margin=0.0),
        selfplay_steps=(3, 6),
        value_steps=(9,),
        value_positions=100,
        sampled=10,
        teacher=f"{sys.executable} {FAKE}",
        workers=1,
        fillers=(str(tmp_path / "filler.fen"),),
    )


def test_mistakes_are_labelled_and_learned_from_while_training_goes_on(plan: Campaign, tmp_path: Path):
    folder = tmp_path / "run"
    record = run_campaign(plan, folder)
    assert [each["step"] for each in record["iterations"]] == [3, 6]
    for number, each in enumerate(record["iterations"], 1):
        assert each["games"] == 4
        asked = (folder / f"mistakes-{number}.fen").read_text().split()
        assert len(asked) // 6 == each["asked"] > 0
        assert len(load_move_labels(folder / f"mistakes-{number}.kept.moves")[0]) > 0
    assert [each["positions"] for each in record["valued"]] == [100]
    log = read_log(folder / "train")
    assert any("own_policy" in line for line in log if line["step"] > 3)
    assert not any("own_policy" in line for line in log if line["step"] <= 3)
    assert json.loads((folder / "record.json").read_text())["filler-1"]["kept"] > 0


def test_the_teacher_reviews_what_the_network_has_valued(plan: Campaign, tmp_path: Path):
    folder = tmp_path / "run"
    record = run_campaign(replace(plan, fillers=(), review_nodes=100, join_steps=(8, 11)), folder)
    assert not list(folder.glob("mistakes-*"))
    for number, each in enumerate(record["iterations"], 1):
        own = load_move_labels(folder / f"selfplay-{number}.own.moves")
        assert 0 < len(own[0]) == each["asked"] <= each["positions"]
    assert len(load_move_labels(folder / "valued-1.own.moves")[0]) == 100
    for name in ("selfplay-1", "selfplay-2", "valued-1"):
        _, offsets, scores = load_move_labels(folder / f"{name}.kept.moves")
        assert len(offsets) > 1
        # This teacher always plays the first move.
        best = [scores[first:end].argmax() for first, end in pairwise(offsets) if first < end]
        assert set(best) == {0}


def test_reviews_go_on_after_a_stop(plan: Campaign, tmp_path: Path, monkeypatch):
    folder = tmp_path / "run"
    reviewing = replace(plan, fillers=(), review_nodes=100)
    with monkeypatch.context() as patched:
        patched.setattr(campaign, "joined", _cut_off)  # when the network's own labels are first fed
        with pytest.raises(RuntimeError, match="cut off"):
            run_campaign(reviewing, folder)
    assert (folder / "selfplay-1.own.moves").exists()
    assert not (folder / "selfplay-1.kept.moves").exists()
    record = run_campaign(reviewing, folder)
    assert record["selfplay-1"]["kept"] > 0
    assert read_log(folder / "train")[-1]["step"] == 12


def _cut_off(*_: object) -> None:
    raise RuntimeError("cut off")


def test_a_campaign_that_was_stopped_goes_on_with_the_labels_it_has(
    plan: Campaign, tmp_path: Path, monkeypatch
):
    folder = tmp_path / "run"
    shorter = replace(plan, fillers=())
    with monkeypatch.context() as patched:
        patched.setattr(campaign, "labels_table", _cut_off)
        with pytest.raises(RuntimeError, match="cut off"):
            run_campaign(shorter, folder)
    before = json.loads((folder / "record.json").read_text())
    record = run_campaign(shorter, folder)
    made = before["iterations"]
    assert made
    assert record["iterations"][: len(made)] == made
    assert len(record["iterations"]) == 2
    assert [each["step"] for each in record["valued"]] == [9]
    assert read_log(folder / "train")[-1]["step"] == 12


def test_two_events_at_one_step_are_refused(plan: Campaign):
    with pytest.raises(UserError, match="steps of their own"):
        replace(plan, value_steps=(3,))


def test_the_command_reads_a_campaign_s_file_and_leaves_an_engine(plan: Campaign, tmp_path: Path, capsys):
    text = toml_of(replace(plan, fillers=()))
    (tmp_path / "plan.toml").write_text(text)
    assert main(["pipeline", "campaign", str(tmp_path / "plan.toml"), "--out", str(tmp_path / "run")]) == 0
    assert "play it" in capsys.readouterr().out
    player = open_player(f"resnet:{tmp_path / 'run' / 'train'}")
    assert player.play(_core.Board(), Limit(nodes=1)).move in _core.Board().legal_moves()


def toml_of(plan: Campaign) -> str:
    """The plan as the text of a file."""
    values = config_to_dict(plan)
    tables = {name: values.pop(name) for name in ("selfplay", "training")}
    training = tables["training"]
    shape, loss, sources = (training.pop(name) for name in ("shape", "loss", "sources"))
    lines = [*_pairs(values), "[selfplay]", *_pairs(tables["selfplay"]), "[training]", *_pairs(training)]
    lines += ["[training.shape]", *_pairs(shape), "[training.loss]", *_pairs(loss)]
    for source in sources:
        lines += ["[[training.sources]]", *_pairs(source)]
    return "\n".join(lines)


def _pairs(values: dict[str, object]) -> list[str]:
    return [f"{name} = {json.dumps(value)}" for name, value in values.items() if value is not None]


def test_a_teacher_that_is_not_there_is_said_before_anything_is_done(plan: Campaign, tmp_path: Path):
    with pytest.raises(UserError, match="no engine 'no-such-engine' found"):
        run_campaign(replace(plan, teacher="no-such-engine"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
