"""`tabiya minds`: who is there, and only ratings that were measured."""

from __future__ import annotations

import json
import os

from tabiya.cli import main
from tabiya.roster import KINDS


def minds(capsys, *arguments: str) -> dict[str, dict[str, object]]:
    assert main(["minds", "--json", *arguments]) == 0
    return {mind["kind"]: mind for mind in json.loads(capsys.readouterr().out)["minds"]}


def test_every_kind_is_listed_and_nothing_is_claimed_without_a_measurement(capsys, tmp_path):
    found = minds(capsys, "--results", str(tmp_path))
    assert list(found) == list(KINDS)
    assert all(mind["rating"] is None for mind in found.values())
    assert main(["minds", "--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("not measured") == len(KINDS)


def test_the_newest_rating_list_has_the_last_word(capsys, tmp_path):
    for age, rating in ((200, 700.0), (100, 812.5)):
        folder = tmp_path / f"run-{age}"
        folder.mkdir()
        path = folder / "result.json"
        path.write_text(
            json.dumps(
                {"players": [{"name": "turing", "rating": rating, "rating_95": [rating - 9, rating + 9]}]}
            )
        )
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    turing = minds(capsys, "--results", str(tmp_path))["turing"]
    assert (turing["rating"], turing["rating_95"]) == (812.5, [803.5, 821.5])
    assert turing["measured_in"] == str(tmp_path / "run-100" / "result.json")
    main(["minds", "--results", str(tmp_path)])
    assert "812 (804 to 822)" in capsys.readouterr().out


def test_other_files_among_the_results_are_left_alone(capsys, tmp_path):
    for name, text in {
        "a.json": "not json",
        "b.json": "[1, 2]",
        "c.json": '{"players": 3}',
        "d.json": '{"players": [{"name": "turing", "rating": null}, 5, {"rating": 3}]}',
    }.items():
        (tmp_path / name).write_text(text)
    assert minds(capsys, "--results", str(tmp_path))["turing"]["rating"] is None
