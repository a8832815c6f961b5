"""The example genome, and ways to change one number of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).with_name("example.txt")
CONFIG = Path(__file__).with_name("small.conf")


@pytest.fixture
def example() -> str:
    return EXAMPLE.read_text()


@pytest.fixture
def changed(example: str) -> Callable[..., str]:
    """The example's text with properties of one gene set, or added."""

    def change(gene: str, **values: float) -> str:
        head, name, rest = example.partition(f"Name: {gene} Gene\n")
        body, blank, tail = rest.partition("\n\n")
        for key, value in values.items():
            line = f"{key.replace('_', ' ')}: {value}"
            pattern = rf"^{re.escape(key.replace('_', ' '))}: .*$"
            body = (
                re.sub(pattern, line, body, flags=re.M)
                if re.search(pattern, body, re.M)
                else f"{line}\n{body}"
            )
        return head + name + body + blank + tail

    return change


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., Path]:
    """A config file in `tmp_path` whose pool file lies beside it; a value of None leaves a key out."""

    def write(name: str = "pool.conf", **changes: object) -> Path:
        text = CONFIG.read_text().replace("pool.txt", str(tmp_path / "pool.txt"))
        for key, value in changes.items():
            words = key.replace("_", " ")
            text = re.sub(rf"^{words} = .*\n", "", text, flags=re.M)
            text += "" if value is None else f"{words} = {value}\n"
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
