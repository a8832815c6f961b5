"""Patching: twins that differ in one place, activations replaced exactly there, and what it adds up to."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tabiya._core import Board  # noqa: E402
from tabiya.arena.puzzles import Puzzle  # noqa: E402
from tabiya.cli import main  # noqa: E402
from tabiya.lens.corruption import pieces_of, twins, with_pieces  # noqa: E402
from tabiya.lens.interface import SQUARES  # noqa: E402
from tabiya.lens.lookahead import figure, grouped, markdown, mean_95, read_records, summary  # noqa: E402
from tabiya.minds.transformer.lens_lookahead import Lookahead  # noqa: E402
from tabiya.minds.transformer.lens_patching import Place, log_odds, patched, record  # noqa: E402
from tabiya.minds.transformer.lens_workers import Patcher, measured  # noqa: E402
from tabiya.minds.transformer.network import Transformer  # noqa: E402
from tabiya.minds.transformer.onnx_inputs import read_tokens  # noqa: E402
from tabiya.minds.transformer.shape import TransformerShape, Wire  # noqa: E402
from tabiya.scale.local import LOCAL  # noqa: E402

SMALL = {"layers": 2, "width": 16, "heads": 2, "mlp_ratio": 1.0, "value_hidden": 8}
VARIANTS = {
    "flipped": {},
    "separate": {"flipped": False, "pieces": "separate", "policy": "fromto"},
    "unflipped": {"flipped": False},
    "feedback": {"feedback": (Wire(from_block=2, to_block=1),)},
}
FORK = Board("r3k2r/ppp2ppp/8/3N4/8/8/PPP2PPP/R3K2R w KQkq - 0 1")
TWIN = Board("r3k2r/pp3ppp/8/3N4/8/8/PPP2PPP/R3K2R w KQkq - 0 1")


def network(**more) -> Transformer:
    torch.manual_seed(2)
    made = Transformer(TransformerShape(**(SMALL | more))).eval()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return made


def tokens(made: Transformer, board: Board) -> torch.Tensor:
    packed = np.frombuffer(board.packed(), np.uint8).reshape(1, 32)
    return torch.from_numpy(read_tokens(packed, made.shape.flipped))


def test_a_fen_survives_being_taken_apart():
    for fen in (Board().fen(), FORK.fen()):
        assert with_pieces(fen, pieces_of(fen)) == fen


def test_a_twin_differs_where_it_says_and_leaves_the_line_alone():
    untouched = {"d5", "c7", "e8", "d8", "a8"}
    made = twins(FORK, "d5c7", untouched)
    assert len(made) > 30
    whole = pieces_of(FORK.fen())
    for twin in made:
        changed = pieces_of(twin.fen)
        differs = {square for square in SQUARES if whole.get(square) != changed.get(square)}
        assert differs == set(twin.squares)
        assert 1 <= len(differs) <= 2
        assert not differs & untouched
        assert Board(twin.fen).is_legal("d5c7")
        assert not Board(twin.fen).is_check
        assert {square for square, piece in changed.items() if piece in "Kk"} == {"e1", "e8"}
    assert {twin.kind for twin in made} == {"moved", "pawn"}


def test_a_twin_without_the_rook_spoils_the_fork_and_one_without_a_far_pawn_does_not():
    from tabiya.lens.corruption import Judge

    judge = Judge(2000)
    fork = Board("r3k3/8/8/3N4/8/8/P6P/4K3 w - - 0 1")
    assert judge.spoilt(fork, Board("4k3/8/8/3N4/8/8/P6P/4K3 w - - 0 1"), "d5c7")
    assert not judge.spoilt(fork, Board("r3k3/8/8/3N4/8/8/P7/4K3 w - - 0 1"), "d5c7")
    assert judge.worth(Board("6k1/5ppp/8/8/8/8/8/3R2K1 w - - 0 1"), "d1d8") == 2000


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_row_patched_after_the_last_block_is_the_twins_own_answer(variant):
    made = network(**VARIANTS[variant])
    kept = record(made, tokens(made, TWIN))
    with torch.no_grad():
        clean, other = made(tokens(made, FORK)).policy, made(tokens(made, TWIN)).policy
    last = patched(made, tokens(made, FORK), kept, [Place(made.shape.layers - 1)])
    assert torch.allclose(last, other, atol=1e-5)
    assert not torch.allclose(last, clean, atol=1e-3)


def test_patching_with_the_positions_own_activations_changes_nothing():
    made = network()
    own = record(made, tokens(made, FORK))
    with torch.no_grad():
        clean = made(tokens(made, FORK)).policy
    places = [Place(0, (5,)), Place(1), Place(0, head=1), Place(1, (3, 4), head=0)]
    found = patched(made, tokens(made, FORK), own, places)
    assert torch.allclose(found, clean.expand(4, -1), atol=1e-5)


def test_places_in_a_batch_answer_as_they_do_alone():
    made = network()
    kept = record(made, tokens(made, TWIN))
    places = [Place(0, (51,)), Place(1, (0,)), Place(0, head=0), Place(1, head=1), Place(0)]
    together = patched(made, tokens(made, FORK), kept, places)
    for at, place in enumerate(places):
        alone = patched(made, tokens(made, FORK), kept, [place])
        assert torch.allclose(together[at], alone[0], atol=1e-5)
    assert torch.allclose(patched(made, tokens(made, FORK), kept, places, batch=2), together, atol=1e-5)


def test_a_patched_network_is_left_as_it_was_to_the_bit():
    made = network()
    with torch.no_grad():
        before = made(tokens(made, FORK))
        patched(made, tokens(made, FORK), record(made, tokens(made, TWIN)), [Place(0), Place(1, head=0)])
        after = made(tokens(made, FORK))
    assert all(torch.equal(left, right) for left, right in zip(before, after, strict=True))
    assert not any(module._forward_hooks for module in made.modules())


def test_hooks_go_even_if_the_run_fails():
    made = network()
    with pytest.raises(RuntimeError):
        record(made, torch.zeros(1, 3, dtype=torch.int32))
    assert not any(module._forward_hooks for module in made.modules())


def test_log_odds_are_among_the_legal_moves():
    policy, legal = torch.tensor([[1.0, 5.0, 1.0, 9.0]]), torch.tensor([0, 2])
    assert abs(float(log_odds(policy, legal, 2))) < 1e-9


def solved(made: Transformer) -> Puzzle:
    """A puzzle whose right move is what the network plays: it was never trained, so any will do."""
    before = Board("r3k2r/ppp2ppp/8/3N4/7b/8/PPP2PPP/R3K2R b KQkq - 0 1")
    after = before.copy()
    after.push("h4e7")
    from tabiya._core import legal_indices

    packed = np.frombuffer(after.packed(), np.uint8).reshape(1, 32)
    numbers = legal_indices(packed, "uci", made.shape.view)[1]
    with torch.no_grad():
        policy = made(tokens(made, after)).policy[0, torch.from_numpy(numbers.astype(np.int64))]
    right = after.legal_moves()[int(policy.argmax())]
    after.push(right)
    reply = next(move for move in after.legal_moves() if move[2:4] != right[2:4])
    after.push(reply)
    third = next(m for m in after.legal_moves() if m[2:4] not in (right[2:4], reply[2:4]))
    return Puzzle("one", before.fen(), ("h4e7", right, reply, third), 1500, (), 1)


@pytest.mark.parametrize("variant", ["flipped", "unflipped"])
def test_a_solved_puzzle_is_patched_square_by_square_and_head_by_head(variant, monkeypatch):
    import tabiya.minds.transformer.lens_lookahead as lookahead

    # An untrained network hardly hangs on anything; the smallest fall will do here.
    monkeypatch.setattr(lookahead, "LEAST_FALL", 0.0)
    made = network(**VARIANTS[variant])
    puzzle = solved(made)
    found = Lookahead(made, torch.device("cpu"), None).measure(puzzle)
    assert "skipped" not in found, found
    assert np.array(found["squares"]).shape == (2, 64)
    assert np.array(found["heads"]).shape == (2, 2)
    assert found["targets"] == [move[2:4] for move in puzzle.moves[1:]]
    assert found["twin_log_odds"] < found["log_odds"]
    # A square after the first block, by hand.
    from tabiya.minds.transformer.lens import parts_of

    board, right = puzzle.solver_positions()[0]
    kept = record(made, tokens(made, Board(found["twin"])))
    square = found["changed"][0]
    place = Place(0, tuple(parts_of(made.shape, board.white_to_move)[square]))
    legal, number = Lookahead(made, torch.device("cpu"), None)._legal(board, right)
    fall = found["log_odds"] - log_odds(patched(made, tokens(made, board), kept, [place]), legal, number)[0]
    assert abs(float(fall) - found["squares"][0][SQUARES.index(square)]) < 1e-3


def test_puzzles_that_say_nothing_are_left_out_with_their_reason():
    made = network()
    experiment = Lookahead(made, torch.device("cpu"), None)
    short = Puzzle("short", "6k1/5ppp/8/8/8/8/r4PPP/3R2K1 b - - 0 1", ("a2a3", "d1d8"), 500, (), 1)
    assert "over" in experiment.measure(short)["skipped"]
    fine = solved(made)
    wrong = next(
        move
        for move in fine.solver_positions()[0][0].legal_moves()
        if move != fine.moves[1] and move[2:4] != fine.moves[3][2:4]
    )
    board = fine.solver_positions()[0][0]
    board.push(wrong)
    reply = board.legal_moves()[0]
    board.push(reply)
    third = next(move for move in board.legal_moves() if move[2:4] != wrong[2:4])
    unsolved = Puzzle("two", fine.fen, (fine.moves[0], wrong, reply, third), 1500, (), 2)
    assert experiment.measure(unsolved)["skipped"] == "not solved"
    with LOCAL.crew(lambda: Patcher(experiment)) as crew:
        found = list(measured(crew, [short, unsolved], 5, {"short"}))
    assert [each["puzzle"] for each in found] == ["two"]


def fake_record(name: str, third: float, other: float) -> dict:
    effects = np.zeros((2, 64))
    effects[1, SQUARES.index("e8")] = third
    effects[1, SQUARES.index("a1")] = other
    return {
        "puzzle": name,
        "targets": ["c7", "d8", "e8"],
        "changed": ["h2"],
        "squares": effects.tolist(),
        "heads": [[0.1, 0.2], [0.3, 0.4]],
        "log_odds": 2.0,
        "twin_log_odds": -1.0,
    }


def test_effects_add_up_with_intervals():
    records = [fake_record(str(at), 1.0 + 0.1 * at, 0.5) for at in range(5)] + [
        {"puzzle": "x", "skipped": "not solved"}
    ]
    found = summary(records)
    assert (found["puzzles"], found["skipped"]) == (5, {"not solved": 1})
    assert found["strongest_layer_of_3rd"] == 2
    mean, low, high = found["layers"][1]["3rd"]
    assert mean == 1.2
    assert low < mean < high
    assert found["layers"][1]["other (largest)"][0] == 0.5
    assert "stands out" in found["verdict"]
    assert found["heads"][0] == {"layer": 2, "head": 2, "effect": [0.4, 0.4, 0.4]}
    assert "no sign" in summary([fake_record(str(at), 0.1 * at, 0.5) for at in range(5)])["verdict"]
    assert "| 2 |" in markdown({"main": found})
    assert figure({"main": found}).png()[:4] == b"\x89PNG"
    assert "polyline" in figure({"main": found, "other": found}).svg()


def test_a_reply_on_the_same_square_is_no_second_square():
    again = fake_record("a", 1.0, 0.5) | {"targets": ["c7", "c7", "e8"]}
    groups = grouped([again, fake_record("b", 1.0, 0.5)])
    assert np.isnan(groups["2nd"][0]).all()
    assert np.isfinite(groups["2nd"][1]).all()
    assert mean_95(np.array([])) == [None, None, None]


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    path = tmp_path / "main.jsonl"
    path.write_text(json.dumps(fake_record("a", 1, 0)) + "\n" + '{"puzzle": "b", "squ')
    assert [each["puzzle"] for each in read_records(path)] == ["a"]


def test_the_lab_goes_on_where_it_stopped_and_reports(tmp_path, capsys, monkeypatch, save_run):
    import tabiya.minds.transformer.lens_lookahead as lookahead

    monkeypatch.setattr(lookahead, "LEAST_FALL", 0.0)
    made = network()
    save_run(tmp_path / "tiny", made)
    puzzle = solved(made)
    rows = ["PuzzleId,FEN,Moves,Rating,Themes"]
    rows += [f"{name},{puzzle.fen},{' '.join(puzzle.moves)},1500,fork" for name in ("p1", "p2", "p3")]
    (tmp_path / "puzzles.csv").write_text("\n".join(rows) + "\n")
    words = ["lab", "lookahead", str(tmp_path / "tiny"), "--puzzles", str(tmp_path / "puzzles.csv")]
    words += ["--out", str(tmp_path / "out"), "--device", "cpu", "--judge-nodes", "0", "--json"]
    assert main([*words, "--max", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["tiny-flipped"]["puzzles"] == 1
    first = (tmp_path / "out" / "tiny-flipped.jsonl").read_text()
    assert main([*words, "--max", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["tiny-flipped"]["puzzles"] == 2
    assert (tmp_path / "out" / "tiny-flipped.jsonl").read_text().startswith(first)
    assert {"report.md", "report.json", "report.png", "report.svg"} <= {
        p.name for p in (tmp_path / "out").iterdir()
    }
    assert main([*words, "--max", "2", "--seed", "4"]) == 2
    assert "seed" in capsys.readouterr().err


def test_without_records_there_is_no_report(tmp_path, capsys):
    assert main(["lab", "lookahead", "--out", str(tmp_path)]) == 2
    assert "no records" in capsys.readouterr().err
