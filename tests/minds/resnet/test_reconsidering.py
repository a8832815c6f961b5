"""Moves that a run's own network reconsiders: what it leans to, and that a stopped run leans to the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.data.scale import UNLABELLED  # noqa: E402
from tabiya.data.shards import FORMAT, NO_RESULT, RECORD, VERSION  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.config import load_config  # noqa: E402
from tabiya.learn.feed import Table, legal_rows  # noqa: E402
from tabiya.minds.resnet import reconsidering  # noqa: E402
from tabiya.minds.resnet.judge import Judge  # noqa: E402
from tabiya.minds.resnet.loss import LossWeights, losses  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.reconsidering import Reconsidering, leanings, staying  # noqa: E402
from tabiya.minds.resnet.speed import measure  # noqa: E402
from tabiya.minds.resnet.training import ResNetTraining, Run  # noqa: E402

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"
STALEMATE_IN_ONE = "7k/8/8/6Q1/8/8/8/K7 w - - 0 1"
ALL = Reconsidering(sources=("games",), steps=1, moves=80, least=0.0)


@pytest.fixture
def judge() -> Judge:
    torch.manual_seed(3)
    return Judge(ResNet(ResNetShape(blocks=1, channels=8, squeeze=4)), torch.device("cpu"))


def table(packed, target: list[int], value: list[float], result: int = -1) -> Table:
    return Table(
        "games",
        torch.from_numpy(packed),
        legal=torch.from_numpy(legal_rows(packed, 1)),
        target=torch.tensor(target, dtype=torch.int16),
        value=torch.tensor(value, dtype=torch.float16),
        result=torch.full((len(packed),), result, dtype=torch.int8),
    )


def slot(fen: str, move: str) -> int:
    return _core.Board(fen).legal_moves().index(move)


def leaning(judge: Judge, fen: str, settings: Reconsidering, target: int = -1, value: float = np.nan):
    packed = _core.pack_fens([fen])
    row = leanings(judge, table(packed, [target], [value]), settings).leaning[0].float().numpy()
    return row[: len(_core.Board(fen).legal_moves())], judge.policy(packed, legal_rows(packed, 1))[0]


def test_chances_are_the_policy_s_times_e_to_the_worth_of_the_outcome(judge: Judge, monkeypatch):
    monkeypatch.setattr(reconsidering, "CHUNK", 7)  # so that several chunks are joined
    packed = _core.random_positions(20, 8)
    found = leanings(judge, table(packed, [-1] * 20, [np.nan] * 20), ALL).leaning.float().numpy()
    offsets, after, _ = _core.successors(packed)
    log_p = judge.policy(packed, legal_rows(packed, 1))
    compared = 0
    for row in range(20):
        count = offsets[row + 1] - offsets[row]
        own = np.ascontiguousarray(after[offsets[row] : offsets[row + 1]])
        if count < 2 or count > 80 or (_core.states(own) != 0).any():
            continue
        wanted = log_p[row, :count] + (1 - judge.values(own)) / ALL.temperature
        assert np.allclose(found[row, :count], wanted - wanted.max(), atol=0.02)
        compared += 1
    assert compared > 10


def test_a_mate_is_worth_all_and_a_stalemate_half(judge: Judge):
    mate, _ = leaning(judge, MATE_IN_ONE, ALL)
    assert mate.argmax() == slot(MATE_IN_ONE, "e1e8")
    stale, log_p = leaning(judge, STALEMATE_IN_ONE, ALL)
    drawn, other = slot(STALEMATE_IN_ONE, "g5g6"), slot(STALEMATE_IN_ONE, "g5h4")
    assert _core.Board(STALEMATE_IN_ONE).draws_after("g5g6")
    board = _core.Board(STALEMATE_IN_ONE)
    board.push("g5h4")
    worth = 1 - judge.values(np.frombuffer(board.packed(), np.uint8)[None])[0]
    gap = (0.5 - worth) / ALL.temperature + log_p[drawn] - log_p[other]
    assert stale[drawn] - stale[other] == pytest.approx(gap, abs=0.05)


def test_a_teacher_s_move_has_its_worth_and_no_other_has_more(judge: Judge):
    chosen = slot(MATE_IN_ONE, "e1e2")
    row, log_p = leaning(judge, MATE_IN_ONE, ALL, chosen, 0.1)
    # Everything, the mate too, is capped at what the teacher gave its own move.
    mate = slot(MATE_IN_ONE, "e1e8")
    gap = log_p[mate] - log_p[chosen] - ALL.chosen
    assert row[mate] - row[chosen] == pytest.approx(gap, abs=0.02)


def test_what_was_played_in_a_game_is_no_teacher_s_move(judge: Judge):
    packed = _core.pack_fens([MATE_IN_ONE])
    played = slot(MATE_IN_ONE, "e1e2")
    row = leanings(judge, table(packed, [played], [0.1], result=0), ALL).leaning[0].float().numpy()
    assert np.allclose(row[: row.argmin()], leaning(judge, MATE_IN_ONE, ALL)[0][: row.argmin()], atol=0.02)
    assert row.argmax() == slot(MATE_IN_ONE, "e1e8")


def test_a_source_without_values_has_no_teacher_s_move(judge: Judge):
    played = slot(MATE_IN_ONE, "e1e2")
    bare = table(_core.pack_fens([MATE_IN_ONE]), [played], [0.1])
    bare.value = None
    row = leanings(judge, bare, ALL).leaning[0].float().numpy()
    assert np.allclose(row[: row.argmin()], leaning(judge, MATE_IN_ONE, ALL)[0][: row.argmin()], atol=0.02)


def test_moves_not_looked_at_are_as_bad_as_the_worst_that_was(judge: Judge):
    few = Reconsidering(sources=("games",), steps=1, moves=2, least=0.0)
    row, log_p = leaning(judge, MATE_IN_ONE, few)
    everything, _ = leaning(judge, MATE_IN_ONE, ALL)
    order = np.argsort(-log_p[: len(row)])
    rest = row - log_p[: len(row)]
    seen = (everything - log_p[: len(row)])[order[:2]]
    assert np.allclose(rest[order[2:]], rest[order[2]], atol=0.05)
    assert rest[order[2]] - rest[order[0]] == pytest.approx(seen.min() - seen[0], abs=0.05)


def test_the_likeliest_move_is_looked_at_however_unlikely(judge: Judge):
    least = Reconsidering(sources=("games",), steps=1, moves=80, least=0.99)
    row, log_p = leaning(judge, MATE_IN_ONE, least)
    assert np.allclose(row, (log_p - log_p.max())[: len(row)], atol=0.05)


def test_among_known_moves_the_policy_may_count_in_part(judge: Judge):
    few = Reconsidering(sources=("games",), steps=1, moves=3, least=0.0)
    partly = Reconsidering(sources=("games",), steps=1, moves=3, least=0.0, prior=0.25)
    chosen = slot(MATE_IN_ONE, "a1b1")
    whole, log_p = leaning(judge, MATE_IN_ONE, few, chosen, 0.9)
    part, _ = leaning(judge, MATE_IN_ONE, partly, chosen, 0.9)
    own = log_p[: len(whole)]
    known = np.unique([*np.argsort(-own)[:3], chosen])
    assert len(known) >= 3
    top = own[known].max()
    wanted = whole.copy()
    wanted[known] -= 0.75 * (own[known] - top)
    assert np.allclose(part, wanted - wanted.max(), atol=0.02)
    assert not np.allclose(part, whole, atol=0.02)


def test_one_outcome_alone_is_not_looked_at(judge: Judge, monkeypatch):
    shown: list[int] = []
    values = judge.values
    monkeypatch.setattr(judge, "values", lambda packed: (shown.append(len(packed)), values(packed))[1])
    least = Reconsidering(sources=("games",), steps=1, moves=80, least=0.99)
    row, log_p = leaning(judge, MATE_IN_ONE, least)
    assert sum(shown) == 0
    assert np.allclose(row, (log_p - log_p.max())[: len(row)], atol=0.05)
    # Beside a teacher's move it says how good that is.
    leaning(judge, MATE_IN_ONE, least, int(log_p[: len(row)].argmin()), 0.4)
    assert sum(shown) == 1


def test_what_a_second_look_tells_is_the_divergence_from_the_first(judge: Judge):
    packed = _core.random_positions(20, 8)
    keen = Reconsidering(sources=("games",), moves=80, least=0.0, temperature=1e-4)
    look = leanings(judge, table(packed, [-1] * 20, [np.nan] * 20), keen)
    log_p = torch.from_numpy(judge.policy(packed, legal_rows(packed, 1)))
    chances = look.leaning.double().softmax(1)
    terms = chances * (chances.log() - log_p.double())
    wanted = torch.where(log_p.isfinite() & (chances > 1e-12), terms, 0).sum(1)
    assert wanted.max() > 0.01
    assert torch.allclose(look.told.double(), wanted, atol=5e-3)


def test_positions_stay_in_proportion_to_what_they_tell():
    told = torch.tensor([0.0, 0.01, 0.05, 0.1, 3.0]).repeat(20_000)
    thinning = Reconsidering(sources=("games",), news=0.1, least_stay=0.2)
    rows = staying(told, thinning, seed=1)
    share = torch.bincount(rows % 5, minlength=5) / 20_000
    assert torch.allclose(share, torch.tensor([0.2, 0.2, 0.5, 1.0, 1.0]), atol=0.02)
    assert torch.equal(rows, staying(told, thinning, seed=1))
    assert not torch.equal(rows, staying(told, thinning, seed=2))
    assert len(staying(told, ALL, seed=1)) == len(told)


def test_a_policy_that_leans_the_same_way_loses_nothing():
    logits = torch.full((1, 4672), 30.0)
    logits[0, :3] = torch.tensor([0.0, 2.0, 1.0])
    part = Table(
        "games",
        torch.zeros(1, 32, dtype=torch.uint8),
        legal=torch.tensor([[0, 1, 2, -1]], dtype=torch.int16),
        target=torch.tensor([0], dtype=torch.int16),
        leaning=torch.tensor([[-2.0, 0.0, -1.0, -60.0]], dtype=torch.float16),
    )
    found = losses((logits, logits, torch.zeros(1, 3), torch.zeros(1, 8)), [part], LossWeights())
    assert float(found["games_policy"]) == pytest.approx(0, abs=1e-5)
    assert float(found["games_policy_top1"]) == 1
    logits[0, :3] = torch.tensor([2.0, 0.0, 1.0])
    found = losses((logits, logits, torch.zeros(1, 3), torch.zeros(1, 8)), [part], LossWeights())
    assert float(found["games_policy"]) > 0.5


CONFIG = """
mind = "resnet"
steps = 9
seed = 4
checkpoint_steps = 2
batch = 16
warmup_steps = 2
device = "cpu"
bf16 = false
compile = false
report_steps = 1
{settings}
[shape]
blocks = 1
{shape}
squeeze = 4
value_channels = 4
value_hidden = 16
value_bins = 16
[reconsider]
sources = ["{named}"]
steps = {every}
{by}
[[sources]]
kind = "games"
name = "choices"
path = "{folder}"
share = 1.0
"""


def choices(folder: Path) -> Path:
    """Positions with the first legal move as the teacher's, every other with a score."""
    folder.mkdir()
    packed = _core.random_positions(60, 2)
    boards = [_core.Board.from_packed(row.tobytes()) for row in packed]
    records = np.zeros(60, RECORD)
    records["packed"], records["result"] = packed, NO_RESULT
    records["move"] = [_core.uci_to_code(board.legal_moves()[0]) for board in boards]
    records["eval"] = [20 * number if number % 2 else UNLABELLED for number in range(60)]
    records.tofile(folder / "0.train.pos")
    records[:0].tofile(folder / "0.validation.pos")
    named = [{"name": "0", "train": 60, "validation": 0}]
    manifest = {"format": FORMAT, "version": VERSION, "complete": True, "options": {}, "shards": named}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


