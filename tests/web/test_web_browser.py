"""The page in a real browser: whole games by click, key and drag, and everything that may go wrong meanwhile.

Waits are for things to appear, never for a time; a page that says nothing
within the browser's patience fails.
"""

from __future__ import annotations

import re

import pytest

LADDER = "6k1/8/R7/1R6/8/8/8/K7 w - - 0 1"
PROMOTION = "8/P6k/8/8/8/8/8/K7 w - - 0 1"


def square(page, name):
    return page.locator(f".board .square[data-square={name}]")


def names_of(squares):
    return {squares.nth(at).get_attribute("data-square") for at in range(squares.count())}


def click_move(page, first, second):
    square(page, first).click()
    square(page, second).click()


def drag(page, first, second):
    start, end = square(page, first).bounding_box(), square(page, second).bounding_box()
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2 + 3, end["y"] + end["height"] / 2, steps=5)
    page.mouse.up()


def moves_shown(page, *names):
    """Wait until the move list is exactly these; None stands for any."""
    page.locator(".moves .san").nth(len(names) - 1).wait_for()
    shown = page.locator(".moves .san").all_inner_texts()
    assert len(shown) == len(names)
    assert all(name in (None, text) for name, text in zip(names, shown, strict=True))


def status(page, text):
    page.locator(".status", has_text=text).wait_for()


def begin(page, *, mind=None, start="", colour="White"):
    summary = page.locator("summary", has_text="New game")
    summary.wait_for()
    if not page.locator("details[open]").count():
        summary.click()
    if mind:
        page.get_by_label("Opponent").select_option(mind)
    page.get_by_label(colour, exact=True).check()
    page.get_by_label("From a position or a game").fill(start)
    page.get_by_role("button", name="Start a new game").click()


@pytest.fixture
def table(server, visit):
    """A tab on a server whose resnet is scripted: it plays the first move by name."""
    return visit(server.url)


@pytest.mark.parametrize(
    "mind", ["resnet", "transformer", "nnue", "genetic", "turing", "montecarlo", "random"]
)
def test_a_whole_game_against_each_mind_by_clicks(serve, visit, mind):
    page = visit(serve(minds={"resnet": "resnet"}).url).page
    begin(page, mind=mind, start=LADDER)
    status(page, "Your turn")
    click_move(page, "b5", "b7")
    moves_shown(page, "Rb7", None)
    status(page, "Your turn")
    click_move(page, "a6", "a8")
    status(page, "1-0, checkmate")
    assert (
        "check" in (square(page, "g8").get_attribute("class") or "")
        or page.locator(".square.check").count() == 1
    )


@pytest.mark.parametrize("mind", ["resnet", "transformer", "nnue", "genetic"])
def test_a_whole_game_from_the_first_move_to_the_last(serve, visit, mind):
    """By clicks on whatever is offered, until one side is mated, it is a draw, or forty moves are played."""
    page = visit(serve(minds={"resnet": "resnet"}).url).page
    begin(page, mind=mind)
    for made in range(0, 80, 2):
        page.locator(".status", has_text="Your turn").or_(
            page.locator(".status", has_text=re.compile("1-0|0-1|1/2"))
        ).wait_for()
        if "Your turn" not in page.locator(".status").inner_text():
            break
        for name in names_of(page.locator(".square.movable")):
            square(page, name).click()
            targets = page.locator(".square.target")
            if targets.count():
                targets.first.click()
                break
        if page.locator("dialog.promotion").count():
            page.get_by_role("button", name="white queen").click()
        page.locator(".moves .san").nth(made).wait_for()
    if page.locator(".status", has_text="Your turn").count():
        page.get_by_role("button", name="Resign").click()
    page.locator(".status", has_text=re.compile("1-0|0-1|1/2")).wait_for()
    assert page.locator(".problem:visible").count() == 0


