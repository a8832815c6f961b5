"""Outside engines as players: the good one plays, and every bad one loses with a reason."""

from __future__ import annotations

import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tabiya._core import Board
from tabiya.player import Limit, Player, PlayerError, PlayerFailure, PlayerName
from tabiya.protocols import engines

QUICK = Limit(movetime=0.05)


def gone(pid: int) -> bool:
    """Whether the process has ended, waiting a little; a zombie has."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("crash_at_move", "crash_at_move crashed"),
        ("hang", "hang did not move within 0.35 seconds"),
        ("illegal", "illegal played the illegal move e2e5"),
        ("null_move", "null_move made no move"),
        ("no_move", "no_move made no move"),
        ("empty_move", "empty_move made no move"),
    ],
)
def test_an_engine_that_misbehaves_loses_with_its_reason(misbehaving, mode, reason):
    # Only the one that hangs is kept waiting briefly: the others must answer however busy the machine is.
    player = misbehaving(mode, **({"margin": "0.3"} if mode == "hang" else {}))
    with pytest.raises(PlayerFailure) as failure:
        player.play(Board(), QUICK)
    assert str(failure.value) == reason


def test_nonsense_for_a_move_is_quoted_in_the_reason(misbehaving):
    with pytest.raises(PlayerFailure, match=r"garbage answered nonsense .*ziggy"):
        misbehaving("garbage").play(Board(), QUICK)


def test_noise_before_a_legal_move_is_survived(misbehaving):
    assert misbehaving("garbage_then_move").play(Board(), QUICK).move == "e2e4"


def test_a_broken_engine_plays_again_after_new_game(misbehaving, tmp_path):
    player = misbehaving("crash_once", str(tmp_path / "has crashed"))
    with pytest.raises(PlayerFailure, match="crashed"):
        player.play(Board(), QUICK)
    player.new_game()
    assert player.play(Board(), QUICK).move == "e2e4"


def test_a_hung_engine_and_its_children_are_killed(misbehaving, tmp_path):
    note = tmp_path / "pid"
    player = misbehaving("hang_with_a_child", str(note), margin="2")
    pid = player._process.pid
    with pytest.raises(PlayerFailure, match="did not move within"):
        player.play(Board(), QUICK)
    assert gone(pid)
    assert gone(int(note.read_text()))


def test_a_limit_without_time_has_an_end_as_well(misbehaving):
    player = misbehaving("hang", patience="0.3")
    with pytest.raises(PlayerFailure, match=r"did not move within 0\.3 seconds"):
        player.play(Board(), Limit(nodes=10))


def test_an_engine_deaf_to_stop_is_killed(misbehaving):
    player = misbehaving("hang", margin="0.3")
    threading.Timer(0.2, player.stop).start()
    with pytest.raises(PlayerFailure, match="did not stop when asked"):
        player.play(Board(), Limit(infinite=True))


def test_what_an_engine_says_of_its_move_is_kept(misbehaving):
    decision = misbehaving("slow").play(Board(), QUICK)
    assert decision.move == "e2e4"
    assert decision.score == 29_998
    assert decision.wdl == pytest.approx((0.9, 0.08, 0.02))
    assert (decision.depth, decision.nodes, decision.pv) == (3, 77, ("e2e4", "e7e5"))
    assert decision.seconds >= 0.4


def test_an_engine_that_dies_at_start_up_says_so(misbehaving):
    with pytest.raises(PlayerFailure, match="crash_at_start died at start-up"):
        misbehaving("crash_at_start")


@pytest.mark.parametrize("mode", ["silent", "wrong_protocol"])
def test_an_engine_that_never_says_uciok_is_given_up(misbehaving, mode):
    with pytest.raises(PlayerFailure, match=f"{mode} did not answer as a uci engine within 0.5 seconds"):
        misbehaving(mode, start_timeout="0.5")


def test_a_uci_engine_is_no_xboard_engine():
    script = Path(__file__).parent / "engines" / "misbehaving_uci.py"
    name = PlayerName("xboard", sys.executable, options={"args": f"{shlex.quote(str(script))} slow"})
    with pytest.raises(PlayerFailure, match="does not speak xboard"):
        engines.open_player(name)


def open_named(text: str) -> Player:
    return engines.open_player(PlayerName.parse(text))


def test_a_missing_engine_is_one_sentence():
    with pytest.raises(PlayerError, match=r"there is no engine '/no/such/engine'"):
        open_named("uci:/no/such/engine")


def test_a_file_that_is_no_program_is_one_sentence(tmp_path):
    plain = tmp_path / "notes.txt"
    plain.write_text("hello")
    with pytest.raises(PlayerError, match="is not executable"):
        open_named(f"uci:{plain}")
    with pytest.raises(PlayerError, match="is a folder"):
        open_named(f"uci:{tmp_path}")
    with pytest.raises(PlayerError, match="uci needs the path of an engine"):
        open_named("uci:")


def test_a_program_that_cannot_be_run_is_one_sentence(tmp_path):
    broken = tmp_path / "engine"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    with pytest.raises(PlayerError, match="cannot be run"):
        open_named(f"uci:{broken}")


def test_an_unknown_option_is_refused_with_the_nearest_name(misbehaving):
    with pytest.raises(PlayerError, match="slow has no option 'Patienc', did you mean 'Patience'"):
        misbehaving("slow", Patienc="3")


@pytest.mark.parametrize("value", ["eleven", "11"])
def test_a_value_that_the_option_does_not_take_is_refused(misbehaving, value):
    with pytest.raises(PlayerError, match=f"slow refused Patience={value}"):
        misbehaving("slow", Patience=value)


@pytest.mark.parametrize("setting", ["margin", "patience", "start_timeout", "multipv"])
def test_a_setting_that_is_no_number_is_refused_by_name(misbehaving, setting):
    with pytest.raises(PlayerError, match=f"{setting} of .* must be a number above 0, not 'soon'"):
        misbehaving("slow", **{setting: "soon"})


def test_a_path_with_spaces_is_a_path(tmp_path):
    folder = tmp_path / "my engines"
    folder.mkdir()
    engine = folder / "engine one.py"
    source = (Path(__file__).parent / "engines" / "misbehaving_uci.py").read_text()
    engine.write_text(f"#!{sys.executable}\n{source}")
    engine.chmod(engine.stat().st_mode | stat.S_IXUSR)
    with open_named(f"uci:{engine}?args=slow") as player:
        assert player.name == "engine one"
        assert player.play(Board(), QUICK).move == "e2e4"


def test_options_reach_the_one_who_runs_the_engine(misbehaving):
    player = misbehaving("slow")
    assert [(option.name, option.kind, option.low, option.high) for option in player.options()] == [
        ("Patience", "spin", 1, 10)
    ]
    player.set_option("Patience", "7")
    with pytest.raises(ValueError, match="no option 'Foo'"):
        player.set_option("Foo", "1")


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("illegal", "played the illegal move e2e5"),
        ("garbage", "answered nonsense"),
        ("error", "too lazy"),
        ("crash_at_move", "crashed"),
        ("hang", "did not move within"),
    ],
)
def test_an_xboard_engine_that_misbehaves_loses_with_its_reason(misbehaving, mode, reason):
    with pytest.raises(PlayerFailure, match=reason):
        misbehaving(mode, kind="xboard", **({"margin": "0.3"} if mode == "hang" else {})).play(Board(), QUICK)


def test_an_xboard_engine_without_what_a_game_needs_is_refused_before_it(misbehaving):
    with pytest.raises(PlayerError, match="lacks the xboard feature 'setboard'") as caught:
        misbehaving("no_setboard", kind="xboard")
    assert not isinstance(caught.value, PlayerFailure)


def test_an_xboard_engine_may_resign_and_offer_a_draw(misbehaving):
    assert misbehaving("resign", kind="xboard").play(Board(), QUICK).wants == "resign"
    offer = misbehaving("offer_draw", kind="xboard").play(Board(), QUICK)
    assert (offer.move, offer.wants) == ("e2e4", "draw")


def test_an_xboard_engine_tells_what_it_thinks(misbehaving):
    decision = misbehaving("fine", kind="xboard").play(Board(), QUICK)
    assert (decision.move, decision.score, decision.depth, decision.nodes) == ("e2e4", 35, 4, 1234)


def test_a_closed_engine_leaves_no_process(misbehaving):
    player = misbehaving("slow")
    pid = player._process.pid
    player.close()
    assert gone(pid)


HOST = """
import sys
from tabiya._core import Board
from tabiya.player import Limit, PlayerName
from tabiya.protocols import engines

