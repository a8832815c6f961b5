"""The network as judge, as its own teacher, and as its own opponent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.data.labels import load_move_labels, write_move_labels  # noqa: E402
from tabiya.data.scale import MOVE_MATE  # noqa: E402
from tabiya.data.worth import worth  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.learn.checkpoint import save_checkpoint  # noqa: E402
from tabiya.learn.planes import planes_of  # noqa: E402
from tabiya.minds.resnet import valuing  # noqa: E402
from tabiya.minds.resnet.endings import random_endings  # noqa: E402
from tabiya.minds.resnet.judge import Judge  # noqa: E402
from tabiya.minds.resnet.loss import expected_value  # noqa: E402
from tabiya.minds.resnet.network import ResNet, ResNetShape  # noqa: E402
from tabiya.minds.resnet.selfplay import SelfPlaySettings, level_positions, mistakes, self_play  # noqa: E402
from tabiya.minds.resnet.valuing import value_moves  # noqa: E402

MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
STALEMATE_IN_ONE = "7k/8/8/6Q1/8/8/8/K7 w - - 0 1"


@pytest.fixture
def judge() -> Judge:
    torch.manual_seed(3)
    return Judge(ResNet(ResNetShape(blocks=1, channels=8, squeeze=4)), torch.device("cpu"))


def test_a_judge_answers_as_the_network_does(judge: Judge):
    packed = _core.random_positions(600, 5)  # more than one batch
    with torch.no_grad():
        policy, _, _, bins = judge.network(planes_of(torch.from_numpy(packed), 21))
    assert np.allclose(judge.values(packed), expected_value(bins).numpy(), atol=1e-5)
    legal = _core.legal_rows(packed, "planes", "mover", 128)
    log_p = judge.policy(packed, legal)
    assert np.allclose(np.exp(log_p).sum(1), 1.0, atol=1e-5)
    row = 17
    own = legal[row][legal[row] >= 0].astype(int)
    assert np.allclose(log_p[row, : len(own)], policy[row, own].log_softmax(0).numpy(), atol=1e-4)


def test_a_move_is_worth_what_its_successor_is_not_worth_to_the_other_side(judge: Judge, monkeypatch):
    monkeypatch.setattr(valuing, "CHUNK", 16)  # so that several chunks are joined
    packed = _core.random_positions(50, 8)
    kept, offsets, scores = value_moves(judge, packed)
    wanted, after, _ = _core.successors(packed)
    assert np.array_equal(kept, packed)
    assert np.array_equal(offsets, wanted)
    going_on = _core.states(after) == 0
    assert np.allclose(worth(scores[going_on]), 1 - judge.values(after)[going_on], atol=2e-3)


def test_a_successor_may_be_judged_by_all_that_the_network_says_of_it(judge: Judge):
    packed = _core.random_positions(30, 8)
    _, after, _ = _core.successors(packed)
    after = after[_core.states(after) == 0]
    with torch.no_grad():
        _, q, wdl, bins = judge.network(planes_of(torch.from_numpy(after), 21))
    legal = _core.legal_mask(after, "planes", "mover")
    reply = np.where(legal, q.sigmoid().numpy(), 0.0).max(1)
    chances = wdl.softmax(1).numpy() @ np.array([1.0, 0.5, 0.0])
    wanted = 0.4 * expected_value(bins).numpy() + 0.4 * reply + 0.2 * chances
    _, _, scores = value_moves(judge, packed, considered=True)
    going_on = _core.states(_core.successors(packed)[1]) == 0
    assert np.allclose(worth(scores[going_on]), 1 - wanted, atol=2e-3)


def test_moves_too_unlikely_to_be_looked_at_stand_below_the_others(judge: Judge):
    packed = _core.random_positions(40, 8)
    _, offsets, full = value_moves(judge, packed)
    _, _, some = value_moves(judge, packed, least=0.2)  # nearly none is as likely, so the likeliest few
    legal = _core.legal_rows(packed, "planes", "mover", 128)
    likely = judge.policy(packed, legal)
    for row in range(len(packed)):
        own = slice(offsets[row], offsets[row + 1])
        best = np.argsort(-likely[row, : offsets[row + 1] - offsets[row]])[: valuing.ALWAYS]
        assert np.array_equal(some[own][best], full[own][best])
        rest = np.setdiff1d(np.arange(offsets[row + 1] - offsets[row]), best)
        ended = np.abs(full[own][rest]) > 20_000
        assert (some[own][rest][~ended] <= some[own][best].min()).all()


def test_where_a_move_ends_the_game_the_rules_speak(judge: Judge):
    packed = _core.pack_fens([MATE_IN_ONE, STALEMATE_IN_ONE])
    _, offsets, scores = value_moves(judge, packed)
    moves = [_core.Board(fen).legal_moves() for fen in (MATE_IN_ONE, STALEMATE_IN_ONE)]
    assert scores[moves[0].index("e1e8")] == MOVE_MATE - 1
    assert scores[offsets[1] + moves[1].index("g5g6")] == 0


def test_labels_by_the_network_are_a_file_like_any_other(judge: Judge, tmp_path: Path):
    packed = _core.random_positions(20, 8)
    labels = value_moves(judge, packed)
    write_move_labels(tmp_path / "own.moves", labels)
    count = labels[1][-1]
    loaded = load_move_labels(tmp_path / "own.moves")
    assert np.array_equal(loaded[0], packed)
    assert loaded[1][-1] == count == len(loaded[2])


def test_games_are_legal_finished_and_the_same_for_the_same_seed(judge: Judge):
    settings = SelfPlaySettings(games=6, plies=40, seed=2)
    openings = ["rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1", MATE_IN_ONE]
    played = self_play(judge, openings, settings)
    again = self_play(judge, openings, settings)
    assert played.moves == again.moves
    assert len(played.moves) == len(played.results) == 6
    assert len(played.packed) == sum(map(len, played.moves))
    for number, moves in enumerate(played.moves):
        start = played.packed[played.game == number][0]
        board = _core.Board.from_packed(start.tobytes())
        for move in moves:
            board.push(move)  # raises where it is illegal
        assert played.results[number][0] in ("1-0", "0-1", "1/2-1/2")
        assert len(moves) <= 40


def test_a_position_is_not_brought_back_where_another_move_is_at_hand(judge: Judge):
    settings = SelfPlaySettings(games=1, plies=30, temperature=0)
    played = self_play(judge, [_core.Board().fen()], settings)
    assert not played.packed[:, 27].any()


def test_a_mistake_is_a_move_that_loses_the_margin(judge: Judge):
    settings = SelfPlaySettings(games=2, plies=6)
    played = self_play(judge, [_core.Board().fen()], settings)
    offsets, _, _ = _core.successors(played.packed)
    scores = np.zeros(offsets[-1], np.int16)
    scores[offsets[3]] = 300  # one better move in position 3 …
    scores[offsets[5] + played.likeliest[5]] = 300  # … and the policy's own in position 5
    expected = [] if played.likeliest[3] == 0 else [3]
    assert mistakes(played, (played.packed, offsets, scores), 0.1).tolist() == expected
    assert len(mistakes(played, (played.packed, offsets, scores), 0.9)) == 0


def test_self_play_without_an_opening_is_refused(judge: Judge):
    with pytest.raises(UserError, match="at least one opening"):
        self_play(judge, [], SelfPlaySettings())


def test_games_may_begin_with_few_men(judge: Judge):
    played = self_play(
        judge, [_core.Board().fen()], SelfPlaySettings(games=8, plies=1, endings=0.5, warm_plies=0)
    )
    men = [sum(each.isalpha() for each in fen.split()[0]) for fen in _core.unpack_fens(played.packed)]
    assert sum(count <= 7 for count in men) == 4
    assert men.count(32) == 4


def test_random_endings_are_legal_and_repeat_by_their_seed():
    fens = random_endings(200, 3)
    assert fens == random_endings(200, 3) != random_endings(200, 4)
    for fen in fens:
        board = _core.Board(fen)
        assert board.outcome() is None
        assert len(board.legal_moves()) > 0
    assert {fen.split()[1] for fen in fens} == {"w", "b"}


def test_level_positions_are_all_kept_and_of_the_others_a_share(judge: Judge):
    packed = _core.random_positions(400, 11)
    worth = judge.values(packed)
    level = float(np.quantile(np.minimum(worth, 1 - worth), 0.5))  # half of them are level by this
    kept = level_positions(judge, packed, level, 0.25, 1)
    open_yet = np.flatnonzero((worth > level) & (worth < 1 - level))
    assert 0 < len(open_yet) < len(packed)
    assert np.isin(open_yet, kept).all()
    assert len(kept) == len(open_yet) + round(0.25 * (len(packed) - len(open_yet)))
    assert np.array_equal(kept, level_positions(judge, packed, level, 0.25, 1))


def test_the_command_lists_positions_of_its_own_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    network = ResNet(ResNetShape(blocks=1, channels=8, squeeze=4))
    tensors = {f"model.{name}": value for name, value in network.state_dict().items()}
    shape = {"blocks": 1, "channels": 8, "squeeze": 4}
    save_checkpoint(tmp_path / "step-00000001.safetensors", tensors, {"step": 1, "config": {"shape": shape}})
    (tmp_path / "book.fen").write_text(f"{MATE_IN_ONE}\n{START}\n")
    words = [tmp_path / "step-00000001.safetensors", "--openings", tmp_path / "book.fen", "--games", "4"]
    options = ["--plies", "6", "--device", "cpu", "--level", "0", "--out", tmp_path / "own.fen", "--json"]
    options += ["--mistakes", tmp_path / "wrong.fen", "--margin", "0.0"]
    assert main(["data", "selfplay", *map(str, words), *map(str, options)]) == 0
    counts = json.loads(capsys.readouterr().out)
    fens = (tmp_path / "own.fen").read_text().splitlines()
    assert counts["kept"] == counts["different"] == len(fens) == len(set(fens))
    wrong = (tmp_path / "wrong.fen").read_text().splitlines()
    assert counts["mistakes"] == len(wrong) > 0
    assert set(wrong) <= set(fens)
    assert counts["games"] == 4
    assert 4 < counts["positions"] <= 24
    assert all(_core.Board(fen).legal_moves() for fen in fens)
