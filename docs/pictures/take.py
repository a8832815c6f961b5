"""Takes the pictures of the README anew: the web page in a real browser, and an explanation.

    python docs/pictures/take.py

Needs what tests need: Playwright, a Chromium, and Pillow. What the pictures show
is what the shipped minds answer today.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
FORK = "r1b1k2r/ppp2ppp/8/3N4/8/8/PPP2PPP/R3K2R w KQkq - 0 1"
TWO_KNIGHTS = "r1bqkb1r/pppp1ppp/2n2n2/4p1N1/2B1P3/8/PPPP1PPP/RNBQK2R b KQkq - 5 4"
PATIENCE = 120_000
"""Milliseconds for the slowest mind on a busy machine."""


def opinions(page: Page) -> None:
    answered = page.locator(".status", has_text="They")
    answered.wait_for()
    _set_up(page, TWO_KNIGHTS)
    page.locator(".board .square[data-square=g5] .piece").wait_for()
    answered.wait_for()


def why(page: Page) -> None:
    page.get_by_label("Look into").select_option("resnet")
    _set_up(page, FORK)
    page.get_by_role("button", name="Ask why").click()
    page.get_by_text("The warmer a square").wait_for()


def phone(page: Page) -> None:
    page.get_by_label("Opponent").select_option("transformer")
    page.get_by_role("button", name="Start a new game").click()
    for number, (start, end) in enumerate((("e2", "e4"), ("g1", "f3"), ("f1", "c4"))):
        page.locator(".status", has_text="Your turn").wait_for()
        for square in (start, end):
            page.locator(f".board .square[data-square={square}]").click()
        page.locator(".moves .san").nth(2 * number + 1).wait_for()
    page.locator(".status", has_text="Your turn").wait_for()


PAGES = {
    # file: what is done there, its page, width and height, width of the picture, dark
    "opinions.webp": (opinions, "opinions", (1280, 1150), 1000, False),
    "why.webp": (why, "why", (1280, 1150), 900, False),
    "phone.webp": (phone, "play", (390, 844), 390, True),
}


def main() -> None:
    with _server() as url, _browser() as browser:
        for name, (act, place, (width, height), shown, dark) in PAGES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                reduced_motion="reduce",
            )
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.goto(f"{url}#{place}")
            act(page)
            page.evaluate("scrollTo(0, 0); document.activeElement?.blur()")
            shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            smaller = shot.resize((shown, height * shown // width), Image.Resampling.LANCZOS)
            smaller.save(HERE / name, quality=90, method=6)
            context.close()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*_tabiya("explain"), "resnet", FORK, "--out", folder], check=True)
        (picture,) = Path(folder).glob("*.png")
        Image.open(picture).save(HERE / "explain.png", optimize=True)


def _set_up(page: Page, fen: str) -> None:
    page.get_by_label("From a position or a game").fill(fen)
    page.get_by_role("button", name="Set up").click()


def _tabiya(*words: str) -> list[str]:
    return [sys.executable, "-m", "tabiya", *words]


@contextmanager
def _server() -> Iterator[str]:
    """A page of its own on a free port; its address."""
    server = subprocess.Popen(_tabiya("serve", "--port", "0"), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield next(word for line in server.stdout for word in line.split() if word.startswith("http"))
    finally:
        server.terminate()
        server.wait()


@contextmanager
def _browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        sys.exit("chromium is not installed")
    with sync_playwright() as driver:
        yield driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )


if __name__ == "__main__":
    main()