@pytest.fixture
def config(tmp_path: Path):
    folder = choices(tmp_path / "choices")

    def read(
        settings: str = "", named: str = "choices", by: str = "", every: int = 4, shape: str = "channels = 8"
    ) -> ResNetTraining:
        path = tmp_path / "tiny.toml"
        path.write_text(
            CONFIG.format(settings=settings, named=named, folder=folder, by=by, every=every, shape=shape)
        )
        return load_config(path, ResNetTraining)

    return read


@pytest.mark.parametrize("settings", ["", "look_again_steps = 3"])
def test_a_run_stopped_after_reconsidering_goes_on_with_the_same_judge(config, tmp_path: Path, settings: str):
    whole = Run(config(settings), tmp_path / "whole")
    whole.train()
    for _ in range(20):  # a step or two at a time
        stopped = Run(config(settings), tmp_path / "stopped")
        if stopped.step == 9:
            break
        stopped.train(minutes=0)
    assert whole.step == stopped.step == 9
    for mine, other in zip(whole.network.parameters(), stopped.network.parameters(), strict=True):
        assert torch.equal(mine, other)
    judges = sorted(path.name for path in (tmp_path / "whole").glob("judge-*"))
    assert judges == [
        "judge-00000000.safetensors",
        "judge-00000004.safetensors",
        "judge-00000008.safetensors",
    ]


