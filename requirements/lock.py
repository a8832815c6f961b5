"""Pin the Python packages: run.txt, build.txt and dev.txt from the ranges in pyproject.toml.

Each file is what a fresh environment holds after pip has installed that set,
so it names the packages of packages too. `make lock` runs this; nothing else
writes those files. dev.txt holds only what it adds to run.txt and build.txt.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())
    run = frozen(project["project"]["dependencies"])
    build = frozen(project["build-system"]["requires"])
    extras = project["project"]["optional-dependencies"]
    tools = [need for need in extras["dev"] if not need.startswith("tabiya[")]
    dev = frozen([*tools, *extras["train"], *run, *build])
    write("run", "what playing, measuring and labelling need", run)
    write("build", "what builds the Rust module", build)
    write("dev", "what lint and tests add", [pin for pin in dev if pin not in {*run, *build}])


def frozen(requirements: list[str]) -> list[str]:
    """Every package, with its version, that pip installs for these requirements."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", *requirements], check=True)
        listing = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
    return [line for line in listing.splitlines() if line and not line.startswith(("pip==", "setuptools=="))]


def write(name: str, purpose: str, pins: list[str]) -> None:
    head = f"# {purpose[0].upper()}{purpose[1:]}; written by `make lock`."
    (HERE / f"{name}.txt").write_text("\n".join([head, *pins]) + "\n")
    print(f"requirements/{name}.txt: {len(pins)} packages", file=sys.stderr)


if __name__ == "__main__":
    main()
