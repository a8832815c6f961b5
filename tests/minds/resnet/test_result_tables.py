"""The result tables whole, of tiny networks: measured, resumed, reported, and refused when wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import chess
import chess.syzygy
import pytest

pytest.importorskip("onnxruntime")

from tabiya._core import Board, random_positions
from tabiya.arena.evaluation import Examiner
from tabiya.arena.puzzles import Puzzle, PuzzleSet, measure_puzzles
from tabiya.cli import main
from tabiya.errors import UserError
from tabiya.files import checksum
from tabiya.learn.config import load_config
from tabiya.learn.sidecar import write_sidecar
from tabiya.minds.resnet.lab import results
from tabiya.minds.resnet.lab.result_plan import ResultTables
from tabiya.player import Decision, Limit, Player
from tabiya.reports import result_plot
from tabiya.roster import open_player

HEADER = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n"
ECO = "eco\tname\tpgn\nB20\tSicilian Defense\t1. e4 c5\n"
GAME = """[Round "{round}"]
[White "{white}"]
[Black "{black}"]
[Result "{result}"]

1. e4 c5 2. Nf3 {{[%emt 0:00:00.100]}} {{checkmate}} {result}

"""


DRAW = result_plot.plot_results


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture takes longer than all the rest; one test asks for it."""
    monkeypatch.setattr(result_plot, "plot_results", lambda _tables, _path: False)


class QueenTable:
    """K+Q v K: the queen's side wins unless the queen hangs or the king is stalemated."""

    def probe_wdl(self, board: chess.Board) -> int:
        if not board.queens:
            return 0
        if board.occupied_co[board.turn] & board.queens:
            return 2
        return 0 if any(map(board.is_capture, board.legal_moves)) or board.is_stalemate() else -2

    def probe_dtz(self, board: chess.Board) -> int:
        return -10

    def close(self) -> None:
        pass


def some_puzzles(count: int) -> list[Puzzle]:
    """Puzzles of random positions: three moves each, the solver's always the first legal one."""
    found: list[Puzzle] = []
    for row in random_positions(20 * count, 3):
        board = Board.from_packed(row.tobytes())
        fen, moves = board.fen(), list[str]()
        while len(moves) < 4 and board.legal_moves():
            moves.append(board.legal_moves()[0])
            board.push(moves[-1])
        if len(moves) == 4 and len(found) < count:
            found.append(Puzzle(f"p{len(found)}", fen, tuple(moves), 900 + 150 * (len(found) % 5), (), 2))
    assert len(found) == count
    return found


def puzzle_file(path: Path, count: int) -> Path:
    rows = [f"{p.name},{p.fen},{' '.join(p.moves)},{p.rating},80,90,10,,,\n" for p in some_puzzles(count)]
    path.write_text(HEADER + "".join(rows))
    return path