def test_a_stopped_run_goes_on_with_the_positions_that_stayed(config, tmp_path: Path):
    thinned = config(every=0, by="news = 1e6\nleast_stay = 0.5")
    whole = Run(thinned, tmp_path / "whole")
    whole.train()
    for _ in range(20):
        stopped = Run(thinned, tmp_path / "stopped")
        if stopped.step == 9:
            break
        stopped.train(minutes=0)
    for mine, other in zip(whole.network.parameters(), stopped.network.parameters(), strict=True):
        assert torch.equal(mine, other)
    table = whole._reconsidered(thinned.sources[0], whole.load(thinned.sources[0], "train"))
    assert table.leaning is not None
    assert 10 < len(table) == len(table.leaning) < 50
    told = [json.loads(line) for line in (tmp_path / "whole" / "log.jsonl").read_text().splitlines()]
    sentence = rf"60 positions of choices reconsidered in \d+ s, {len(table)} stay"
    assert sum(bool(re.fullmatch(sentence, row.get("note", ""))) for row in told) == 1


def test_another_network_may_do_it_first_or_always(config, tmp_path: Path):
    Run(config(), tmp_path / "first").train()
    by = f'by = "{tmp_path / "first"}"'
    pupil = Run(config(by=by, shape="channels = 12"), tmp_path / "pupil")
    pupil.train()
    assert pupil.judge is not None
    assert pupil.judge.network.shape.channels == 12
    kept = sorted(path.name for path in (tmp_path / "pupil").glob("judge-*"))
    assert kept == ["judge-00000004.safetensors", "judge-00000008.safetensors"]
    always = Run(config(by=by, every=0, shape="channels = 12"), tmp_path / "always")
    always.train()
    assert always.judge is not None
    assert always.judge.network.shape.channels == 8
    assert not list((tmp_path / "always").glob("judge-*"))


