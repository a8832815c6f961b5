"""The NNUE player: names, settings, limits, and what it says of a position."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tabiya._core import Board, SearchEngine, StopFlag
from tabiya.minds.nnue import shelf
from tabiya.minds.nnue.player import NnuePlayer, open_player
from tabiya.minds.nnue.settings import Settings
from tabiya.player import Limit, Player, PlayerError, PlayerFailure, PlayerName, Report
from tabiya.protocols.scores import mate_in

MATE_IN_TWO = "6k1/5ppp/4r3/8/8/8/5PPP/1R1R2K1 w - - 0 1"


def named(text: str) -> Player:
    return open_player(PlayerName.parse(text))


def handmade(**settings: int) -> NnuePlayer:
    return NnuePlayer(None, Settings(**settings))  # type: ignore[arg-type]


def test_without_a_shipped_network_it_plays_by_hand_and_says_so() -> None:
    player = handmade()
    assert player.name == "nnue (handmade)"
    assert "handmade" in player.note
    assert player.play(Board(), Limit(nodes=500)).move in Board().legal_moves()


def test_a_named_network_judges_and_gives_its_name(network: Path) -> None:
    player = named(f"nnue:{network}?threads=2&hash=1")
    assert isinstance(player, NnuePlayer)
    assert player.name == "nnue:small"
    assert "ALL -> 2 x 16 -> 8 -> 1" in player.note
    assert (player.settings.threads, player.settings.hash) == (2, 1)
    assert player.play(Board(), Limit(nodes=500)).move in Board().legal_moves()


def test_the_network_changes_the_judgement(network: Path, make_network: Callable[..., Path]) -> None:
    first, second = (
        NnuePlayer(network, Settings()),
        NnuePlayer(make_network("other.nnue", seed=9), Settings()),
    )
    scores = {player.play(Board(), Limit(depth=1)).score for player in (first, second, handmade())}
    assert len(scores) == 3


@pytest.mark.parametrize("judge", ["network", "handmade"])
def test_a_limit_in_nodes_gives_the_same_decision_every_time(judge: str, network: Path) -> None:
    path = network if judge == "network" else None
    board = Board("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    decisions = [NnuePlayer(path, Settings()).play(board, Limit(nodes=4000)) for _ in range(2)]
    first, second = ((each.move, each.score, each.nodes, each.pv) for each in decisions)
    assert first == second
    assert first[2] <= 4000


def test_a_mate_is_found_and_counted() -> None:
    decision = handmade().play(Board(MATE_IN_TWO), Limit(depth=6))
    assert decision.move in ("b1b8", "d1d8")
    assert decision.score is not None
    assert mate_in(decision.score) == 2
    assert decision.wdl == (1.0, 0.0, 0.0)


def test_the_chances_agree_with_the_score() -> None:
    decision = handmade().play(Board("4k3/8/8/8/8/8/PP6/4K3 w - - 0 1"), Limit(depth=4))
    assert decision.wdl is not None
    assert decision.score is not None
    assert decision.score > 0
    assert decision.wdl[0] > decision.wdl[2]
    assert sum(decision.wdl) == pytest.approx(1.0)


def test_several_lines_are_ranked() -> None:
    decision = handmade(multipv=3).play(Board(), Limit(depth=5))
    scores = [move.score for move in decision.moves if move.score is not None]
    assert len(scores) == len({move.move for move in decision.moves}) == 3
    assert scores == sorted(scores, reverse=True)
    assert decision.moves[0].move == decision.move


def test_it_reports_every_depth_while_it_thinks() -> None:
    player, heard = handmade(multipv=2), list[Report]()
    player.report = heard.append
    decision = player.play(Board(), Limit(depth=5))
    assert {report.depth for report in heard} == {1, 2, 3, 4, 5}
    assert {report.line for report in heard} == {1, 2}
    last = [report for report in heard if report.line == 1][-1]
    assert (last.pv, last.score) == (decision.pv, decision.score)
    assert last.seldepth is not None
    assert last.seldepth >= 5
    assert last.hashfull is not None


def test_on_a_clock_early_lines_are_told_only_if_nothing_better_follows() -> None:
    player, heard = handmade(), list[Report]()
    player.report = heard.append
    decision = player.play(Board("7k/8/8/8/8/8/R7/K7 b - - 0 1"), Limit(white_clock=0.02, black_clock=0.02))
    assert heard[-1].pv == decision.pv
    assert all(report.seconds >= 0.02 for report in heard[:-1])


def test_an_error_of_the_listener_ends_the_search_and_is_raised() -> None:
    player = handmade()

    def refuse(_report: Report) -> None:
        raise RuntimeError("no more")

    player.report = refuse
    with pytest.raises(RuntimeError, match="no more"):
        player.play(Board(), Limit(infinite=True))


def test_stop_ends_an_infinite_search_from_another_thread() -> None:
    player, deep = handmade(), threading.Event()
    player.report = lambda report: deep.set() if report.depth >= 4 else None
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(player.play(Board(), Limit(infinite=True)).move))
    thread.start()
    assert deep.wait(60)
    player.stop()
    thread.join(60)
    assert answers[0] in Board().legal_moves()


def test_a_position_that_stood_twice_before_is_worth_a_draw() -> None:
    # Black has everything but the move; the rook's checks repeat what the history holds.
    board = Board("7k/4R3/8/8/8/1q4q1/8/K7 w - - 0 1")
    once = handmade().play(board, Limit(depth=3))
    assert once.score is not None
    assert once.score < -500
    for move in ("e7e8", "h8h7", "e8e7", "h7h8") * 2:
        board.push(move)
    twice = handmade().play(board, Limit(depth=3))
    assert twice.score == pytest.approx(0.0, abs=1.0)


def test_a_finished_game_is_refused_with_its_position() -> None:
    board = Board("7k/5KQ1/8/8/8/8/8/8 b - - 0 1")
    with pytest.raises(PlayerFailure, match="could not move in 7k/5KQ1"):
        handmade().play(board, Limit(depth=1))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nnue?hash=0", "Hash must lie between 1 and 65536, not 0"),
        ("nnue?threads=two", "Threads must be a whole number, not 'two'"),
        ("nnue?treads=2", "did you mean 'Threads'?"),
        ("nnue?clearhash=1", "Clear Hash is done at once"),
        ("nnue:/nowhere.nnue", "no network /nowhere.nnue"),
        ("nnue?evalfile=/nowhere.nnue", "no network /nowhere.nnue: No such file or directory"),
        ("nnue:#7", "nnue has no parts"),
    ],
)
def test_a_wrong_name_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(PlayerError) as refusal:
        named(text)
    assert sentence in str(refusal.value)


def test_a_damaged_network_is_refused_by_its_name(network: Path) -> None:
    whole = network.read_bytes()
    for damaged, fault in ((whole[:-100], "cut short"), (b"x" + whole[1:], "TABIYANN")):
        network.write_bytes(damaged)
        with pytest.raises(PlayerError, match=fault) as refusal:
            named(f"nnue:{network}")
        assert str(network) in str(refusal.value)


def test_options_change_the_running_player(network: Path) -> None:
    player = handmade()
    player.set_option("Move Overhead", "50")
    player.set_option("hash", "2")
    player.set_option("Threads", "2")
    player.set_option("Clear Hash", "")
    player.set_option("EvalFile", str(network))
    assert player.settings == Settings(hash=2, threads=2, move_overhead=50, eval_file=str(network))
    assert player.name == "nnue:small"
    player.set_option("EvalFile", "")
    assert player.name == "nnue (handmade)"


def test_a_network_that_cannot_be_read_leaves_the_old_one(network: Path) -> None:
    player = NnuePlayer(network, Settings(), named=True)
    before = player.play(Board(), Limit(depth=1)).score
    with pytest.raises(ValueError, match="no network"):
        player.set_option("EvalFile", "/nowhere.nnue")
    assert player.settings.eval_file == ""
    assert player.play(Board(), Limit(depth=1)).score == before


def test_a_run_folder_stands_for_its_newest_network(make_network: Callable[..., Path]) -> None:
    make_network("run/.new.nnue", seed=3)
    path = make_network("run/step-1.nnue", seed=4)
    assert shelf.network_path(str(path.parent)) == path


def test_an_empty_shelf_has_nothing_and_a_full_one_its_only_network(
    tmp_path: Path, make_network: Callable[..., Path]
) -> None:
    assert shelf.network_path("", tmp_path / "empty") is None
    only = make_network("shelf/main.nnue")
    assert shelf.network_path("", only.parent) == only
    make_network("shelf/second.nnue")
    with pytest.raises(PlayerError, match=r"there are main\.nnue, second\.nnue"):
        shelf.network_path("", only.parent)


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a span of time"):
        SearchEngine().search(Board(), StopFlag(), movetime=float("nan"))
