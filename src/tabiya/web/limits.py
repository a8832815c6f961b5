"""How much anyone may ask of the server: every such number, and nothing else.

The page is for one person or a class of them, on a machine that does other
work too. Each number is generous for a person and small for the machine, so
that nobody, by accident or on purpose, takes all of it.
"""

from __future__ import annotations

LARGEST_BODY = 256 * 1024
"""Bytes of one request: a PGN of a whole match fits, a pasted book of games does not."""

BODY_SECONDS = 10.0
"""Time for a request's body to arrive."""

LONGEST_FEN = 120
LONGEST_GAME = 1000
"""Half-moves; a game that reaches them is a draw."""

MOST_GAMES = 500
"""Games kept in memory; the one untouched for longest makes room, and its page brings it back when asked."""

MOST_STREAMS = 500
"""Open connections that wait for news."""

MOST_WATCHED = 4
"""Games between two minds that may run at the same time."""

MOST_WAITING = 200
"""Thoughts that may wait for a mind of one kind to be free."""

THOUGHT_SECONDS = 10.0
"""The longest thought about one move, whatever the nodes or the clock would allow."""

MOST_NODES = 2_000_000
HOTTEST = 3.0
"""The highest temperature."""

LONGEST_CLOCK = 3 * 3600.0
LONGEST_INCREMENT = 120.0

UNWATCHED_SECONDS = 30.0
"""A game between two minds that nobody looks at is paused after so long."""

MOST_FILES = 2000
"""Files of results that are looked at; a folder with more is cut, and the page says so."""

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes of a file of games or figures that is read for the page."""

MOST_POINTS = 400
"""Points of one curve that are sent to the page."""
