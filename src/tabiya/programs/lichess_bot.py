"""What lichess-bot must know of an engine: a file to start, and the `engine:` part of its config.yml.

lichess-bot starts one file and hands it no words, so the words stand in a small
starter. Its config.yml holds the owner's token: that file is never opened here,
the part to put into it is shown.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import PurePath

from tabiya.programs.engine import Engine, serves_a_mind


def starter_name(engine: Engine) -> str:
    """A file name for the starter: `tabiya-nnue`."""
    return "tabiya-" + re.sub(r"[^A-Za-z0-9]+", "-", engine.mind).strip("-")


def starter(engine: Engine) -> str:
    """A shell script that becomes the engine."""
    return f'#!/bin/sh\nexec {shlex.join(engine.words)} "$@"\n'


def is_starter(text: str) -> bool:
    """Whether a file's text is a starter of ours, of whatever mind."""
    return text.startswith("#!/bin/sh\nexec ") and serves_a_mind(text.split()[:-1])


def section(engine: Engine, folder: PurePath, options: Mapping[str, int]) -> str:
    """The `engine:` part of config.yml; strings are written as JSON, which YAML reads too."""
    lines = [
        "engine:",
        f"  dir: {json.dumps(str(folder), ensure_ascii=False)}",
        f"  name: {json.dumps(starter_name(engine))}",
        '  working_dir: ""',
        f"  protocol: {json.dumps(engine.protocol)}",
        "  ponder: false",
        # lichess-bot stops at an option that the engine does not have: these are all it may be given.
        "  uci_options:" if options else "  uci_options: {}",
    ]
    lines += [f"    {name}: {value}" for name, value in options.items()]
    return "\n".join([*lines, "  silence_stderr: false", ""])