@pytest.fixture
def lab(tmp_path: Path, build: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config with every table, its data beside it."""
    network = build()
    write_sidecar(network, kind="resnet", planes=18, parameters=12345)
    puzzle_file(tmp_path / "puzzles.csv", 7)
    for folder in ("eco", "match", "syzygy"):
        (tmp_path / folder).mkdir()
    (tmp_path / "eco" / "b.tsv").write_text(ECO)
    mind = f"resnet:{network}"
    sides = [("1.1", mind, "rock", "1-0"), ("1.2", "rock", mind, "1/2-1/2")]
    games = [GAME.format(round=r, white=w, black=b, result=end) for r, w, b, end in sides]
    (tmp_path / "match" / "games.pgn").write_text("".join(games))
    (tmp_path / "syzygy" / "KQvK.rtbw").touch()
    monkeypatch.setattr(chess.syzygy, "open_tablebase", lambda _: QueenTable())
    rating = {"name": "turing", "rating": 1512.5, "rating_95": [1490.0, 1535.0], "games": 40}
    (tmp_path / "ladder.json").write_text(json.dumps({"ratings": {"players": [rating]}}))
    config = tmp_path / "tables.toml"
    config.write_text(f"""
mind = "{mind}"
[puzzles]
file = "{tmp_path}/puzzles.csv"
value_count = 4
[openings]
eco = "{tmp_path}/eco"
matches = ["{tmp_path}/match"]
[endgames]
syzygy = "{tmp_path}/syzygy"
count = 20
[size]
threads = 1
runs = 1
passes = 3
[engines]
players = ["turing", "random?seed=1"]
positions = 2
movetime = 5
ratings = ["{tmp_path}/ladder.json"]
""")
    return config


def run(config: Path, *words: str) -> int:
    return main(
        ["lab", "resnet-tables", *words, "--config", str(config), "--out", str(config.parent / "out")]
    )


def table(config: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((config.parent / "out" / f"{name}.json").read_text()))


def refusal(capsys: pytest.CaptureFixture[str], config: Path, *words: str) -> str:
    assert run(config, *words) == 2
    return capsys.readouterr().err


def test_every_table_from_one_command(lab: Path, capsys):
    assert run(lab) == 0
    text = capsys.readouterr().out
    mind = load_config(lab, ResultTables).mind
    players = [mind, f"{mind}?mode=q", f"{mind}?mode=value"]

    puzzles = table(lab, "puzzles")["entries"]
    assert [(name, entry["figures"]["puzzles"]) for name, entry in puzzles.items()] == [
        (players[0], 7),
        (players[1], 7),
        (players[2], 4),
    ]
    for entry in puzzles.values():
        figures = entry["figures"]
        assert sum(band["puzzles"] for band in figures["by_rating"]) == figures["puzzles"]
        low, high = figures["solved_95"]
        assert low <= figures["solved_share"] <= high
    looked = [entry["figures"]["nodes_per_move"] for entry in puzzles.values()]
    assert looked[:2] == [1, 1]
    assert looked[2] > 2

    (opened,) = table(lab, "openings")["entries"].values()
    (against,) = opened["figures"]["against"]
    assert (against["opponent"], against["score_share"]) == ("rock", 0.75)

    endgames = table(lab, "endgames")["entries"]
    assert list(endgames) == players
    (row,) = endgames[mind]["figures"]["by_men"]
    assert (row["men"], row["positions"], row["judge"]) == (3, 20, "syzygy")
    assert 0 < row["any_move_share"] < 1
    assert 0 < row["choices"] < 20  # a lost king's moves are all as good
    kept = row["choices_kept_share"] * row["choices"] + 20 - row["choices"]
    assert kept == pytest.approx(row["optimal_share"] * 20)

    size = table(lab, "size")["entries"][mind]["figures"]
    network = Path(mind.removeprefix("resnet:"))
    assert (size["bytes"], size["parameters"], size["batch"]) == (network.stat().st_size, 12345, 1)

    engines = table(lab, "engines")
    assert list(engines["entries"]) == [*players, "turing", "random?seed=1"]
    assert engines["entries"][mind]["figures"]["positions_per_move"] == 1
    assert list(engines["ratings"]) == ["turing"]

    assert "1512 (1490 to 1535)" in text
    assert "1 others with fewer than 10 games" in text
    assert (lab.parent / "out" / "report.md").read_text() in text


def test_the_report_is_made_again_from_the_tables_alone(lab: Path, capsys):
    run(lab)
    out = lab.parent / "out"
    text = (out / "report.md").read_text()
    (out / "report.md").unlink()
    for gone in ("puzzles.csv", "tables.toml", "tiny.onnx"):
        (lab.parent / gone).unlink()
    assert run(lab, "report") == 0
    assert (out / "report.md").read_text() == text


def test_the_picture_has_a_panel_for_each_table(lab: Path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(result_plot, "plot_results", DRAW)
    run(lab, "puzzles")
    narrow = (lab.parent / "out" / "report.png").read_bytes()
    run(lab)
    wide = (lab.parent / "out" / "report.png").read_bytes()
    assert narrow[:8] == wide[:8] == b"\x89PNG\r\n\x1a\n"
    width, larger = (int.from_bytes(picture[16:20], "big") for picture in (narrow, wide))
    assert larger == 2 * width


def test_what_is_measured_is_not_measured_again(lab: Path, capsys, monkeypatch):
    run(lab)
    before = {name: table(lab, name) for name in ("puzzles", "endgames", "size", "engines")}

    def refused(*_arguments: Any, **_more: Any) -> None:
        raise AssertionError("nothing was left to ask")

    monkeypatch.setattr(results, "Examiner", refused)
    monkeypatch.setattr("tabiya.searchless.comparison.latency", refused)
    monkeypatch.setattr("tabiya.arena.effort.measure_effort", refused)
    assert run(lab) == 0
    assert {name: table(lab, name) for name in before} == before


def test_another_network_is_measured_anew_and_a_mixture_is_said(lab: Path, capsys):
    run(lab, "puzzles", "endgames", "--modes", "policy")
    mind = load_config(lab, ResultTables).mind
    old = table(lab, "puzzles")["entries"][mind]["settings"]["network"]
    network = Path(mind.removeprefix("resnet:"))
    network.with_suffix(".json").unlink()
    # One byte of a comment more: another file, the same player.
    network.write_bytes(network.read_bytes() + b"\x32\x01x")
    capsys.readouterr()
    run(lab, "puzzles", "--modes", "policy")
    new = table(lab, "puzzles")["entries"][mind]["settings"]["network"]
    assert new != old
    assert (
        f"another network in different tables ({new[:8]}: puzzles; {old[:8]}: endgames)"
        in capsys.readouterr().out
    )


class Stopping(Player):
    """A ResNet that counts what it is asked, and is interrupted after so many batches."""

    def __init__(self, inner: Any, asked: list[int], batches: int) -> None:
        self.inner, self.asked, self.batches, self.network = inner, asked, batches, inner.network

    def play(self, board: Board, limit: Limit) -> Decision:
        raise AssertionError("batches were there to be used")

    def play_batch(self, boards: list[Board], limit: Limit) -> list[Decision]:
        if len(self.asked) >= self.batches:
            raise KeyboardInterrupt
        self.asked.append(len(boards))
        return list(self.inner.play_batch(boards, limit))


def test_puzzles_that_were_interrupted_go_on_to_the_same_figures(lab: Path, monkeypatch):
    monkeypatch.setattr(results, "BATCH", 2)
    plan = load_config(lab, ResultTables)
    silent = lambda _what, _total: nullcontext(_Meter())  # noqa: E731 - as short as a meter can be
    name = plan.players()[1]

    def measured(folder: str, batches: int) -> tuple[list[int], dict[str, Any] | None]:
        asked: list[int] = []
        opener = lambda text: Stopping(open_player(text), asked, batches)  # noqa: E731
        out = lab.parent / folder
        try:
            results.Results(plan, out, opener, silent).measure("puzzles")
        except KeyboardInterrupt:
            return asked, None
        figures = json.loads((out / "puzzles.json").read_text())["entries"][name]["figures"]
        return asked, {key: value for key, value in figures.items() if key != "seconds"}

    whole, expected = measured("whole", 100)
    # Seven puzzles of two positions in blocks of two, twice, and four puzzles by value.
    assert whole == [4, 4, 4, 2, 4, 4, 4, 2, 4, 4]
    first, nothing = measured("parts", 6)  # in the midst of the second player
    assert nothing is None
    assert list((lab.parent / "parts").glob("*.part.json"))
    rest, figures = measured("parts", 100)
    assert first + rest == whole
    assert figures == expected
    assert not list((lab.parent / "parts").glob("*.part.json"))


class _Meter:
    def advance(self, amount: float = 1) -> None:
        pass


class OneByOne(Player):
    """Hides that a player can answer batches."""

    def __init__(self, inner: Player) -> None:
        self.inner = inner

    def play(self, board: Board, limit: Limit) -> Decision:
        return self.inner.play(board, limit)


@pytest.mark.parametrize("mode", ["policy", "q", "value"])
def test_puzzles_asked_in_batches_are_answered_as_one_by_one(build, mode):
    name, puzzles = f"resnet:{build()}?mode={mode}", PuzzleSet(some_puzzles(30), [])
    asked: dict[str, list[str | None]] = {"together": [], "alone": []}
    figures = []
    for how, opener in (("together", open_player), ("alone", lambda text: OneByOne(open_player(text)))):
        with Examiner(name, opener, Limit(nodes=1)) as examiner:
            boards = [board for puzzle in puzzles.puzzles for board, _ in puzzle.solver_positions()]
            asked[how] = [decision and decision.move for decision in examiner.answers(boards)]
            figures.append(measure_puzzles(puzzles, examiner))
    assert asked["together"] == asked["alone"]
    assert figures[0] == figures[1]


def test_any_player_has_the_tables_that_apply_to_it(lab: Path, capsys):
    assert run(lab, "puzzles", "endgames", "engines", "--mind", "turing", "--max", "2") == 0
    assert list(table(lab, "puzzles")["entries"]) == list(table(lab, "endgames")["entries"]) == ["turing"]
    capsys.readouterr()
    assert "size and latency are measured of a ResNet, turing is none" in refusal(
        capsys, lab, "size", "--mind", "turing"
    )


def test_the_gpus_time_stands_beside_and_another_networks_is_told(lab: Path, tmp_path: Path, capsys):
    config = lab.read_text()
    gpu = tmp_path / "gpu.json"
    lab.write_text(config.replace("[size]", f'[size]\ngpu = "{gpu}"'))
    assert "with the GPU's time" in refusal(capsys, lab, "size")
    gpu.write_text('{"device": "a large one"}')
    assert "lacks median_ms" in refusal(capsys, lab, "size")
    gpu.write_text('{"device": "a large one", "median_ms": 0.71, "sha256": "of another"}')
    assert run(lab, "size") == 0
    text = capsys.readouterr().out
    assert "a large one | 0.71" in text
    assert "not shown to be of this network" in text


def test_a_pass_is_timed_with_torch_in_the_shape_of_the_manifest(build):
    torch = pytest.importorskip("torch")
    from tabiya.minds.resnet.lab.gpu_latency import measure_gpu

    network = build()
    sizes = {"blocks": 1, "channels": 8, "squeeze": 4, "planes": 18, "value_channels": 4, "value_hidden": 16}
    write_sidecar(network, kind="resnet", planes=18, parameters=1, config={"shape": sizes})
    figures = measure_gpu(network, "cpu", passes=3)
    assert figures["sha256"] == checksum(network)
    assert 0 < figures["median_ms"] <= figures["p95_ms"]
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="no GPU here"):
            measure_gpu(network)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["puzles"], "unknown table 'puzles'"),
        (["puzzles", "--modes", "polcy"], "polcy"),
        (["puzzles", "--max", "0"], "must be at least 1, got 0"),
        (["puzzles", "--mind", "resnet:nowhere.onnx"], "no network nowhere.onnx"),
        (["report"], "there are no tables in"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(lab: Path, capsys, words, sentence):
    said = refusal(capsys, lab, *words)
    assert sentence in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("gone", "name", "sentence"),
    [
        ("puzzles.csv", "puzzles", "no puzzle file"),
        ("syzygy/KQvK.rtbw", "endgames", "no Syzygy tables"),
        ("match/games.pgn", "openings", "no games.pgn"),
        ("ladder.json", "engines", "with a rating list"),
    ],
)
def test_a_file_that_is_not_there_is_named_and_costs_nothing(lab: Path, capsys, gone, name, sentence):
    run(lab, name)
    before = table(lab, name)
    (lab.parent / gone).unlink()
    capsys.readouterr()
    assert sentence in refusal(capsys, lab, name)
    assert table(lab, name)["entries"] == before["entries"]


def test_a_table_without_its_section_is_left_out_and_refused_when_asked_for(lab: Path, capsys):
    mind = load_config(lab, ResultTables).mind
    lab.write_text(f'mind = "{mind}"\n[size]\nruns = 1\npasses = 2\n')
    assert run(lab) == 0
    assert [path.name for path in (lab.parent / "out").glob("*.json")] == ["size.json"]
    capsys.readouterr()
    assert "there is no [puzzles] in the config" in refusal(capsys, lab, "puzzles")


def test_the_shipped_config_is_one() -> None:
    root = Path(__file__).resolve().parents[3]
    plan = load_config(root / "configs" / "lab-resnet-tables.toml", ResultTables)
    assert plan.players() == ["resnet", "resnet?mode=q", "resnet?mode=value"]
    assert plan.puzzles is not None
    assert [plan.puzzles.count_for(player) for player in plan.players()] == [3000, 3000, 3000]
