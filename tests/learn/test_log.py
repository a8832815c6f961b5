"""A run's log: nothing lost, nothing twice, and the right face for the output."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tabiya.errors import UserError
from tabiya.learn import log as log_module
from tabiya.learn.log import RunLog, read_log


def quiet(folder: Path, **settings: Any) -> RunLog:
    return RunLog(folder, False, tensorboard=False, **settings)


def losses(folder: Path) -> list[tuple[int, float]]:
    return [(line["step"], line["loss"]) for line in read_log(folder)]


def test_reports_are_read_back_in_order_and_to_the_bit(tmp_path: Path) -> None:
    folder = tmp_path / "runs/new"
    with quiet(folder) as log:
        log.report(1, loss=0.1 + 0.2, lr=1e-4)
        log.note("half-way")
        log.report(2, loss=0.25)
    first, second = read_log(folder)
    assert (first["step"], first["loss"], first["lr"]) == (1, 0.1 + 0.2, 1e-4)
    assert (second["step"], second["loss"]) == (2, 0.25)
    assert 0 <= first["seconds"] <= second["seconds"]
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert [line.get("note") for line in lines] == [None, "half-way", None]
    assert [line["step"] for line in lines] == [1, 1, 2]


def test_a_report_is_in_the_file_before_the_log_is_closed(tmp_path: Path) -> None:
    log = quiet(tmp_path)
    log.report(1, loss=2.0)
    assert losses(tmp_path) == [(1, 2.0)]
    log.close()


def test_there_is_nothing_to_read_where_there_is_no_log(tmp_path: Path) -> None:
    assert read_log(tmp_path / "none") == []


def test_a_resumed_run_drops_what_lies_beyond_its_checkpoint(tmp_path: Path) -> None:
    with quiet(tmp_path) as log:
        for step in (10, 20, 30, 40):
            log.report(step, loss=float(step))
    with quiet(tmp_path, resumed_at=20) as log:
        log.report(30, loss=3.0)
    assert losses(tmp_path) == [(10, 10.0), (20, 20.0), (30, 3.0)]


def test_a_resumed_run_counts_its_seconds_onwards(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"step": 10, "seconds": 5000.0, "loss": 1.0}\n')
    with quiet(tmp_path, resumed_at=10) as log:
        log.report(20, loss=1.0)
    assert read_log(tmp_path)[-1]["seconds"] >= 5000.0


@pytest.mark.parametrize("resumed_at", [None, 10])
@pytest.mark.parametrize("half", ['{"step": 2', '{"step": 20, "loss": 2.0}', "\0\0\0"])
def test_half_a_line_left_by_a_kill_is_dropped(tmp_path: Path, half: str, resumed_at: int | None) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 10, "seconds": 1.0, "loss": 1.0}\n' + half)
    assert losses(tmp_path) == [(10, 1.0)]
    with quiet(tmp_path, resumed_at=resumed_at) as log:
        log.report(20, loss=9.0)
    assert losses(tmp_path) == [(10, 1.0), (20, 9.0)]
    assert os.listdir(tmp_path) == ["log.jsonl"]


def test_a_log_opened_without_a_step_keeps_all_its_reports(tmp_path: Path) -> None:
    for step in (10, 20):
        with quiet(tmp_path) as log:
            log.report(step, loss=0.5)
    assert losses(tmp_path) == [(10, 0.5), (20, 0.5)]


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"step": "one"}', ""])
def test_a_damaged_line_is_refused_by_its_number_and_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "log.jsonl"
    text = f'{{"step": 1}}\n{line}\n{{"step": 2}}\n'
    path.write_text(text)
    with pytest.raises(UserError, match=r"log\.jsonl, line 2 is damaged: move the file away"):
        quiet(tmp_path, resumed_at=0)
    assert path.read_text() == text


def test_a_folder_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^cannot write .*log\.jsonl: "):
        quiet(tmp_path / "file")


def test_a_loss_that_left_the_numbers_is_valid_json(tmp_path: Path) -> None:
    with quiet(tmp_path) as log:
        log.report(1, loss=float("nan"), value=float("inf"), lr=1.0)
    text = (tmp_path / "log.jsonl").read_text()
    line = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert (line["loss"], line["value"], line["lr"]) == (None, None, 1.0)


def test_a_report_may_not_overwrite_what_the_log_sets(tmp_path: Path) -> None:
    with quiet(tmp_path) as log, pytest.raises(ValueError, match="seconds"):
        log.report(1, seconds=3.0)


def test_without_a_terminal_a_line_comes_now_and_then_and_the_last_always(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with RunLog(tmp_path, tensorboard=False, steps=60_000) as log:
        for step in range(1000, 8000, 1000):
            log.report(step, loss=step / 3000, rate=259_000.4)
            clock[0] += 9.0
        log.note("stopped [here]")
    assert capsys.readouterr().out.splitlines() == [
        "step 1,000 of 60,000  loss 0.3333  rate 259,000",
        "step 4,000 of 60,000  loss 1.333  rate 259,000  left 8:24",
        "step 7,000 of 60,000  loss 2.333  rate 259,000  left 7:57",
        "stopped [here]",
    ]


def test_a_report_not_yet_shown_is_shown_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with quiet(tmp_path, every_seconds=1e9) as log:
        for step in (1, 2, 3):
            log.report(step, lr=step / 1e4)
            log.report(step, seen=float(step))
    assert capsys.readouterr().out.splitlines() == ["step 1  lr 0.0001", "step 3  seen 3  lr 0.0003"]


def test_time_left_in_hours_is_said_in_hours() -> None:
    assert log_module._duration(3 * 3600 + 62) == "3:01:02"
    assert log_module._duration(59.6) == "1:00"
    assert log_module._duration(-3) == "0:00"


def test_on_a_terminal_there_is_a_table(tmp_path: Path) -> None:
    program = (
        "import sys; from tabiya.learn.log import RunLog\n"
        "with RunLog(sys.argv[1], tensorboard=False, steps=50) as log:\n"
        "    log.report(10, loss=2.5, lr=0.001); log.note('a [note]'); log.report(20, loss=1.5)\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # how a pseudo-terminal says that the other side is gone
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    assert process.returncode == 0, text
    assert "time left" in text
    assert "a [note]" in text
    assert re.search(r"step\s+┃ 20 of 50 ┃", text)
    assert re.search(r"loss\s+│\s+1\.5 │", text)
    assert re.search(r"lr\s+│\s+0\.001 │", text[text.index("20 of 50") :])
    assert losses(tmp_path) == [(10, 2.5), (20, 1.5)]


def test_tensorboard_gets_the_same_figures_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with RunLog(tmp_path, False) as log:
        for step in (1, 2, 3):
            log.report(step, loss=float(step))
    with RunLog(tmp_path, False, resumed_at=1) as log:
        log.report(2, loss=0.5)
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("loss")] == [(1, 1.0), (2, 0.5)]


def test_without_tensorboard_the_log_is_kept_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with RunLog(tmp_path, False) as log:
        log.report(1, loss=1.0)
    assert losses(tmp_path) == [(1, 1.0)]
    assert os.listdir(tmp_path) == ["log.jsonl"]
    assert capsys.readouterr().err == ""
