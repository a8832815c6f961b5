"""Patterns: maps in bulk equal to the lens's own, an embedding that numpy computes too, clusters."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya._core import Board  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.errors import UserError  # noqa: E402
from tabiya.lens.attention import pair_map  # noqa: E402
from tabiya.lens.gallery import build, maps_of, nearest_examples  # noqa: E402
from tabiya.lens.interface import look_into  # noqa: E402
from tabiya.lens.occlusion import occlude  # noqa: E402
from tabiya.lens.patterns import Maps, embed, in_common, k_means, traits  # noqa: E402
from tabiya.minds.transformer.lens_maps import Mapper, speed  # noqa: E402
from tabiya.minds.transformer.lens_patterns import (  # noqa: E402
    PatternNetwork,
    PatternTraining,
    train,
    version,
    weights_of,
)
from tabiya.minds.transformer.network import Transformer  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape  # noqa: E402

SMALL = {"layers": 2, "width": 16, "heads": 2, "mlp_ratio": 1.0, "value_hidden": 8}
VARIANTS = {
    "flipped": {},
    "unflipped": {"flipped": False},
    "separate": {"flipped": False, "pieces": "separate", "refinement": False, "policy": "fromto"},
}
BLACK = "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
CPU = torch.device("cpu")


def network(variant: str = "flipped") -> Transformer:
    """The one that the fixtures export."""
    torch.manual_seed(3)
    made = Transformer(TransformerShape(**(SMALL | VARIANTS[variant]))).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return made


def some_maps(count: int, seed: int = 1) -> Maps:
    chance = np.random.default_rng(seed)
    packed = _core.random_positions(count, seed)
    moves = [_core.uci_to_code(Board.from_packed(each.tobytes()).legal_moves()[0]) for each in packed]
    return Maps(
        packed,
        np.array(moves, np.uint16),
        chance.random((count, 64), np.float32),
        chance.random((count, 64, 64)).astype(np.float16),
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_maps_in_bulk_are_those_of_the_lens(transformer, variant):
    board = Board(BLACK)
    subject = look_into(transformer(variant), board)
    occlusion, pairs = occlude(subject), pair_map(subject)
    own = maps_of(board, occlusion, pairs)
    bulk = Mapper(network(variant), CPU).measure(own.packed[0])
    assert np.allclose(bulk.squares, own.squares[0], atol=1e-4)
    assert np.allclose(bulk.pairs, own.pairs[0], atol=1e-3)
    assert board.legal_moves()[bulk.chosen] == occlusion.chosen


def test_a_map_with_holes_has_no_cluster(transformer):
    board = Board(BLACK)
    subject = look_into(transformer(), board)
    with pytest.raises(UserError, match="--pairs all"):
        maps_of(board, occlude(subject), pair_map(subject, [("a1", "b2")]))


def test_numpy_embeds_as_torch_does():
    torch.manual_seed(0)
    made, maps = PatternNetwork(8).eval(), some_maps(5)
    from tabiya.lens.patterns import inputs

    with torch.no_grad():
        theirs = made(*(torch.from_numpy(np.ascontiguousarray(each)) for each in inputs(maps)))
    ours = embed(weights_of(made), maps)
    assert np.allclose(ours, theirs.numpy(), atol=1e-5)
    assert np.allclose(np.linalg.norm(ours, axis=1), 1)


def test_training_finds_the_two_versions_of_a_position():
    config = PatternTraining(steps=40, batch=32, width=16)
    weights, figures = train(some_maps(64), config, CPU)
    assert figures["found"] > 0.3
    again, _ = train(some_maps(64), config, CPU)
    assert all(np.array_equal(weights[name], again[name]) for name in weights)


def test_a_version_keeps_the_kings_and_mirrors_everything_together():
    maps = some_maps(8)
    from tabiya.lens.patterns import inputs

    given = [torch.from_numpy(np.ascontiguousarray(each)) for each in inputs(maps)]
    quiet = PatternTraining(missing=0.0, shaken=0.0, thinned=0.0)
    pieces, squares, pairs = version(*given, quiet, torch.Generator().manual_seed(1))
    mirrored = 0
    for at in range(8):
        same = torch.equal(pieces[at], given[0][at])
        mirrored += not same
        files = slice(None) if same else torch.arange(7, -1, -1)
        other = torch.arange(64) if same else torch.arange(64) ^ 7
        assert torch.equal(squares[at], given[1][at][..., files])
        assert torch.equal(pairs[at].view(64, 64), given[2][at].view(64, 64)[other][:, other])
    assert 0 < mirrored < 8
    bare = PatternTraining(missing=1.0, shaken=0.0, thinned=0.0)
    pieces, _, _ = version(*given, bare, torch.Generator().manual_seed(1))
    assert torch.equal(pieces[:, [5, 11]].sum((1, 2, 3)), torch.full((8,), 2.0))


def test_k_means_finds_heaps_that_are_there():
    chance = np.random.default_rng(0)
    heaps = np.array([[0, 0], [9, 0], [0, 9]], np.float32)
    points = np.repeat(heaps, 20, 0) + chance.normal(0, 0.3, (60, 2)).astype(np.float32)
    centres, nearest = k_means(points, 3, seed=1)
    assert centres.shape == (3, 2)
    for heap in range(3):
        assert len(set(nearest[20 * heap : 20 * heap + 20].tolist())) == 1
    assert len(set(nearest.tolist())) == 3
    with pytest.raises(UserError, match="61 clusters"):
        k_means(points, 61)


def test_equal_points_are_no_trouble():
    _, nearest = k_means(np.ones((5, 3), np.float32), 2)
    assert len(nearest) == 5


def test_what_a_cluster_has_in_common_is_what_it_has_more_of():
    own, every = [{"a check", "x"}] * 4, [{"a check", "x"}] * 4 + [{"x"}] * 12
    assert in_common(own, every) == [{"trait": "a check", "share": 1.0, "over_all": 0.25}]


def test_traits_are_plain_facts_of_the_move():
    mate = Board("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1")
    maps = some_maps(1)
    one = Maps(
        np.frombuffer(mate.packed(), np.uint8).reshape(1, 32),
        np.array([_core.uci_to_code("d1d8")], np.uint16),
        maps.squares,
        maps.pairs,
    )
    assert traits(one) == [{"the rook moves", "no capture", "a check", "a mate", "few pieces"}]


def test_a_gallery_is_written_and_a_position_finds_its_cluster(tmp_path):
    maps = some_maps(30)
    torch.manual_seed(0)
    weights = weights_of(PatternNetwork(8))
    clusters = build(weights, maps, 3, 0, tmp_path)
    assert sum(each["positions"] for each in clusters) == 30
    assert json.loads((tmp_path / "gallery.json").read_text())["clusters"] == clusters
    page = (tmp_path / "gallery.html").read_text()
    assert page.count("<h2>") == 3
    assert page.count("<svg") == sum(len(each["examples"]) for each in clusters)
    first = clusters[0]["examples"][0]["fen"]
    at = next(n for n in range(30) if Board.from_packed(maps.packed[n].tobytes()).fen() == first)
    row = Maps(*(getattr(maps, name)[at : at + 1] for name in ("packed", "moves", "squares", "pairs")))
    found = nearest_examples(tmp_path, row)
    assert (found[0]["fen"], found[0]["cluster"]) == (first, 1)
    with pytest.raises(UserError, match="no gallery"):
        nearest_examples(tmp_path / "nowhere", row)
    (tmp_path / "patterns.npz").write_bytes(b"not this")
    with pytest.raises(UserError, match="damaged"):
        nearest_examples(tmp_path, row)


def test_the_lab_collects_once_and_explains_with_its_gallery(tmp_path, capsys, network_files, save_run):
    save_run(tmp_path / "tiny", network())
    fens = _core.unpack_fens(_core.random_positions(4, 3, 30))
    (tmp_path / "some.fen").write_text("\n".join([*fens, fens[0], "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]) + "\n")
    words = ["lab", "patterns", str(tmp_path / "tiny"), "--positions", str(tmp_path / "some.fen")]
    words += ["--out", str(tmp_path / "out"), "--clusters", "2", "--steps", "3", "--device", "cpu", "--json"]
    assert main(words) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["positions"] == 4
    assert len(outcome["clusters"]) == 2
    (file,) = (tmp_path / "out" / "maps").iterdir()
    stamp = file.stat().st_mtime_ns
    assert main(words) == 0
    assert file.stat().st_mtime_ns == stamp
    capsys.readouterr()
    mind = f"transformer:{network_files['flipped']}?threads=1"
    assert main(["explain", mind, fens[0], "--patterns", str(tmp_path / "out"), "--json"]) == 0
    nearest = json.loads(capsys.readouterr().out)["nearest"]
    assert {"cluster", "fen", "move", "what"} == set(nearest[0])


def test_speed_is_measured_for_both_kinds_of_map():
    figures = speed(network(), CPU)
    assert figures["pairs"] >= figures["occlusion"] >= 0
