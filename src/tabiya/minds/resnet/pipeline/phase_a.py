"""Phase a: games with their tiers' weights, and a network that plays as people do."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import numpy as np

from tabiya.data.extract import extract
from tabiya.data.shards import NO_EVAL, ShardFolder
from tabiya.errors import UserError
from tabiya.minds.resnet.pipeline.config import Extract, Pipeline
from tabiya.minds.resnet.pipeline.runs import export_stage, train_stage
from tabiya.minds.resnet.pipeline.sources import GAMES
from tabiya.minds.resnet.pipeline.stages import Stage, Work, plain


def games_folder(pipeline: Pipeline, work: Path) -> Path:
    """Where the extracted games lie."""
    given = pipeline.a.extract.folder
    return work / "a" / "games" if given is None else Path(given)


def stages_a(pipeline: Pipeline) -> list[Stage]:
    """extract, train, export."""
    training = pipeline.a.train
    stages = [_extract_stage(pipeline)]
    stages.append(
        train_stage(
            "a/train", "train", training, lambda work: {GAMES: str(games_folder(pipeline, work.folder))}
        )
    )
    stages.append(export_stage("a/export", "train", "a", training, pipeline.half, before=stages[:]))
    return stages


def _extract_stage(pipeline: Pipeline) -> Stage:
    settings = pipeline.a.extract

    def do(work: Work) -> dict[str, Any]:
        path = games_folder(pipeline, work.folder)
        if settings.folder is None:
            _extract(settings, pipeline.puzzles, path, work)
        folder = ShardFolder.open(path)
        _check_exams(folder, pipeline.puzzles)
        return _counts(folder)

    told = {**plain(settings), "puzzles": pipeline.puzzles}
    return Stage(name="a/extract", part="extract", settings=told, do=do)


def _extract(settings: Extract, puzzles: str | None, out: Path, work: Work) -> None:
    files = _files(settings.games)
    total = sum(path.stat().st_size for path in files if path.is_file())
    with work.show("extracting", total, 0, "bytes") as meter:
        done: dict[Path, int] = {}

        def on_progress(path: Path, bytes_read: int, _counts: dict[str, int]) -> None:
            meter.advance(bytes_read - done.get(path, 0))
            done[path] = bytes_read
            work.clock.check()  # a shard has just been finished, so nothing is lost by a stop

        extract(files, out, settings.keep, puzzles=puzzles, evals=settings.evals, on_progress=on_progress)


def _files(patterns: tuple[str, ...]) -> list[Path]:
    files: list[Path] = []
    for pattern in patterns:
        found = sorted(map(Path, glob.glob(pattern))) if "*" in pattern else [Path(pattern)]
        if not found:
            raise UserError(f"no file {pattern}")
        files += found
    return files


def _check_exams(folder: ShardFolder, puzzles: str | None) -> None:
    """`UserError` if the puzzles that are never to be learned from may be among the games."""
    excluded = (folder.manifest.get("excluded_puzzles") or {}).get("name")
    if puzzles is not None and excluded != Path(puzzles).name:
        raise UserError(
            f"the games in {folder.path} were extracted without --puzzles {puzzles}: extract anew"
        )


def _counts(folder: ShardFolder) -> dict[str, Any]:
    evaluations = sum(
        int(np.count_nonzero(records["eval"] != NO_EVAL)) for _, records in folder.shards("train")
    )
    return {
        "games": folder.manifest["counts"].get("games", 0),
        "positions": folder.count("train"),
        "validation": folder.count("validation"),
        "evaluations": evaluations,
    }
