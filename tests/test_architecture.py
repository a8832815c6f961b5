"""The rules of the house, held by reading the source: who may import whom, and how long a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
LONGEST_FILE = 450

# What each part of the trunk may import of tabiya, beside itself and the ground floor.
GROUND_FLOOR = {"", "errors", "files"}
TRUNK = {
    "scale": set[str](),
    "board": {"_core"},
    "player": {"_core", "board"},
    "protocols": {"_core", "board", "player"},
    "data": {"_core", "board", "player", "protocols", "scale"},
    "arena": {"_core", "board", "player", "protocols", "data", "scale"},
}

# What several minds share stands between them and the trunk, the lens and what of `learn` needs no torch.
SHARED_BY_MINDS = {
    "searchless": {"_core", "board", "player", "protocols", "data", "arena", "learn", "lens"},
}

# What plays, shows or explains: from here no import, however lazy, leads to torch.
NEVER_TORCH = (
    "scale",
    "board",
    "player",
    "protocols",
    "data",
    "arena",
    "roster",
    "lens",
    "searchless",
    "web",
    "bench",
    "programs",
)
NEVER_TORCH_COMMANDS = (
    "play",
    "move",
    "engine",
    "install_engine",
    "explain",
    "serve",
    "minds",
    "match",
    "tournament",
    "evaluate",
    "elo",
    "export_int8",
    "export_check",
    "promote",
    "evolve",
)


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted((SOURCE / "tabiya").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


@cache
def imports_of(name: str) -> frozenset[str]:
    """The modules that `name` imports anywhere in its text, apart from those only for types."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return frozenset(_imports(ast.parse(path.read_text()), package))


def _imports(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.orelse:
            yield from _imports(child, package)
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, base] if base else parents)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
        yield from (str(word.value) for word in node.args[:1] if isinstance(word, ast.Constant))
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, package)


def part_of(name: str) -> str:
    """The part of the package a module belongs to: `tabiya.data.shards` is of `data`."""
    part = name.split(".")[1] if name.startswith("tabiya.") else ""
    return "" if part.startswith("__") else part


def reached_from(roots: list[str]) -> dict[str, str]:
    """Every module that an import can lead to from these, with the module that imports it."""
    reached = dict.fromkeys(roots, "")
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in MODULES:
            continue
        for target in imports_of(name):
            if target not in reached:
                reached[target] = name
                waiting.append(target)
    return reached


def test_the_trunk_and_what_minds_share_import_only_what_stands_below_them() -> None:
    below = TRUNK | SHARED_BY_MINDS
    wrong = [
        f"{name} imports {target}"
        for name in MODULES
        if (part := part_of(name)) in below
        for target in sorted(imports_of(name))
        if part_of(target) not in {part, *GROUND_FLOOR, *below[part]}
    ]
    assert wrong == []
    assert SHARED_BY_MINDS.keys() <= {part_of(name) for name in MODULES}


def test_the_trunk_and_what_minds_share_name_no_mind() -> None:
    wrong = [
        f"{name}, line {node.lineno}"
        for name, path in MODULES.items()
        if part_of(name) in TRUNK | SHARED_BY_MINDS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and str(node.value).startswith("tabiya.minds")
    ]
    assert wrong == []


def test_no_mind_imports_another() -> None:
    wrong = []
    for name in MODULES:
        own = name.split(".")[:3]
        if own[:2] != ["tabiya", "minds"] or len(own) < 3:
            continue
        wrong += [
            f"{name} imports {target}"
            for target in imports_of(name)
            if target.startswith("tabiya.minds.") and target.split(".")[:3] != own
        ]
    assert wrong == []


def test_playing_showing_and_explaining_never_lead_to_torch() -> None:
    from tabiya.roster import KINDS

    roots = [name for name in MODULES if part_of(name) in NEVER_TORCH]
    roots += [f"tabiya.cli.{name}" for name in NEVER_TORCH_COMMANDS if f"tabiya.cli.{name}" in MODULES]
    roots += [module for module, _ in KINDS.values()]
    reached = reached_from(roots)
    assert {target: by for target, by in reached.items() if target.split(".")[0] == "torch"} == {}


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from tabiya.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(answer.stderr.split())
    assert "tabiya.cli" in loaded
    assert loaded & {"numpy", "rich", "chess", "torch", "matplotlib", "zstandard"} == set()


def our_files(*suffixes: str) -> list[Path]:
    folders = ("src", "rust", "tests", "docs", "configs", "requirements", ".ci")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file() and path.suffix != ".lock"]
    skipped = {"__pycache__", "target", ".hypothesis"}
    return [
        path
        for path in sorted(files)
        if not skipped & set(path.parts) and (path.suffix in suffixes if suffixes else True)
    ]


@pytest.mark.parametrize("suffix", [".py", ".rs", ".pyi"])
def test_a_file_fits_in_one_reading(suffix: str) -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in our_files(suffix)}
    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_file_speaks_of_places_outside_the_project() -> None:
    # Written in pieces, so that this file may be read too.
    outside = re.compile("|".join(("/" + r"work\b", r"\." + "library", r"\.\./" + "shared", "/" + "root/")))
    suffixes = (".py", ".pyi", ".rs", ".md", ".toml", ".txt", ".json", "")
    wrong = [
        f"{path.relative_to(ROOT)}, line {number}"
        for path in our_files(*suffixes)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if outside.search(line)
    ]
    assert wrong == []


def test_every_module_opens_with_what_it_owns() -> None:
    silent = [
        name
        for name, path in MODULES.items()
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []
