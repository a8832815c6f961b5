"""A game at the terminal: what a person sees, types and keeps."""

from __future__ import annotations

import io

import chess.pgn
import pytest
from rich.console import Console

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.minds.simple.random_mover import RandomMover
from tabiya.player import Decision, Limit, Player, PlayerError, PlayerFailure, PlayerName
from tabiya.protocols import board_view, terminal
from tabiya.protocols.board_view import draw
from tabiya.protocols.game_record import GameRecord, last_game
from tabiya.protocols.terminal import HumanPlayer
from tabiya.protocols.terminal_game import TerminalGame


class Scripted(Player):
    """Plays prepared moves, then breaks."""

    name = "scripted"

    def __init__(self, *decisions: Decision | str) -> None:
        self._decisions = [Decision(move=each) if isinstance(each, str) else each for each in decisions]

    def play(self, board: Board, limit: Limit) -> Decision:
        if not self._decisions:
            raise PlayerFailure("scripted crashed")
        return self._decisions.pop(0)


def console(**options: object) -> Console:
    return Console(file=io.StringIO(), width=100, highlight=False, **options)  # type: ignore[arg-type]


def shown(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def typing(*lines: str) -> HumanPlayer:
    """A person who types these lines and then leaves."""
    waiting = iter(lines)

    def read(prompt: str) -> str:
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    return HumanPlayer("Ada", read=read)


def played(white: Player, black: Player, screen: Console, board: Board | None = None, **more: object):
    board = board or Board()
    game = TerminalGame(white, black, board, Limit(nodes=1), screen, **more)  # type: ignore[arg-type]
    return (*game.play(), board)


def test_a_person_mates():
    screen = console()
    result, reason, board = played(
        typing("e4", "Bc4", "qh5", "h5f7"), Scripted("e7e5", "b8c6", "g8f6"), screen
    )
    assert (result, reason) == ("1-0", "checkmate")
    assert board.moves[-1] == "h5f7"
    assert "1-0  checkmate" in shown(screen)


def test_a_wrong_move_is_explained_and_asked_again():
    screen = console()
    *_, board = played(typing("e5", "Nd2", "e4"), Scripted(), screen)
    assert "no pawn of yours can reach e5" in shown(screen)
    assert "no knight of yours can reach d2" in shown(screen)
    assert board.moves == ["e2e4"]


def test_undo_takes_back_both_moves_against_a_machine():
    *_, board = played(typing("e4", "undo", "d4"), Scripted("e7e5", "d7d5"), console())
    assert board.moves == ["d2d4", "d7d5"]


def test_undo_with_nothing_to_take_back_says_so():
    screen = console()
    played(typing("undo"), Scripted(), screen)
    assert "there is nothing to take back" in shown(screen)


def test_two_people_take_back_one_move_each():
    white, black = typing("e4", "d4"), typing("undo")
    *_, board = played(white, black, console())
    assert board.moves == ["d2d4"]


def test_resigning_ends_the_game_at_once():
    result, reason, board = played(typing("e4", "resign"), Scripted("e7e5"), console())
    assert (result, reason, board.moves) == ("0-1", "Ada resigns", ["e2e4", "e7e5"])


@pytest.mark.parametrize(
    ("score", "result"), [(-50, "1/2-1/2"), (50, "0-1")], ids=["worse takes it", "better plays on"]
)
def test_a_draw_is_offered_with_a_move(score, result):
    machine = Scripted(Decision(move="e7e5", score=score), "b8c6")
    outcome, reason, _ = played(typing("e4", "draw", "Nf3", "resign"), machine, console())
    assert outcome == result
    assert reason == ("draw agreed" if result == "1/2-1/2" else "Ada resigns")


@pytest.mark.parametrize(("answer", "result"), [("y", "1/2-1/2"), ("no", "*")])
def test_a_person_is_asked_about_a_draw(answer, result):
    outcome, _, _ = played(Scripted(Decision(move="e2e4", wants="draw")), typing(answer), console())
    assert outcome == result


def test_a_machine_that_breaks_loses_with_its_reason():
    assert played(typing("e4"), Scripted(), console())[:2] == ("1-0", "scripted crashed")


def test_a_machine_that_plays_an_illegal_move_loses():
    result, reason, _ = played(typing("e4"), Scripted("e7e4"), console())
    assert (result, reason) == ("1-0", "scripted played the illegal move e7e4")


def test_a_hint_names_a_move_and_who_would_play_it():
    screen = console()
    played(typing("hint"), Scripted("g1f3"), screen)
    assert "scripted would play Nf3" in shown(screen)


def test_two_people_get_their_hint_from_the_adviser():
    screen = console()
    played(typing("hint"), typing(), screen, adviser=lambda: RandomMover(seed=1))
    assert "random would play " in shown(screen)


def test_a_hint_that_fails_costs_nothing():
    screen = console()
    *_, board = played(typing("hint", "e4"), Scripted(), screen)
    assert "no hint: scripted crashed" in shown(screen)
    assert board.moves == ["e2e4"]


def test_the_words_of_the_prompt_are_explained():
    screen = console()
    played(typing("help", "moves", "fen", "", "flip", "pgn"), Scripted(), screen)
    text = shown(screen)
    for word in ("undo", "resign", "draw", "hint", "flip", "moves", "fen", "pgn", "save", "help", "quit"):
        assert f"  {word} " in text
    assert "Na3 Nc3 Nf3 Nh3 a3 a4" in text
    assert "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1" in text
    assert '[White "Ada"]' in text
    assert " h  g  f  e  d  c  b  a" in text


def test_leaving_keeps_the_game_if_that_was_asked(tmp_path):
    path = tmp_path / "game.pgn"
    result, reason, _ = played(typing("e4", "quit"), Scripted("e7e5"), console(), save=path)
    assert (result, reason) == ("*", "game left unfinished")
    assert "1. e4 e5 { game left unfinished } *" in path.read_text()


def test_ctrl_c_keeps_the_game_and_goes_on_its_way(tmp_path):
    def interrupted(prompt: str) -> str:
        raise KeyboardInterrupt

    path = tmp_path / "game.pgn"
    with pytest.raises(KeyboardInterrupt):
        played(Scripted("e2e4"), HumanPlayer("Ada", read=interrupted), console(), save=path)
    assert "1. e4" in path.read_text()


def test_a_game_that_cannot_be_saved_is_at_least_shown(tmp_path):
    screen = console()
    with pytest.raises(OSError, match="No such file"):
        played(typing("e4"), Scripted("e7e5"), screen, save=tmp_path / "nowhere" / "game.pgn")
    assert "1. e4 e5" in shown(screen)


def test_saving_on_the_way_tells_what_went_wrong(tmp_path):
    screen = console()
    played(typing("save /no/such/folder/x.pgn", f"save {tmp_path / 'x.pgn'}"), Scripted(), screen)
    assert "cannot save /no/such/folder/x.pgn: No such file or directory" in shown(screen)
    assert (tmp_path / "x.pgn").exists()


def test_a_saved_game_stands_once_behind_what_was_there(tmp_path):
    path = tmp_path / "games.pgn"
    path.write_text('[Event "older"]\n\n1. d4 *\n')
    record, board = GameRecord("Ada", "turing"), Board()
    board.push("e2e4")
    record.save(board, path)
    board.push("e7e5")
    record.save(board, path)
    with open(path) as file:
        games = [chess.pgn.read_game(file), chess.pgn.read_game(file), chess.pgn.read_game(file)]
    assert games[2] is None
    assert games[0].headers["Event"] == "older"
    assert [move.uci() for move in games[1].mainline_moves()] == ["e2e4", "e7e5"]


def test_a_saved_game_is_played_on_with_its_history(tmp_path):
    path = tmp_path / "game.pgn"
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    board = Board(fen)
    board.push("e2e4")
    GameRecord("Ada", "Bob").save(board, path)
    again = last_game(path)
    assert (again.start_fen, again.moves) == (fen, ["e2e4"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no game in"),
        ("just words\n", "there is no game in"),
        ("1. e4 e5 2. Ke3 *\n", "is broken"),
    ],
)
def test_a_file_without_a_sound_game_is_one_sentence(tmp_path, text, reason):
    path = tmp_path / "game.pgn"
    path.write_text(text)
    with pytest.raises(UserError, match=reason):
        last_game(path)


def test_without_colours_the_last_move_stands_in_brackets():
    board = Board()
    board.push("e2e4")
    lines = draw(board, console()).plain.splitlines()
    assert lines[0] == " 8  ♜  ♞  ♝  ♛  ♚  ♝  ♞  ♜ "
    assert lines[4] == " 4  ·  ·  ·  · [♙] ·  ·  · "
    assert lines[6] == " 2  ♙  ♙  ♙  ♙ [·] ♙  ♙  ♙ "
    assert draw(board, console(), flipped=True).plain.splitlines()[0] == " 1  ♖  ♘  ♗  ♔  ♕  ♗  ♘  ♖ "


def test_with_colours_squares_the_last_move_and_a_check_differ():
    board = Board()
    for move in ("e2e4", "f7f6", "d1h5"):
        board.push(move)
    screen = console(force_terminal=True, color_system="truecolor")
    picture = draw(board, screen)
    lines = picture.split("\n")

    def ground(square: str) -> str:
        at = 3 + 3 * "abcdefgh".index(square[0])
        style = next(str(span.style) for span in lines[8 - int(square[1])].spans if span.start == at)
        return style.rpartition(" on ")[2]

    assert ground("a1") == ground("c3") != ground("a2") == ground("h1")
    assert ground("d1") == ground("h5") not in (ground("a1"), ground("a2"))
    assert ground("e8") not in (ground("a1"), ground("a2"), ground("d1"))
    assert ground("a1") == board_view._DARK


def test_where_the_terminal_has_no_chessmen_letters_stand_in():
    screen = Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii"), highlight=False)
    text = draw(Board(), screen).plain
    text.encode("ascii")
    assert text.splitlines()[0] == " 8  r  n  b  q  k  b  n  r "


def test_a_person_may_have_a_name_but_no_other_option():
    assert terminal.open_player(PlayerName.parse("human?name=Ada")).name == "Ada"
    for name in ("human:somewhere", "human?level=3"):
        with pytest.raises(PlayerError, match="human takes no path"):
            terminal.open_player(PlayerName.parse(name))


def test_a_person_who_leaves_a_match_loses_it():
    person = typing("e4")
    person.console = console()
    assert person.play(Board(), Limit()).move == "e2e4"
    with pytest.raises(PlayerFailure, match="Ada left the game"):
        person.play(Board(), Limit())
