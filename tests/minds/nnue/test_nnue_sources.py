"""What is learned from: whose view, which positions are left out, and triplets that are what they claim."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya.data.labels import held_out, load_move_labels  # noqa: E402
from tabiya.data.scale import win_probability  # noqa: E402
from tabiya.data.shards import ShardFolder  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.minds.nnue.data import Features, ResidentFeed, StreamedFeed, feed_of, parts_of  # noqa: E402
from tabiya.minds.nnue.loss import NnueLoss  # noqa: E402
from tabiya.minds.nnue.sources import NnueSource, NothingThereError, read  # noqa: E402

Judge = Callable[[np.ndarray], np.ndarray]
EVALUATIONS = NnueLoss()
CPU = torch.device("cpu")


def games(folder: Path, **settings) -> NnueSource:
    return NnueSource(kind="games", path=str(folder), **settings)


def test_games_are_seen_by_the_side_to_move(games_folder: Path, wood_for_mover: Judge):
    samples = read(games(games_folder), "train", EVALUATIONS, 2)
    assert len(samples) == 480  # every fifth has no evaluation
    for_mover = wood_for_mover(samples.packed[:, 0])
    assert np.allclose(samples.value, win_probability(for_mover), atol=1e-6)
    assert np.array_equal(samples.result, 1 + np.sign(for_mover))


def test_where_results_count_positions_without_an_evaluation_count_too(games_folder: Path):
    samples = read(games(games_folder), "train", NnueLoss(result=0.3), 2)
    assert len(samples) == 600
    assert np.isnan(samples.value).sum() == 120


def test_early_positions_can_be_left_out(games_folder: Path):
    assert len(read(games(games_folder, from_ply=20), "train", NnueLoss(result=1.0), 2)) == 400


def test_successors_are_worth_what_their_moves_are(labels_file: Path, wood_for_mover: Judge):
    source = NnueSource(kind="successors", path=str(labels_file))
    samples = read(source, "train", EVALUATIONS, 2)
    assert np.allclose(samples.value, win_probability(wood_for_mover(samples.packed[:, 0])), atol=1e-6)
    assert np.all(_core.states(samples.packed[:, 0]) == 0)


def test_a_labelled_position_is_worth_its_best_move(labels_file: Path):
    packed, offsets, scores = load_move_labels(labels_file)
    kept = np.flatnonzero(~held_out(packed))
    samples = read(NnueSource(kind="labels", path=str(labels_file)), "train", EVALUATIONS, 2)
    best = [int(scores[offsets[i] : offsets[i + 1]].max()) for i in kept]
    assert np.array_equal(samples.packed[:, 0], packed[kept])
    assert np.allclose(samples.value, win_probability(np.array(best)), atol=1e-6)


@pytest.mark.parametrize("kind", ["games", "labels", "successors"])
def test_the_quiet_filter_leaves_no_check_behind(kind: str, labels_file: Path, games_folder: Path):
    path = str(games_folder if kind == "games" else labels_file)
    everything = read(NnueSource(kind=kind, path=path), "train", EVALUATIONS, 2)
    quiet = read(NnueSource(kind=kind, path=path, quiet=True), "train", EVALUATIONS, 2)
    assert 0 < len(quiet) < len(everything)
    boards = [_core.Board.from_packed(row.tobytes()) for row in quiet.packed[:200, 0]]
    assert not any(board.is_check for board in boards)


def test_in_quiet_labels_the_best_move_takes_nothing(labels_file: Path, wood_for_mover: Judge):
    quiet = read(NnueSource(kind="labels", path=str(labels_file), quiet=True), "train", EVALUATIONS, 2)
    for row, value in zip(quiet.packed[:, 0], quiet.value, strict=True):
        # By wood alone the best move is quiet exactly where nothing can be won.
        assert value == pytest.approx(win_probability(float(wood_for_mover(row[None])[0])), abs=1e-5)


def test_triplets_are_a_position_the_move_played_and_another(games_folder: Path):
    samples = read(games(games_folder), "train", NnueLoss(method="pqr"), 2)
    _, records = next(ShardFolder.open(games_folder).shards("train"))
    played = {record["packed"].tobytes(): _core.code_to_uci(int(record["move"])) for record in records}
    assert samples.packed.shape[1:] == (3, 32)
    for p, q, r in samples.packed[:100]:
        board = _core.Board.from_packed(p.tobytes())
        board.push(played[p.tobytes()])
        key = _core.position_keys(q[None])[0]
        assert board.key() == key != _core.position_keys(r[None])[0]
        board.pop()
        others = [move for move in board.legal_moves() if move != played[p.tobytes()]]
        keys = set()
        for move in others:
            board.push(move)
            keys.add(board.key())
            board.pop()
        assert _core.position_keys(r[None])[0] in keys


def test_triplets_of_labels_are_played_by_the_best_move(labels_file: Path, wood_for_mover: Judge):
    samples = read(NnueSource(kind="labels", path=str(labels_file)), "train", NnueLoss(method="triplet"), 2)
    after = win_probability(-wood_for_mover(np.ascontiguousarray(samples.packed[:, 1])).astype(float))
    assert np.allclose(after, samples.value, atol=1e-6)


def test_successors_cannot_teach_moves(labels_file: Path):
    with pytest.raises(UserError, match="pqr learns from moves"):
        read(NnueSource(kind="successors", path=str(labels_file)), "train", NnueLoss(method="pqr"), 2)


def test_a_source_with_nothing_in_it_says_so(games_folder: Path):
    with pytest.raises(NothingThereError, match="holds no positions to learn from in its train split"):
        read(games(games_folder, from_ply=1000), "train", EVALUATIONS, 2)


def test_a_fraction_is_the_same_every_time(games_folder: Path):
    half = [read(games(games_folder, fraction=0.5), "train", EVALUATIONS, 2) for _ in range(2)]
    assert 150 < len(half[0]) < 330
    assert np.array_equal(half[0].packed, half[1].packed)


@pytest.mark.parametrize("expression", ["ALL", "ALL+ATTACK-BITS", "KING-ALL+KING-MIRRORED"])
def test_both_feeds_give_rows_of_the_samples(expression: str, games_folder: Path):
    samples = read(games(games_folder), "train", EVALUATIONS, 2)
    features = Features(_core.FeatureSet(expression), [samples], 2)
    by_value = {}
    for packed, value in zip(samples.packed[:, 0], samples.value, strict=True):
        active = tuple(features.features.active(packed.tobytes()))
        by_value.setdefault(active, set()).add(float(value))
    for keep in ("resident", "streamed"):
        feed = feed_of([samples], features, [32], 7, CPU, keep)
        batch = feed.take(feed.draw(3))
        numbers = batch.rows.int() & 0xFFFF if batch.rows.dtype == torch.int16 else batch.rows
        for row, value in zip(numbers[:, 0, 0], batch.value, strict=True):
            assert float(value) in by_value[tuple(sorted(row[row < features.features.size].tolist()))]
        feed.close()


@pytest.mark.parametrize("keep", ["resident", "streamed"])
def test_what_a_step_sees_depends_on_the_step_alone(keep: str, games_folder: Path):
    samples = read(games(games_folder), "train", EVALUATIONS, 2)
    features = Features(_core.FeatureSet("ALL"), [samples], 2)
    first, second = (feed_of([samples], features, [16], 7, CPU, keep) for _ in range(2))
    assert isinstance(first, ResidentFeed if keep == "resident" else StreamedFeed)
    for step in range(5):
        first.take(first.draw(step))
    ours, theirs = first.take(first.draw(5)), second.take(second.draw(5))
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    first.close(), second.close()


def test_a_batch_is_divided_by_shares():
    assert parts_of(10, [3.0, 1.0]) == [8, 2]
    with pytest.raises(UserError, match="a batch of 2 is too small for 3 sources"):
        parts_of(2, [1.0, 1.0, 1.0])