def test_the_policy_comes_nearer_to_what_was_reconsidered(config, tmp_path: Path):
    run = Run(config(), tmp_path / "run")
    run.train()
    lines = map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
    policy = [line["choices_policy"] for line in lines if "choices_policy" in line]
    assert policy[3] < policy[0]


def test_speed_feeds_what_is_as_large_as_reconsidered_moves_and_asks_no_judge(
    config, tmp_path: Path, monkeypatch
):
    run = Run(config(), tmp_path / "run")
    fed: list[Table] = []
    step = run.one_step
    monkeypatch.setattr(run, "one_step", lambda parts: fed.extend(parts) or step(parts))
    found = measure(run, rounds=1)
    assert found["share"] > 0
    assert any("conv" in name for name in found["operators"]["ms"])
    assert list(found["parts_ms"]) == ["rows", "forward", "backward", "whole"]
    assert min(found["parts_ms"].values()) > 0
    assert {part.leaning.shape == part.legal.shape for part in fed} == {True}
    assert run.judge is None


def test_a_source_that_is_not_there_is_refused_by_name(config):
    with pytest.raises(UserError, match="'lines', which is no source of games"):
        config(named="lines")


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"moves": 0},
        {"temperature": 0.0},
        {"least": 1.0},
        {"news": -1.0},
        {"least_stay": 0.0},
        {"news": 0.1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(UserError, match="to reconsider"):
        Reconsidering(**{"sources": ("games",), "steps": 1, **wrong})
