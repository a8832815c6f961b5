"""What a person at the page reads when something cannot be done: a sentence and an HTTP status."""

from __future__ import annotations

from tabiya.errors import UserError

_LONGEST = 300


class Refusal(UserError):  # noqa: N818 - it names what the page answers
    """Asked for what cannot be had; the sentence goes to the page, where the rest goes on working."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(shortened(sentence))
        self.status = status


def shortened(sentence: str) -> str:
    """One line of a length that a page can show: the culprit may be a paste of any size."""
    line = " ".join(sentence.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
