"""The genetic player: which genome a name means, its limits, its search."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path

import pytest

from tabiya._core import Board, GeneticMind, Genome, StopFlag, genetic_game
from tabiya.cli import main
from tabiya.minds.genetic.player import SHIPPED, GeneticPlayer, open_player, shipped_genome
from tabiya.player import Limit, PlayerError, PlayerFailure, PlayerName
from tabiya.roster import open_player as open_any_player

MATE_IN_TWO = "7k/8/8/8/8/8/R7/1R4K1 w - - 0 1"


def opened(text: str) -> GeneticPlayer:
    player = open_player(PlayerName.parse(text))
    assert isinstance(player, GeneticPlayer)
    return player


def refused(text: str) -> str:
    with pytest.raises(PlayerError) as caught:
        open_player(PlayerName.parse(text))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def genomes(*ids: int) -> str:
    return "".join(f"{Genome.random(id, id).text()}\n" for id in ids)


@pytest.fixture
def player(example: str) -> GeneticPlayer:
    return GeneticPlayer(Genome(example))


def test_the_roster_knows_it(tmp_path, example):
    (tmp_path / "one.txt").write_text(example)
    with open_any_player(f"genetic:{tmp_path / 'one.txt'}") as player:
        assert player.name == "genetic:one#27514"
        assert Board().is_legal(player.play(Board(), Limit(depth=2)).move)


def test_a_number_chooses_a_genome(tmp_path):
    (tmp_path / "some.txt").write_text(genomes(3, 11, 1))
    assert opened(f"genetic:{tmp_path / 'some.txt'}#11").genome.id == 11
    assert "there is no genome 2 in" in refused(f"genetic:{tmp_path / 'some.txt'}#2")
    assert "a whole number, got #x" in refused(f"genetic:{tmp_path / 'some.txt'}#x")


def test_a_pools_oldest_living_is_meant(tmp_path):
    path = tmp_path / "pool.txt"
    alive = [
        "Still alive in pool 0: 1 2\nStill alive in pool 1: 3 4\n",
        "Still alive in pool 0: 2 5\nStill alive in pool 1: 3 4\n",
    ]
    path.write_text(genomes(1, 2, 3, 4) + alive[0] + "\n" + genomes(5) + alive[1])
    assert opened(f"genetic:{path}").genome.id == 2


def test_without_living_the_last_genome_is_meant(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(genomes(7, 5))
    assert opened(f"genetic:{path}").genome.id == 5


def test_without_living_but_with_games_the_last_with_three_wins_is_meant(tmp_path):
    path = tmp_path / "some.txt"
    path.write_text(genomes(1, 2, 3))
    game = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n{}\n\n'
    won = [(1, 3, "1-0")] * 3 + [(3, 2, "0-1")] * 3 + [(3, 1, "1-0")] * 2 + [(3, 1, "1/2-1/2")] * 5
    games = "".join(game.format(white, black, result, result) for white, black, result in won)
    (tmp_path / "some.txt_games.txt").write_text(games)
    assert opened(f"genetic:{path}").genome.id == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "there is no genome in"),
        ("ID: 1\n\nName: Total Force Gene\nPriority: 1\n", "is cut off: the genome with ID: 1 has no END"),
        (
            "ID: 1\n\nName: Total Farce Gene\nPriority: 1\n\nEND\n",
            "genome from line 1 on: line 3: unknown gene",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    assert sentence in refused(f"genetic:{path}")
    assert path.read_text() == text


def test_missing_files_folders_and_options_are_named(tmp_path, example):
    assert "no file" in refused(f"genetic:{tmp_path / 'none.txt'}")
    assert "is a folder" in refused(f"genetic:{tmp_path}")
    (tmp_path / "one.txt").write_text(example)
    assert "genetic has no options, got depth" in refused(f"genetic:{tmp_path / 'one.txt'}?depth=3")
    assert "names a genome but no file" in refused("genetic:#3")


def test_without_a_shipped_genome_one_must_be_named(tmp_path: Path, example):
    with pytest.raises(PlayerError, match=r"no genome is shipped yet: name one with genetic:pool\.txt"):
        shipped_genome(tmp_path)
    (tmp_path / "main.txt").write_text(example)
    assert shipped_genome(tmp_path).id == 27514


@pytest.mark.parametrize("limit", [Limit(depth=3), Limit(nodes=20_000)])
def test_by_nodes_or_depth_the_choice_is_always_the_same(example, limit):
    board = Board("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3")
    found = [GeneticPlayer(Genome(example)).play(board, limit) for _ in range(2)]
    assert (found[0].pv, found[0].nodes, found[0].score) == (found[1].pv, found[1].nodes, found[1].score)


@pytest.mark.parametrize("nodes", [1, 2, 10, 1000])
def test_nodes_are_a_bound(player, nodes):
    decision = player.play(Board(), Limit(nodes=nodes))
    assert Board().is_legal(decision.move)
    assert decision.nodes <= nodes


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_depth_is_a_bound(player, depth):
    decision = player.play(Board(), Limit(depth=depth))
    assert decision.depth == depth
    assert len(decision.pv) <= depth


def test_a_mate_in_two_is_found_and_told(player):
    board = Board(MATE_IN_TWO)
    decision = player.play(board, Limit(depth=3))
    assert decision.score == 29_998
    assert len(decision.pv) == 3
    for move in decision.pv:
        board.push(move)
    assert board.outcome() == ("1-0", "checkmate")


def test_the_shorter_of_two_mates_is_played(player):
    board = Board("6k1/8/6K1/8/8/8/8/QR6 w - - 0 1")
    decision = player.play(board, Limit(depth=4))
    assert decision.score == 29_999


def test_alpha_beta_changes_no_value():
    """Against plain minimax, written again here."""

    def minimax(genome: Genome, board: Board, depth: int) -> float:
        outcome = board.outcome()
        if outcome is not None:
            return 0.0 if outcome[0] == "1/2-1/2" else -1e9
        if depth == 0:
            return genome.score(board)
        best = -float("inf")
        for move in board.legal_moves():
            board.push(move)
            best = max(best, -minimax(genome, board, depth - 1))
            board.pop()
        return best

    for seed, fen in enumerate(
        [
            "r1bqk2r/ppp2ppp/2n2n2/3pp3/1b2P3/2NP1N2/PPP2PPP/R1BQKB1R w KQkq - 0 6",
            "8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50",
            "4k2r/8/8/8/8/8/5q2/R3K3 w Qk - 0 1",
        ]
    ):
        genome, board = Genome.random(1, seed), Board(fen)
        found = GeneticMind(genome).play(board, StopFlag(), depth=2)
        assert found["value"] == pytest.approx(minimax(genome, board, 2))


def test_the_losing_side_takes_a_third_repetition(player):
    board = Board("1q4k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1")
    for move in ("g8f8", "a1a2", "f8g8", "a2a1", "g8f8", "a1a2", "f8g8"):
        board.push(move)
    decision = player.play(board, Limit(depth=1))
    assert (decision.move, decision.score) == ("a2a1", 0.0)
    without_past = player.play(Board(board.fen()), Limit(depth=1))
    assert without_past.score is not None
    assert without_past.score < -100


def test_the_foreseen_line_is_looked_at_first(player):
    board = Board(MATE_IN_TWO)
    first = player.play(board, Limit(depth=3))
    for move in first.pv[:2]:
        board.push(move)
    recalled = player.play(board, Limit(depth=3))
    assert (recalled.move, recalled.score) == (first.pv[2], 29_999)
    assert recalled.nodes == 1
    player.new_game()
    assert player.play(board, Limit(depth=3)).nodes > 1


def test_thought_without_end_ends_when_asked(player):
    timer = threading.Timer(0.2, player.stop)
    timer.start()
    decision = player.play(Board(), Limit(infinite=True))
    timer.join()
    assert Board().is_legal(decision.move)
    assert decision.depth is not None
    assert decision.depth >= 2


def test_thought_without_end_ends_where_there_is_nothing_more_to_see(player):
    assert player.play(Board("k7/2K5/8/8/8/8/8/1R6 w - - 99 80"), Limit(infinite=True)).move


def test_a_game_that_is_over_has_no_move(player):
    with pytest.raises(PlayerFailure, match="could not move"):
        player.play(Board("7k/5KQ1/8/8/8/8/8/8 b - - 0 1"), Limit(depth=1))


@pytest.mark.parametrize(
    "limit", [Limit(white_clock=0.01), Limit(movetime=0.0), Limit(white_clock=5, moves_to_go=1)]
)
def test_any_clock_brings_a_move(player, limit):
    assert Board().is_legal(player.play(Board(), limit).move)


def test_more_time_looks_further_ahead(example):
    board = Board("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3")
    little, much = (GeneticPlayer(Genome(example)).play(board, Limit(nodes=n)) for n in (300, 3_000_000))
    assert (little.depth or 0) < (much.depth or 0)


def test_a_larger_constant_looks_less_far(changed):
    names = ("Can Capture", "Default", "Just Captured", "Recapture")
    found = []
    for constant in (0.1, 10.0):
        text = changed("Look Ahead", **{f"Speculation-{name}": constant for name in names})
        found.append(GeneticPlayer(Genome(text)).play(Board(), Limit(nodes=50_000)).nodes)
    assert found[0] > 2 * found[1]


def test_a_whole_game_by_nodes_is_the_same_game_again(example):
    one = genetic_game(Genome(example), Genome.random(1, 3), 3000, "nodes", StopFlag())
    assert one is not None
    assert one == genetic_game(Genome(example), Genome.random(1, 3), 3000, "nodes", StopFlag())
    board = Board()
    for move in one["moves"]:
        board.push(move)
    assert one["reason"] == "Time forfeiture" or board.outcome() is not None


def test_a_spendthrift_loses_by_its_flag(changed):
    names = ("Can Capture", "Default", "Just Captured", "Recapture")
    spendthrift = changed("Look Ahead", **{f"Speculation-{name}": 0.0 for name in names})
    spendthrift = spendthrift.replace("Mean Game Length: 28.7295", "Mean Game Length: 1")
    thrifty = Genome(changed("Look Ahead", **{f"Speculation-{name}": 50.0 for name in names}))
    game = genetic_game(Genome(spendthrift), thrifty, 3000, "nodes", StopFlag())
    assert game is not None
    assert (game["winner"], game["reason"], game["left"][0]) == ("Black", "Time forfeiture", 0.0)


def test_a_stopped_game_is_no_game(example):
    stop = StopFlag()
    stop.set()
    assert genetic_game(Genome(example), Genome(example), 3000, "nodes", stop) is None


@pytest.mark.parametrize(
    ("old", "new"), [("Priority: 227.647", "Priority: NaN"), ("Total Force", "Total Farce")]
)
def test_the_command_line_refuses_a_bad_genome_in_one_sentence(tmp_path, capsys, example, old, new):
    path = tmp_path / "bad.txt"
    path.write_text(example.replace(old, new))
    assert main(["move", f"genetic:{path}", "startpos"]) == 2
    error = capsys.readouterr().err
    assert str(path) in error
    assert error.count("\n") == 1


def test_the_shipped_genome_is_the_one_of_its_manifest():
    manifest = json.loads((SHIPPED / "main.json").read_text())
    assert hashlib.sha256((SHIPPED / "main.txt").read_bytes()).hexdigest() == manifest["sha256"]
    assert shipped_genome().id == manifest["id"]
