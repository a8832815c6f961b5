"""The other pages in a real browser: opinions, reasons, watching, results; for everyone."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

MATE = "6k1/5ppp/8/8/8/8/8/3RK3 w - - 0 1"
PAGES = ["play", "opinions", "why", "watch", "ratings", "evolution", "training"]


def square(page, name):
    return page.locator(f".board .square[data-square={name}]")


def set_up(page, fen):
    page.get_by_label("From a position or a game").fill(fen)
    page.get_by_role("button", name="Set up").click()


def test_opinions_of_a_position_side_by_side_with_arrows(server, visit):
    page = visit(f"{server.url}#opinions").page
    set_up(page, MATE)
    page.locator(".opinion[data-mind=turing] b", has_text="Rd8#").wait_for()
    page.locator(".opinion[data-mind=resnet] .bar").wait_for()
    page.locator(".overlay g[data-mind=turing]").wait_for()
    bar = page.locator(".opinion[data-mind=resnet] .bar").get_attribute("aria-label")
    assert bar == "White 20 %, draw 30 %, Black 50 %"
    page.locator(".status", has_text="They part").wait_for()
    assert re.search(r"Rd8# \([^)]*Turing", page.locator(".status").inner_text())


def test_opinions_follow_the_moves_on_the_board(server, visit):
    page = visit(f"{server.url}#opinions").page
    page.locator(".opinion[data-mind=resnet] b", has_text="a3").wait_for()
    square(page, "e2").click()
    square(page, "e4").click()
    page.locator(".opinion[data-mind=resnet] b", has_text="a5").wait_for()
    page.get_by_role("button", name="One move back").click()
    page.locator(".opinion[data-mind=resnet] b", has_text="a3").wait_for()


def test_an_answer_given_up_half_way_is_no_answer(server, visit):
    page = visit(server.url).page
    page.get_by_role("button", name="Start a new game").wait_for()
    outcome = """async (name) => {
      const { ask } = await import("/static/api.js");
      const real = window.fetch;
      const fault = new DOMException("given up", name);
      const broken = { ok: true, status: 200, json: () => Promise.reject(fault) };
      window.fetch = () => Promise.resolve(broken);
      try {
        return await ask("minds").then(() => "an answer", (error) => `${error.name}: ${error.message}`);
      } finally {
        window.fetch = real;
      }
    }"""
    assert page.evaluate(outcome, "AbortError") == "AbortError: given up"
    assert page.evaluate(outcome, "SyntaxError") == "Error: The server's answer could not be read."


def test_opinions_of_an_impossible_position_are_a_sentence(server, visit):
    page = visit(f"{server.url}#opinions").page
    page.locator(".opinion[data-mind=resnet] b").wait_for()
    set_up(page, "8/8/8/8/8/8/8/8 w - - 0 1")
    page.locator(".problem", has_text="missing king").wait_for()
    assert page.locator(".opinion[data-mind=resnet] b").count() == 1


def test_a_mind_that_is_not_at_hand_is_named_and_the_others_answer(serve, visit, missing_mind):
    page = visit(f"{serve(minds={'genetic': missing_mind}).url}#opinions").page
    page.locator("small", has_text="no genome is shipped").wait_for()
    page.locator(".opinion[data-mind=turing] b").wait_for()


def test_blanking_a_square_changes_the_choice(server, visit):
    page = visit(f"{server.url}#why").page
    set_up(page, MATE)
    row = page.locator("tr[data-mind=turing]")
    row.locator("td", has_text="Rd8#").wait_for()
    square(page, "d1").click()
    row.locator("td", has_text="(changed)").wait_for()
    assert "blank" in square(page, "d1").get_attribute("class")
    square(page, "e1").click()
    page.locator(".problem", has_text="king on e1").wait_for()
    page.get_by_role("button", name="Put all back").click()
    page.locator(".square.blank").wait_for(state="detached")


def test_a_heat_map_and_its_sentences_are_drawn_from_the_lens(serve, visit):
    def explain(player, board):
        return {
            "move": "d1d8",
            "squares": {"g8": 0.5, "d1": 0.25, "a8": 0.1, "a1": 0.0},
            "pairs": [{"from": "d1", "to": "d8", "weight": 0.4}],
            "claims": [
                {"text": "The king has no way out.", "intervention": "without h7", "holds": True},
                {"text": "The rook is hanging.", "intervention": "without d1", "holds": False},
            ],
        }

    page = visit(f"{serve(explain=explain).url}#why").page
    set_up(page, MATE)
    page.locator("tr[data-mind=turing] td", has_text="Rd8#").wait_for()
    page.get_by_label("Look into").select_option("turing")
    page.get_by_role("button", name="Ask why").click()
    page.locator(".claims li", has_text="no way out").wait_for()
    assert page.locator(".square.hot").count() == 3
    # Also on the edge, where squares have names: the heat lies under the piece.
    below = "cell => getComputedStyle(cell, '::before').zIndex"
    assert square(page, "a8").evaluate(below) == square(page, "g8").evaluate(below) == "auto"
    assert square(page, "g8").evaluate("cell => cell.style.getPropertyValue('--heat')") == "1"
    assert "falls" in page.locator(".claims li", has_text="hanging").get_attribute("class")


def test_two_minds_are_watched_paused_and_looked_back_at(server, visit):
    page = visit(f"{server.url}#watch").page
    page.get_by_label("White", exact=True).select_option("resnet")
    page.get_by_label("Black", exact=True).select_option("random")
    page.get_by_label("Pace").select_option("fast")
    page.get_by_role("button", name="Let them play").click()
    page.locator(".moves .san").nth(3).wait_for()
    page.locator(".chart .curve").first.wait_for(state="attached")
    page.get_by_role("button", name="Pause").click()
    page.locator(".status", has_text="Paused").wait_for()
    page.get_by_role("button", name="First position").click()
    assert square(page, "e2").locator(".piece").count() == 1
    page.reload()
    page.locator(".status", has_text="Paused").wait_for()
    page.get_by_role("button", name="Go on").click()
    page.locator(".status", has_text="is thinking").wait_for()


def test_results_are_shown_and_a_game_played_through(serve, visit, tmp_path):
    (tmp_path / "list").mkdir()
    players = [{"name": "resnet", "rating": 1700.5, "rating_95": [1650, 1750], "games": 40}]
    (tmp_path / "list" / "result.json").write_text(
        json.dumps({"question": "Who?", "ratings": {"players": players}})
    )
    (tmp_path / "list" / "games.pgn").write_text('[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n')
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.25}\n')
    server = serve(tmp_path)
    page = visit(f"{server.url}#ratings").page
    page.locator("td", has_text="1,701").wait_for()
    page.get_by_role("button", name="Games").click()
    page.locator(".moves .san", has_text="e5").wait_for()
    page.get_by_role("button", name="Last position").click()
    assert square(page, "e5").locator(".piece.black").count() == 1
    page.goto(f"{server.url}#training")
    page.get_by_role("img", name="loss").wait_for()


@pytest.mark.parametrize("name", ["ratings", "evolution", "training"])
def test_an_empty_page_says_what_would_fill_it(server, visit, name):
    page = visit(f"{server.url}#{name}").page
    page.locator(".empty code", has_text="tabiya").first.wait_for()


@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_screen_and_no_other_host_is_asked(server, visit, width):
    seen = visit(server.url, width=width, height=844)
    for name in PAGES:
        seen.page.goto(f"{server.url}#{name}")
        seen.page.locator(f".page.{name} h1").wait_for(state="attached")
        wide = seen.page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= width, name
    assert seen.hosts == {f"127.0.0.1:{server.port}"}


FAULTS = Path(__file__).with_name("accessibility.js").read_text().partition("\n")[2]


@pytest.mark.parametrize("dark", [False, True])
def test_everything_has_a_name_a_role_and_enough_contrast(server, visit, dark):
    page = visit(server.url, dark=dark).page
    for name in PAGES:
        page.goto(f"{server.url}#{name}")
        page.locator(f".page.{name} h1").wait_for(state="attached")
        if name in ("opinions", "why"):
            page.locator("[data-mind=resnet] .bar").wait_for()
        assert page.evaluate(FAULTS) == [], name


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, as a package for Playwright brings it."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        reason = "axe-playwright-python is not installed"
        if os.environ.get("CI"):
            pytest.fail(f"{reason}, and CI installs it")
        pytest.skip(reason)
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def serious(page, axe):
    """What axe-core calls serious or critical on the page as it stands."""
    page.evaluate(f"() => {{ {axe} }}")
    found = page.evaluate("() => axe.run()")["violations"]
    return [
        f"{fault['id']}: {fault['nodes'][0]['html'][:120]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1440, False)])
def test_axe_finds_no_serious_fault_on_any_page(server, visit, axe, width, dark):
    page = visit(server.url, width=width, dark=dark).page
    faults = {}
    for name in PAGES:
        page.goto(f"{server.url}#{name}")
        page.locator(f".page.{name} h1").wait_for(state="attached")
        if name in ("opinions", "why"):
            page.locator("[data-mind=resnet] .bar").wait_for()
        faults[name] = serious(page, axe)
    assert faults == {name: [] for name in PAGES}


FILLED = {"ratings": "td.figure", "evolution": "svg.tree a", "training": ".chart .curve"}
"""What stands on a page of results once it has something to show."""


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1440, True)])
def test_what_comes_along_fills_the_pages_of_results(serve, visit, axe, width, dark):
    server = serve(Path(__file__).resolve().parents[2] / "results")
    page = visit(server.url, width=width, dark=dark).page
    for name, there in FILLED.items():
        page.goto(f"{server.url}#{name}")
        page.locator(f".page.{name} {there}").first.wait_for(state="attached")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, name
        assert "[object" not in page.inner_text("main"), name
        assert serious(page, axe) == [], name


def test_axe_finds_a_fault_that_is_there(server, visit, axe):
    page = visit(server.url).page
    page.get_by_role("button", name="Start a new game").wait_for()
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    assert any(fault.startswith("button-name") for fault in serious(page, axe))


def test_the_search_for_faults_finds_them(server, visit):
    page = visit(server.url).page
    page.get_by_role("button", name="Start a new game").wait_for()
    page.evaluate(
        """() => {
          const pale = document.createElement("p");
          pale.textContent = "hard to read";
          pale.style.color = "#ccc";
          const others = ["button", "h1"].map((name) => document.createElement(name));
          document.querySelector("main").append(pale, ...others);
        }"""
    )
    faults = page.evaluate(FAULTS)
    assert len(faults) == 3
    assert faults[0].startswith("no name: <button")
    assert "hard to read" in faults[1]
    assert faults[2] == "2 first headings"
