"""The page's speed is measured against a real server; how fast it is, is for a quiet machine to say."""

from __future__ import annotations

import json
from pathlib import Path

from tabiya.bench import web


def test_the_record_has_a_time_for_the_start_and_for_every_mind_without_search(
    tmp_path: Path, capsys
) -> None:
    assert web.main(["--starts", "1", "--games", "2", "--out", str(tmp_path / "web.json")]) == 0
    found = json.loads((tmp_path / "web.json").read_text())
    assert json.loads(capsys.readouterr().out) == found
    assert found["start_to_first_answer_s"]["times"] == 1
    assert set(found["move_to_reply_ms"]) == {"resnet", "transformer"}
    for mind in web.MINDS:
        assert found["move_to_reply_ms"][mind]["times"] == 2
        assert 0 < found["move_to_reply_ms"][mind]["median"] <= found["move_to_reply_ms"][mind]["worst"]
