"""The last stage: one record of an experiment, out of its manifests, games and exams.

Two fits of one rating list: on the anchors' scale, and told from the
experiment's baseline. The second is much the sharper, because the networks
met each other more often than the anchors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabiya.arena.pgn_results import read_results
from tabiya.arena.provenance import provenance
from tabiya.arena.ratings import Game, Rated, RatingList, rate
from tabiya.arena.record import POINTS
from tabiya.files import replacing
from tabiya.learn.config import config_to_dict
from tabiya.minds.resnet.lab.exams import figures
from tabiya.minds.resnet.lab.folder import LabFolder, write_json
from tabiya.minds.resnet.lab.games import expected_games
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.variants import comparison
from tabiya.reports.lab_table import markdown, verdict

Row = dict[str, Any]


def write_report(lab: Lab, folder: LabFolder) -> dict[str, Any]:
    """Make report.json and report.md, and report.png where matplotlib is installed; the record."""
    record = make_record(lab, folder)
    write_json(folder.report(".json"), record)
    with replacing(folder.report(".md")) as part:
        part.write_text(markdown(record), encoding="utf-8")
    try:
        import matplotlib  # noqa: F401 - without it there is a table and no picture
    except ImportError:
        return record
    from tabiya.reports.lab_plot import plot_lab

    plot_lab(record, folder.report(".png"))
    return record


def make_record(lab: Lab, folder: LabFolder) -> dict[str, Any]:
    """All that was measured of an experiment, as it stands in report.json."""
    compared = comparison(lab)
    manifests = folder.manifests(variant.name for variant in compared.variants)
    games = _games(folder)
    expected = expected_games(lab, compared)
    known = {anchor.player: anchor.elo for anchor in lab.measures.anchors if anchor.elo is not None}
    played = {name for game in games for name in (game.white, game.black)}
    on_scale = rate(games, {name: elo for name, elo in known.items() if name in played})
    told = rate(games, {compared.baseline: 0.0}) if compared.baseline in played else None
    notes = [*compared.left_out, *on_scale.notes]
    if len(games) < expected:
        notes.append(f"{len(games)} of {expected} games are played: run the stage play to its end")
    rows = [
        {
            "name": variant.name,
            "title": variant.title,
            "differs": variant.differs,
            **_trained(manifests[variant.name]),
            **_rated(variant.name, on_scale, "rating"),
            **(_rated(variant.name, told, "difference") if told else {}),
            "exams": figures(lab, folder, variant.name),
        }
        for variant in compared.variants
    ]
    record = {
        "kind": "lab",
        "experiment": lab.experiment,
        "question": compared.question,
        "expected": lab.expected or None,
        "baseline": compared.baseline,
        "scale": known,
        "budget": {**config_to_dict(lab.budget), "positions": lab.budget.positions},
        "games": len(games),
        "rows": rows,
        "anchors": _anchors(lab, on_scale),
        "notes": notes,
        "settings": config_to_dict(lab),
        **provenance(),
    }
    return record | {"verdict": verdict(record)}


def _games(folder: LabFolder) -> list[Game]:
    files = sorted(path for path in folder.games("").glob("*/games.pgn") if path.stat().st_size)
    return [Game(game.white, game.black, POINTS[game.result]) for game in read_results(files).games]


def _rated(name: str, ratings: RatingList, key: str) -> Row:
    """A player's line in a list; nothing where the list cannot tell."""
    line: Rated | None = next((player for player in ratings.players if player.name == name), None)
    tied = line is not None and (line.group == 0 or line.rating is None)
    if line is None or not tied:
        return {key: None, f"{key}_95": [None, None]}
    ends = [None if end is None else round(end, 1) for end in line.rating_95]
    found = {key: None if line.rating is None else round(line.rating, 1), f"{key}_95": ends}
    if key == "rating":
        found |= {"games": line.score.games, "score_share": round(line.score.share, 4)}
    return found


def _trained(manifest: Mapping[str, Any]) -> Row:
    trained_on = manifest["trained_on"]
    return {
        "parameters": manifest["parameters"],
        "positions": trained_on["positions"],
        "seen": trained_on["seen"],
        "seconds": trained_on["seconds"],
        "device": trained_on["device"],
        "network": manifest["sha256"],
        "data": trained_on["sha256"],
        "validation": {
            key: value for key, value in manifest["measured"].items() if key.startswith("validation_")
        },
    }


def _anchors(lab: Lab, ratings: RatingList) -> list[Row]:
    return [
        {"name": anchor.player, "known": anchor.elo, **_rated(anchor.player, ratings, "rating")}
        for anchor in lab.measures.anchors
    ]
