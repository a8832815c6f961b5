"""A mind as a file of its own, for programs that start an engine's file and hand it no words.

lichess-bot is one of them, and Cute Chess from 1.3 on: it takes the whole
command in its list for the name of a file. PyChess would hand over words, but
tells engines apart by the checksum of their files, and all minds are one program.
"""

from __future__ import annotations

import hashlib
import re
import shlex

from tabiya.programs.engine import Engine, serves_a_mind, words_of

PREFIX = "tabiya-"


def starter_name(mind: str) -> str:
    """A file name for the starter of a mind; no two minds share one.

    >>> starter_name("nnue"), starter_name("random?seed=1")
    ('tabiya-nnue', 'tabiya-random-seed-1-ad8236')
    """
    plain = re.sub(r"[^A-Za-z0-9]+", "-", mind).strip("-")
    mark = "" if plain == mind else "-" + hashlib.sha256(mind.encode()).hexdigest()[:6]
    return PREFIX + plain + mark


def starter(engine: Engine) -> str:
    """A shell script that becomes the engine."""
    return f'#!/bin/sh\nexec {shlex.join(engine.words)} "$@"\n'


def is_starter(text: str) -> bool:
    """Whether a file's text is a starter of ours, of whatever mind."""
    head, tail = "#!/bin/sh\nexec ", ' "$@"\n'
    return text.startswith(head) and text.endswith(tail) and serves_a_mind(words_of(text)[2:-1])
