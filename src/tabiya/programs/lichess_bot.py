"""What lichess-bot must know of an engine: a file to start, and the `engine:` part of its config.yml.

Its config.yml holds the owner's token: that file is never opened here, the part
to put into it is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath

from tabiya.programs.engine import Engine
from tabiya.programs.starter import starter_name


def section(engine: Engine, folder: PurePath, options: Mapping[str, int]) -> str:
    """The `engine:` part of config.yml; strings are written as JSON, which YAML reads too."""
    lines = [
        "engine:",
        f"  dir: {json.dumps(str(folder), ensure_ascii=False)}",
        f"  name: {json.dumps(starter_name(engine.mind))}",
        '  working_dir: ""',
        f"  protocol: {json.dumps(engine.protocol)}",
        "  ponder: false",
        # lichess-bot stops at an option that the engine does not have: these are all it may be given.
        "  uci_options:" if options else "  uci_options: {}",
    ]
    lines += [f"    {name}: {value}" for name, value in options.items()]
    return "\n".join([*lines, "  silence_stderr: false", ""])
