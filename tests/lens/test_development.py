"""Development: the same measures for every checkpoint, kept one by one, and told when an ability appears."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya import _core  # noqa: E402
from tabiya._core import Board  # noqa: E402
from tabiya.arena.puzzles import Puzzle  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.lens.development import figure, in_order, markdown, piece_values, sentences  # noqa: E402
from tabiya.minds.transformer.lens_development import PIECES, Development  # noqa: E402
from tabiya.minds.transformer.network import Transformer  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape  # noqa: E402

SMALL = {"layers": 2, "width": 16, "heads": 2, "mlp_ratio": 1.0, "value_hidden": 8}
PUZZLE = Puzzle("one", "6k1/5ppp/8/8/8/8/r4PPP/3R2K1 b - - 0 1", ("a2a3", "d1d8"), 500, (), 1)


def network(seed: int = 3, **more) -> Transformer:
    torch.manual_seed(seed)
    made = Transformer(TransformerShape(**(SMALL | more))).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return made


@pytest.mark.parametrize("more", [{}, {"flipped": False, "pieces": "separate"}])
def test_a_network_is_measured_by_pieces_heads_and_puzzles(more):
    measures = Development(_core.random_positions(3, 4, 20), [PUZZLE], torch.device("cpu"))
    found = measures.measure(network(**more))
    assert set(found["piece_tv"]) <= set(PIECES)
    assert {"own pawn", "other's king"} <= set(found["piece_tv"])
    assert np.array(found["heads"]).shape == (2, 2)
    assert np.max(found["heads"]) > 0
    assert 0 <= found["illegal"] <= 1
    assert found["first_moves"] in (0.0, 1.0)


@pytest.mark.parametrize("variant", ["flipped", "separate"])
def test_pieces_are_blanked_as_the_lens_blanks_them(transformer, variant):
    from tabiya.lens.interface import look_into
    from tabiya.lens.occlusion import occlude

    more = {
        "flipped": {},
        "separate": {"flipped": False, "pieces": "separate", "refinement": False, "policy": "fromto"},
    }
    board = Board("4k3/8/8/8/8/8/1q6/4K2R b K - 0 1")
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    found = Development(packed, [], torch.device("cpu"))._pieces(network(**more[variant]))
    lens = occlude(look_into(transformer(variant), board))
    assert found["piece_tv"]["own queen"] == pytest.approx(lens.parts["b2"].tv, abs=1e-4)
    assert found["piece_tv"]["other's rook"] == pytest.approx(lens.parts["h1"].tv, abs=1e-4)


def row(step: int, values: tuple[float, ...], moves: float, low: float | None) -> dict:
    kinds = ("pawn", "knight", "bishop", "rook", "queen")
    looked = None
    if low is not None:
        looked = {
            "puzzles": 9,
            "layer": 1,
            **{group: [low + 1, None, None] for group in ("1st", "2nd", "3rd", "other (largest)")},
            "3rd less largest other": [low + 1, low, low + 2],
        }
    return {
        "step": step,
        "piece_outlook": {f"own {kind}": value for kind, value in zip(kinds, values, strict=True)},
        "piece_tv": {},
        "illegal": 0.01,
        "heads": [[0.0, 0.05], [0.2, 0.1]],
        "first_moves": moves,
        "lookahead": looked,
    }


ROWS = [
    row(0, (0.02, 0.01, 0.03, 0.02, 0.1), 0.1, None),
    row(100, (0.02, 0.06, 0.07, 0.1, 0.2), 0.6, -0.5),
    row(200, (0.02, 0.05, 0.06, 0.1, 0.2), 0.4, 0.2),
    row(300, (0.02, 0.05, 0.06, 0.1, 0.2), 0.7, 0.3),
]


def test_an_ability_counts_from_where_it_stays():
    said = sentences(ROWS)
    assert "order of value (pawn, minor piece, rook, queen): from step 100 on" in said[0]
    assert "from step 300 on" in said[1]
    assert "from step 200 on" in said[2]
    assert not in_order(ROWS[0])
    assert piece_values(ROWS[1])["queen"] == 10.0
    assert piece_values(row(0, (-1, 0, 0, 0, 0), 0, None)) == {}
    assert "not seen" in sentences(ROWS[:1])[1]


def test_the_report_has_a_line_for_each_checkpoint_and_four_panels():
    text = markdown("main", ROWS)
    assert all(f"| {each['step']:,} |" in text for each in ROWS)
    svg = figure(ROWS).svg()
    for title in ("outlook lost", "strongest head", "first moves", "effect of patching"):
        assert title in svg
    assert figure(ROWS[:1]).png()[:4] == b"\x89PNG"


def test_checkpoints_are_measured_once_and_stay_in_the_report(tmp_path, capsys, save_run):
    folder = tmp_path / "run"
    for step in (1, 2):
        save_run(folder, network(step), step)
    puzzles = tmp_path / "puzzles.csv"
    puzzles.write_text(
        f"PuzzleId,FEN,Moves,Rating,Themes\none,{PUZZLE.fen},{' '.join(PUZZLE.moves)},500,mate\n"
    )
    words = ["lab", "development", str(folder), "--puzzles", str(puzzles), "--out", str(tmp_path / "out")]
    words += ["--device", "cpu", "--json"]
    assert main(words) == 0
    assert [each["step"] for each in json.loads(capsys.readouterr().out)] == [1, 2]
    first = (tmp_path / "out" / "step-00000001.json").stat().st_mtime_ns
    (folder / "step-00000001.safetensors").unlink()
    save_run(folder, network(9), 3)
    assert main(words) == 0
    assert [each["step"] for each in json.loads(capsys.readouterr().out)] == [1, 2, 3]
    assert (tmp_path / "out" / "step-00000001.json").stat().st_mtime_ns == first
    assert main([*words, "--max", "7"]) == 2
    assert "max" in capsys.readouterr().err


def test_a_folder_without_checkpoints_is_named(tmp_path, capsys):
    assert main(["lab", "development", str(tmp_path), "--puzzles", "none.csv", "--device", "cpu"]) == 2
    assert "no checkpoint" in capsys.readouterr().err