def test_dots_mark_the_legal_moves_and_only_those(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    square(page, "g1").click()
    targets = page.locator(".square.target")
    assert sorted(targets.nth(at).get_attribute("data-square") for at in range(targets.count())) == [
        "f3",
        "h3",
    ]
    assert "can be reached" in square(page, "f3").get_attribute("aria-label")
    square(page, "g1").click()
    assert targets.count() == 0


def test_a_drag_moves_and_an_illegal_drag_snaps_back(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    drag(page, "e2", "e5")
    page.locator("#notice", has_text="e2 to e5 is not a legal move").wait_for()
    assert page.locator(".moves .san").count() == 0
    assert square(page, "e2").locator(".piece.white").count() == 1
    drag(page, "e2", "e4")
    moves_shown(page, "e4", "a5")
    assert square(page, "e4").locator(".piece.white").count() == 1
    assert {"a7", "a5"} == {
        page.locator(".square.last").nth(at).get_attribute("data-square") for at in (0, 1)
    }


@pytest.mark.parametrize(("name", "san"), [("white queen", "a8=Q"), ("white knight", "a8=N")])
def test_a_pawn_becomes_what_is_chosen(table, name, san):
    page = table.page
    begin(page, start=PROMOTION)
    status(page, "Your turn")
    click_move(page, "a7", "a8")
    page.get_by_role("button", name=name).click()
    page.locator(".moves .san", has_text=san).wait_for()


def test_a_promotion_can_be_thought_better_of(table):
    page = table.page
    begin(page, start=PROMOTION)
    status(page, "Your turn")
    drag(page, "a7", "a8")
    page.locator("dialog.promotion").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog.promotion").wait_for(state="detached")
    assert page.locator(".moves .san").count() == 0
    assert square(page, "a7").locator(".piece").count() == 1


def test_take_back_resign_and_draw(server, table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    click_move(page, "e2", "e4")
    moves_shown(page, "e4", "a5")
    page.get_by_role("button", name="Take back").click()
    page.locator(".moves .san").first.wait_for(state="detached")
    click_move(page, "d2", "d4")
    moves_shown(page, "d4", "a5")
    server.scripted.wdl = (0.9, 0.1, 0.0)
    click_move(page, "c2", "c4")
    moves_shown(page, "d4", "a5", "c4", None)
    status(page, "Your turn")
    page.get_by_role("button", name="Offer draw").click()
    status(page, "declines the draw")
    page.get_by_role("button", name="Resign").click()
    status(page, "0-1, resignation")


def test_a_premove_is_played_as_soon_as_it_can_be(server, table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    server.scripted.slow = True
    click_move(page, "e2", "e4")
    status(page, "is thinking")
    click_move(page, "d2", "d4")
    assert page.locator(".square.premove").count() == 2
    server.scripted.slow = False
    server.scripted.stop()
    moves_shown(page, "e4", "a5", "d4", None)
    assert page.locator(".square.premove").count() == 0


def test_a_fen_typed_wrong_is_a_sentence_and_the_game_goes_on(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    begin(page, start="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq - 0 1")
    page.locator(".new .problem", has_text="alformed FEN").wait_for()
    begin(page, start="1. e4 e5 2. Ke3 *")
    page.locator(".new .problem", has_text="PGN is broken").wait_for()
    click_move(page, "e2", "e4")
    moves_shown(page, "e4", "a5")


def test_a_paste_of_ten_megabytes_is_a_sentence(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    page.locator("summary", has_text="New game").click()
    area = page.get_by_label("From a position or a game")
    area.evaluate(
        """area => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", "x".repeat(10_000_000));
          const paste = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
          if (area.dispatchEvent(paste)) throw new Error("the paste was let through");
        }"""
    )
    page.locator("#notice", has_text="too large").wait_for()
    area.evaluate("area => { area.value = 'x'.repeat(300_000); }")
    page.get_by_role("button", name="Start a new game").click()
    page.locator(".new .problem", has_text="too large").wait_for()
    area.fill("")
    click_move(page, "e2", "e4")
    moves_shown(page, "e4", "a5")


def test_a_game_from_a_pgn_can_be_walked_through_by_keys(table):
    page = table.page
    begin(page, start="1. e4 e5 2. Nf3 Nc6 *")
    moves_shown(page, "e4", "e5", "Nf3", "Nc6")
    page.locator(".moves").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.locator(".san[aria-current]", has_text="e5").wait_for()
    assert square(page, "g1").locator(".piece").count() == 1
    page.keyboard.press("Home")
    assert square(page, "e2").locator(".piece").count() == 1
    page.keyboard.press("End")
    assert square(page, "c6").locator(".piece.black").count() == 1


def test_a_reload_in_mid_game_changes_nothing(table):
    page = table.page
    begin(page, colour="Black")
    moves_shown(page, "a3")
    click_move(page, "e7", "e5")
    moves_shown(page, "a3", "e5", None)
    page.reload()
    moves_shown(page, "a3", "e5", None)
    status(page, "Your turn")
    first = page.locator(".square").first
    assert first.get_attribute("data-square") == "h1"


def test_a_server_that_was_started_anew_gets_the_game_back(server, table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    click_move(page, "e2", "e4")
    moves_shown(page, "e4", "a5")
    server.stop()
    page.locator("#notice", has_text="cannot be reached").wait_for()
    server.start()
    page.locator("#notice", has_text="Connected again").wait_for()
    click_move(page, "d2", "d4")
    moves_shown(page, "e4", "a5", "d4", None)


def test_a_move_made_while_the_server_is_away_is_played_when_it_is_back(server, table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    server.stop()
    click_move(page, "e2", "e4")
    page.locator(".problem", has_text="cannot be reached").wait_for()
    server.start()
    moves_shown(page, "e4", "a5")


def test_two_tabs_play_two_games_and_each_keeps_its_own(server, visit):
    one = visit(server.url)
    begin(one.page)
    status(one.page, "Your turn")
    two = visit(server.url, beside=one.page.context)
    begin(two.page, start=LADDER)
    status(two.page, "Your turn")
    click_move(one.page, "e2", "e4")
    moves_shown(one.page, "e4", "a5")
    click_move(two.page, "b5", "b7")
    moves_shown(two.page, "Rb7", None)
    one.page.reload()
    moves_shown(one.page, "e4", "a5")


def test_two_tabs_on_one_game_both_see_every_move(server, visit):
    one = visit(server.url)
    begin(one.page)
    status(one.page, "Your turn")
    two = visit(one.page.url, beside=one.page.context)
    status(two.page, "Your turn")
    click_move(two.page, "e2", "e4")
    moves_shown(one.page, "e4", "a5")
    moves_shown(two.page, "e4", "a5")


def test_a_clock_runs_and_a_typed_move_stops_it(table):
    page = table.page
    page.get_by_label("Clock").select_option("3 + 2")
    begin(page)
    status(page, "Your turn")
    assert page.locator(".clock.running").get_attribute("data-side") == "white"
    page.get_by_label("Type a move").fill("Qh5")
    page.keyboard.press("Enter")
    page.locator(".right > .problem", has_text="would").or_(
        page.locator(".right > .problem", has_text="queen")
    ).wait_for()
    page.get_by_label("Type a move").fill("nf3")
    page.keyboard.press("Enter")
    moves_shown(page, "Nf3", "a5")


def test_a_game_is_saved_as_pgn(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    click_move(page, "e2", "e4")
    moves_shown(page, "e4", "a5")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save PGN").click()
    text = download.value.path().read_text()
    assert re.search(r"1\. e4 a5", text)


def test_a_game_by_keyboard_alone(server, visit):
    page = visit(server.url).page
    page.get_by_role("button", name="Start a new game").wait_for()
    for _ in range(60):
        if page.evaluate("() => document.activeElement.textContent") == "Start a new game":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    status(page, "Your turn")
    page.keyboard.press("Control+Home")
    for _ in range(60):
        if page.evaluate("() => document.activeElement.getAttribute('role')") == "gridcell":
            break
        page.keyboard.press("Shift+Tab")
    assert page.evaluate("() => document.activeElement.dataset.square") == "e1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press(" ")
    moves_shown(page, "e4", "a5")


def test_a_finger_moves_on_a_phone(server, visit):
    page = visit(server.url, width=390, height=844).page
    begin(page)
    status(page, "Your turn")
    square(page, "e2").tap()
    assert page.locator(".square.target").count() == 2
    square(page, "e4").tap()
    moves_shown(page, "e4", "a5")


def test_flipping_turns_the_board_and_the_names(table):
    page = table.page
    begin(page)
    status(page, "Your turn")
    names = page.locator(".player strong")
    assert names.all_inner_texts() == ["ResNet", "You"]
    page.get_by_role("button", name="Flip the board").click()
    assert names.all_inner_texts() == ["You", "ResNet"]
    assert page.locator(".square").first.get_attribute("data-square") == "h1"
    page.locator("body").press("f")
    assert page.locator(".square").first.get_attribute("data-square") == "a8"
