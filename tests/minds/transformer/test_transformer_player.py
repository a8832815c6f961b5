"""The ONNX file and its player: equal to torch, one pass or two, masks that leave no trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tabiya import _core  # noqa: E402
from tabiya.learn.sidecar import read_sidecar  # noqa: E402
from tabiya.minds.transformer.export import export_network, output_names  # noqa: E402
from tabiya.minds.transformer.int8 import quantise  # noqa: E402
from tabiya.minds.transformer.network import Transformer  # noqa: E402
from tabiya.minds.transformer.onnx_network import OnnxTransformer  # noqa: E402
from tabiya.minds.transformer.player import TransformerPlayer, open_player  # noqa: E402
from tabiya.minds.transformer.settings import Settings  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape, Wire  # noqa: E402
from tabiya.minds.transformer.tokens import tokens_of  # noqa: E402
from tabiya.player import Limit, PlayerError, PlayerFailure, PlayerName  # noqa: E402
from tabiya.searchless.comparison import agreement  # noqa: E402

SMALL = {"layers": 1, "width": 16, "heads": 2, "mlp_ratio": 1.0, "value_hidden": 8}
VARIANTS = {
    "main": {"layers": 2, "policy": "fromto", "value": "squares"},
    "unflipped": {"flipped": False, "pieces": "separate", "bias": "dynamic"},
    "bare": {"rights_head": False, "refinement": False, "bias": "none"},
    "feedback": {"refined_from": "cls", "pieces": "added", "feedback": (Wire(from_block=1, to_block=1),)},
}
PACKED = _core.random_positions(6, 8)


def network(**more) -> Transformer:
    torch.manual_seed(1)
    made = Transformer(TransformerShape(**(SMALL | more))).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """Every variant as a file, each compared with torch when it was written."""
    folder = tmp_path_factory.mktemp("networks")
    for name, more in VARIANTS.items():
        export_network(network(**more), folder / f"{name}.onnx", half=False, positions=4)
    return {name: folder / f"{name}.onnx" for name in VARIANTS}


@pytest.mark.parametrize("variant", VARIANTS)
def test_onnx_answers_as_torch_does(files: dict[str, Path], variant: str):
    opened, made = OnnxTransformer(files[variant]), network(**VARIANTS[variant])
    heads = output_names(made.shape)
    assert opened.shape == made.shape
    assert opened.heads == heads
    found = opened.evaluate(PACKED, heads)
    with torch.no_grad():
        outputs = made(tokens_of(torch.from_numpy(PACKED), made.shape.flipped))._asdict()
    for head in heads:
        assert np.allclose(found[head], outputs[head].numpy(), atol=1e-3), head


def test_the_manifest_says_what_the_file_is(files: dict[str, Path]):
    manifest = read_sidecar(files["main"])
    assert manifest["kind"] == "transformer"
    assert manifest["measured"]["difference_from_torch"]["policy"] < 1e-3
    assert manifest["parameters"] == sum(p.numel() for p in network(**VARIANTS["main"]).parameters())


def test_half_the_bytes_and_nearly_the_same_answers(tmp_path: Path, files: dict[str, Path]):
    export_network(network(**VARIANTS["main"]), tmp_path / "half.onnx", half=True, positions=2)
    assert (tmp_path / "half.onnx").stat().st_size < 0.8 * files["main"].stat().st_size


def test_many_masks_of_one_position_are_one_call_and_leave_no_trace(files: dict[str, Path]):
    opened = OnnxTransformer(files["main"])
    plain = opened.evaluate(PACKED[:1], ["policy"])["policy"]
    rows = 1 - np.eye(85, dtype=np.float32)
    blanked = opened.evaluate(PACKED[:1], ["policy"], {"rows": rows})["policy"]
    assert blanked.shape == (85, 1968)
    one = opened.evaluate(PACKED[:1], ["policy"], {"rows": rows[29:30]})["policy"]
    assert np.allclose(blanked[29], one[0], atol=1e-5)
    assert np.abs(blanked - plain).max(1).min() > 0
    attention = np.ones((300, 85, 85), np.float32)
    attention[np.arange(300), 5, np.arange(300) % 85] = 0
    heads = np.ones((2, 2), np.float32)
    cut = opened.evaluate(PACKED[:1], ["policy"], {"attention": attention, "heads": heads})["policy"]
    assert cut.shape == (300, 1968)  # more than one batch
    assert np.allclose(cut[3], cut[88], atol=1e-6)
    assert np.array_equal(opened.evaluate(PACKED[:1], ["policy"])["policy"], plain)


def test_eight_bits_are_smaller_and_nearly_as_true(tmp_path: Path):
    made = network(layers=2, width=64, heads=2, mlp_ratio=4.0)
    export_network(made, tmp_path / "float.onnx", half=True, positions=2)
    found = quantise(tmp_path / "float.onnx", tmp_path / "int8.onnx", PACKED)
    assert [each["kept_float"] for each in found["tried"]] == ["nothing", "heads"]
    assert (tmp_path / "int8.onnx").stat().st_size < (tmp_path / "float.onnx").stat().st_size
    assert OnnxTransformer(tmp_path / "int8.onnx").shape == made.shape
    wide, small = (
        TransformerPlayer(OnnxTransformer(tmp_path / f"{name}.onnx")) for name in ("float", "int8")
    )
    figures = agreement(wide, small, PACKED)
    assert figures["positions"] == len(PACKED)
    assert 0 < figures["policy_divergence"] < 0.5
    same = agreement(wide, wide, PACKED)
    assert (same["same_policy_move"], same["policy_divergence"]) == (1.0, 0.0)


def counting(player: TransformerPlayer) -> list[int]:
    """How many positions each run of the network was shown, as they come."""
    seen: list[int] = []
    session = player.network.session

    class Counted:
        def run(self, heads, inputs):
            seen.append(len(inputs["tokens"]))
            return session.run(heads, inputs)

    player.network.session = Counted()
    return seen


@pytest.mark.parametrize("variant", ["main", "unflipped", "feedback"])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_decision_costs_as_many_passes_as_it_says(files: dict[str, Path], variant: str, passes: int):
    player = TransformerPlayer(OnnxTransformer(files[variant]), Settings(passes=passes))
    seen = counting(player)
    board = _core.Board()
    for move in ("e2e4", "e7e5", "g1f3"):
        board.push(move)
    fen = board.fen()
    decision = player.play(board, Limit())
    assert decision.nodes == passes == len(seen) == sum(seen)
    assert board.fen() == fen
    assert board.is_legal(decision.move)
    assert {each.move for each in decision.moves} == set(board.legal_moves())
    assert sum(each.p for each in decision.moves) == pytest.approx(1.0)
    assert sum(decision.wdl) == pytest.approx(1.0)


def test_a_second_pass_reorders_the_first_three_and_no_others(files: dict[str, Path]):
    once, twice = (
        {each.move: each.p for each in player.play(_core.Board(), Limit()).moves}
        for player in (
            TransformerPlayer(OnnxTransformer(files["main"]), Settings(passes=passes)) for passes in (1, 2)
        )
    )
    three = sorted(once, key=once.__getitem__, reverse=True)[:3]
    assert set(sorted(twice, key=twice.__getitem__, reverse=True)[:1]) <= set(three)
    assert sum(twice[move] for move in three) == pytest.approx(sum(once[move] for move in three))
    assert all(twice[move] == pytest.approx(once[move]) for move in once if move not in three)
    assert any(abs(twice[move] - once[move]) > 1e-4 for move in three)


def test_the_slots_of_the_second_pass_know_what_would_be_repeated(files: dict[str, Path]):
    player = TransformerPlayer(OnnxTransformer(files["main"]), Settings(passes=2, repetition="allow"))
    shown: list[dict[str, np.ndarray]] = []
    session = player.network.session

    class Kept:
        def run(self, heads, inputs):
            shown.append(inputs)
            return session.run(heads, inputs)

    player.network.session = Kept()
    board = _core.Board("4k3/8/8/8/8/8/8/K7 w - - 0 1")
    for move in ["a1a2", "e8e7", "a2a1", "e7e8", "a1a2", "e8e7"]:
        board.push(move)
    player.play(board, Limit())
    second = shown[1]
    moves = _core.uci_moves()
    slots = [moves[number - 1] for number in second["tokens"][0, 81:] if number]
    assert len(slots) == 3
    assert second["again"][0].tolist() == [board.repetitions_after(move) for move in slots]
    assert second["tokens"][0, 78] == 1
    assert second["probability"][0].min() > 0


def test_one_legal_move_is_not_reconsidered(files: dict[str, Path]):
    player = TransformerPlayer(OnnxTransformer(files["main"]), Settings(passes=2))
    board = _core.Board("7k/8/8/8/8/8/1r6/K7 w - - 0 1")
    assert board.legal_moves() == ["a1b2"]
    assert player.play(board, Limit()).nodes == 1


def test_the_mode_value_looks_at_every_successor_once_and_finds_a_mate(files: dict[str, Path]):
    player = TransformerPlayer(OnnxTransformer(files["main"]), Settings(mode="value"))
    decision = player.play(_core.Board("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1"), Limit())
    assert decision.move == "d1d8"
    assert decision.nodes == len(decision.moves) - 1


def test_a_better_side_does_not_repeat_unless_it_may(files: dict[str, Path]):
    board = _core.Board()
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"]:
        board.push(move)
    opened = OnnxTransformer(files["main"])
    # Every position is taken for better: the margin is below what any value can be.
    refusing = TransformerPlayer(opened, Settings(margin=-0.5)).play(board, Limit())
    allowing = TransformerPlayer(opened, Settings(repetition="allow")).play(board, Limit())
    last = [each.move for each in refusing.moves if board.repetitions_after(each.move)]
    assert last == [each.move for each in refusing.moves][-len(last) :]
    assert last == ["g1f3"]
    assert {each.move for each in allowing.moves} == {each.move for each in refusing.moves}


def test_a_better_side_puts_stalemate_last_unless_it_may(files: dict[str, Path]):
    board = _core.Board("7k/8/5K2/8/8/8/6Q1/8 w - - 0 1")
    opened = OnnxTransformer(files["main"])
    refusing = TransformerPlayer(opened, Settings(margin=-0.5)).play(board, Limit())
    assert refusing.moves[-1].move == "g2g6"
    allowing = TransformerPlayer(opened, Settings(margin=-0.5, stalemate="allow")).play(board, Limit())
    assert allowing.moves[-1].move != "g2g6"


def test_a_seed_repeats_its_draws(files: dict[str, Path]):
    opened = OnnxTransformer(files["main"])
    drawn = [
        TransformerPlayer(opened, Settings(temperature=2.0, seed=seed)).play(_core.Board(), Limit()).move
        for seed in (3, 3, 4, 5, 6, 7)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(drawn)) > 1


def test_a_game_that_is_over_is_said(files: dict[str, Path]):
    board = _core.Board("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1")
    with pytest.raises(PlayerFailure, match="where there is none"):
        TransformerPlayer(OnnxTransformer(files["main"])).play(board, Limit())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"passes": "3"}, "passes must lie between 1 and 2"),
        ({"mode": "q"}, "mode must be one of policy, second, value"),
        ({"pases": "2"}, "did you mean 'passes'"),
        ({"temperature": "warm"}, "temperature must be a number"),
    ],
)
def test_a_wrong_option_is_answered_with_what_would_be_right(
    files: dict[str, Path], options: dict[str, str], sentence: str
):
    with pytest.raises(PlayerError, match=sentence):
        open_player(PlayerName("transformer", str(files["main"]), options=options))


def test_a_network_that_never_learned_to_reconsider_says_so(files: dict[str, Path]):
    with pytest.raises(PlayerError, match="not taught to reconsider"):
        open_player(PlayerName("transformer", str(files["bare"]), options={"passes": "2"}))
    player = open_player(PlayerName("transformer", str(files["bare"])))
    assert player.name == "transformer:bare"
    with pytest.raises(ValueError, match="not taught to reconsider"):
        player.set_option("passes", "2")


def test_the_newest_network_of_a_folder_plays_and_what_is_none_is_refused(
    files: dict[str, Path], tmp_path: Path
):
    with pytest.raises(PlayerError, match=r"no \.onnx file in the folder"):
        open_player(PlayerName("transformer", str(tmp_path)))
    (tmp_path / "a.onnx").write_bytes(files["main"].read_bytes())
    assert open_player(PlayerName("transformer", str(tmp_path))).name == "transformer:a"
    (tmp_path / "b.onnx").write_bytes(b"nonsense")
    with pytest.raises(PlayerError, match="is no ONNX network"):
        open_player(PlayerName("transformer", str(tmp_path / "b.onnx")))
    with pytest.raises(PlayerError, match="no network"):
        open_player(PlayerName("transformer", str(tmp_path / "c.onnx")))


def test_another_mind_s_network_is_refused(tmp_path: Path):
    import onnx

    value = onnx.helper.make_tensor_value_info("planes", onnx.TensorProto.FLOAT, ["batch"])
    out = onnx.helper.make_tensor_value_info("policy", onnx.TensorProto.FLOAT, ["batch"])
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["planes"], ["policy"])], "x", [value], [out]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "x.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(PlayerError, match="is no transformer of tabiya"):
        OnnxTransformer(tmp_path / "x.onnx")


def test_the_first_network_is_shipped_and_the_next_must_beat_it(files, tmp_path, monkeypatch, capsys):
    from tabiya.cli import main
    from tabiya.minds.transformer import shelf

    monkeypatch.setattr(shelf, "SHIPPED", tmp_path / "assets")
    monkeypatch.chdir(tmp_path)
    assert main(["promote", str(files["bare"])]) == 0
    shipped = tmp_path / "assets" / "main.onnx"
    manifest = read_sidecar(shipped)
    assert manifest["kind"] == "transformer"
    assert manifest["shape"]["refinement"] is False
    # Four games decide nothing.
    assert main(["promote", str(files["main"]), "--games", "4", "--max-moves", "3"]) == 1
    assert "the shipped network stays" in capsys.readouterr().out
    assert read_sidecar(shipped) == manifest
