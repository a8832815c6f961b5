"""The report of the result tables, made from their JSON files and from nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.lab.folder import read_json
from tabiya.minds.resnet.lab.result_plan import TABLES
from tabiya.reports import result_plot
from tabiya.reports.drawing import can_draw
from tabiya.reports.result_table import markdown


def read_tables(folder: Path) -> dict[str, dict[str, Any]]:
    """The tables that a folder has, by name, in the report's order."""
    files = {table: folder / f"{table}.json" for table in TABLES}
    return {table: read_json(file) for table, file in files.items() if file.exists()}


def write_report(folder: Path) -> str:
    """Make report.md, and report.png where matplotlib is installed; the report's text."""
    tables = read_tables(folder)
    if not tables:
        raise UserError(f"there are no tables in {folder} yet: measure one first")
    text = markdown(tables)
    with replacing(folder / "report.md") as part:
        part.write_text(text, encoding="utf-8")
    if can_draw():
        result_plot.plot_results(tables, folder / "report.png")
    return text