player = engines.open_player(PlayerName("uci", sys.executable, options={"args": sys.argv[1]}))
print(player._process.pid, flush=True)
player.play(Board(), Limit(infinite=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_ends_with_the_program_that_was_killed(tmp_path, end):
    hanging = tmp_path / "hanging"
    engine = Path(__file__).parent / "engines" / "misbehaving_uci.py"
    arguments = shlex.join([str(engine), "hang", str(hanging)])
    command = [sys.executable, "-c", HOST, arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
        pid = int(host.stdout.readline())
        while not hanging.exists():
            assert host.poll() is None
            time.sleep(0.02)
        host.send_signal(end)
    assert host.returncode == -end
    assert gone(pid)


def test_stockfish_plays_and_has_an_opinion(stockfish):
    board = Board()
    board.push("e2e4")
    with open_named(f"uci:{stockfish}?Hash=16&Threads=1") as player:
        decision = player.play(board, Limit(nodes=2000))
    assert board.is_legal(decision.move)
    assert decision.nodes >= 1000
    assert decision.pv[0] == decision.move
    assert decision.score is not None
    assert decision.wdl is not None
    assert sum(decision.wdl) == pytest.approx(1)


def test_stockfish_sees_mate(stockfish):
    with open_named(f"uci:{stockfish}") as player:
        decision = player.play(Board("6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"), Limit(depth=5))
    assert (decision.move, decision.score) == ("d1d8", 29_999)


def test_stockfish_gives_several_candidates_when_asked(stockfish):
    with open_named(f"uci:{stockfish}?multipv=4") as player:
        moves = player.play(Board(), Limit(depth=4)).moves
    assert len(moves) == 4
    assert len({each.move for each in moves}) == 4
    assert [each.score for each in moves] == sorted((each.score for each in moves), reverse=True)


def test_stockfish_stops_when_asked(stockfish):
    with open_named(f"uci:{stockfish}") as player:
        threading.Timer(0.3, player.stop).start()
        decision = player.play(Board(), Limit(infinite=True))
    assert Board().is_legal(decision.move)


def test_asking_stockfish_for_an_elo_limits_its_strength(stockfish):
    with open_named(f"uci:{stockfish}?UCI_Elo=1500") as player:
        assert player._process.protocol.config["UCI_LimitStrength"] is True


def test_stockfish_killed_from_outside_crashed_and_comes_back(stockfish):
    with open_named(f"uci:{stockfish}") as player:
        threading.Timer(0.3, os.kill, (player._process.pid, 9)).start()
        with pytest.raises(PlayerFailure, match="stockfish crashed"):
            player.play(Board(), Limit(infinite=True))
        player.new_game()
        assert Board().is_legal(player.play(Board(), Limit(depth=2)).move)
