"""What a run says about itself: a file for later, TensorBoard for the curve, a few lines for now.

    log.jsonl      one JSON object per report: step, seconds, and what was measured
    tensorboard/   the same figures, where TensorBoard is installed

The file is the record; the others can be made from it. A run that was killed
may leave half a line and reports from beyond its last checkpoint: both are
taken away when it resumes, so the curve has neither gaps nor doubles. Hence
report before saving a checkpoint of the same step, not after.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from tabiya.errors import UserError
from tabiya.files import replacing
from tabiya.learn.run_record import LOG_FILE, log_lines
from tabiya.learn.run_record import read_log as read_log

_RESERVED = {"step", "seconds", "note"}


class RunLog:
    """The open log of one run; use it in a `with`, or close it."""

    def __init__(
        self,
        folder: str | Path,
        display: bool | None = None,
        *,
        resumed_at: int | None = None,
        steps: int | None = None,
        every_seconds: float = 20.0,
        tensorboard: bool = True,
    ) -> None:
        """`display`: a live table (True), lines (False), or whichever suits the output (None).

        `resumed_at` is the step the run goes on from: what the file says of later
        steps is dropped. `steps` is the length of the run, for the time left.
        """
        self._path = Path(folder) / LOG_FILE
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            kept = self._mend(resumed_at)
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot write {self._path}: {error.strerror or error}") from None
        self._step = kept[-1]["step"] if kept else resumed_at or 0
        # Seconds count the run's own time: a resumed run goes on from its last report.
        self._began = time.monotonic() - max((line.get("seconds", 0.0) for line in kept), default=0.0)
        self._board = _tensorboard(self._path.parent / "tensorboard", resumed_at) if tensorboard else None
        self._pace = _Pace(steps)
        on_table = sys.stdout.isatty() if display is None else display
        self._display: _Display = _Table(steps) if on_table else _PlainLines(steps, every_seconds)

    def report(self, step: int, **scalars: float) -> None:
        """Record what was measured after `step` steps; numbers, or tensors of one number."""
        if wrong := _RESERVED & scalars.keys():
            raise ValueError(f"a report sets {sorted(wrong)} itself")
        values = {name: float(value) for name, value in scalars.items()}
        self._step = step
        self._write(values)
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)
        self._display.show(step, values, self._pace.seconds_left(step))

    def note(self, text: str) -> None:
        """Record and show a sentence: what began, what was found, why it stopped."""
        self._write({"note": text})
        self._display.say(text)

    def leave_out(self, seconds: float) -> None:
        """Count these seconds as none of the run's own: it waited for something."""
        self._began += seconds

    def close(self) -> None:
        """Show the last report if it was not yet shown, and give the terminal back."""
        self._display.close()
        self._file.close()
        if self._board is not None:
            self._board.close()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, values: Mapping[str, Any]) -> None:
        seconds = round(time.monotonic() - self._began, 3)
        line = {"step": self._step, "seconds": seconds, **{name: _jsonable(v) for name, v in values.items()}}
        self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def _mend(self, resumed_at: int | None) -> list[dict[str, Any]]:
        """Leave in the file only whole lines up to the resumed step, and return them."""
        lines = log_lines(self._path)
        kept = [line for line in lines if resumed_at is None or line["step"] <= resumed_at]
        if self._path.exists() and (len(kept) < len(lines) or not _ends_whole(self._path)):
            with replacing(self._path) as temporary:
                text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in kept)
                temporary.write_text(text, encoding="utf-8")
        return kept


def _ends_whole(path: Path) -> bool:
    content = path.read_bytes()
    return not content or content.endswith(b"\n")


def _jsonable(value: Any) -> Any:
    """JSON knows no NaN or infinity: a loss that left the numbers is null in the file."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _tensorboard(folder: Path, resumed_at: int | None) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=None if resumed_at is None else resumed_at + 1)


class _Pace:
    """How fast the last reports came, and so how long the rest will take."""

    def __init__(self, steps: int | None) -> None:
        self._steps = steps
        self._recent: deque[tuple[int, float]] = deque(maxlen=100)

    def seconds_left(self, step: int) -> float | None:
        self._recent.append((step, time.monotonic()))
        first_step, first_time = self._recent[0]
        if self._steps is None or step <= first_step:
            return None
        return (self._steps - step) * (self._recent[-1][1] - first_time) / (step - first_step)


class _Display(Protocol):
    def show(self, step: int, values: Mapping[str, float], seconds_left: float | None) -> None: ...
    def say(self, text: str) -> None: ...
    def close(self) -> None: ...


def _progress(step: int, steps: int | None) -> str:
    return f"{step:,}" if steps is None else f"{step:,} of {steps:,}"


def _number(value: float) -> str:
    """Rates as 259,000, losses as 2.314, learning rates as 0.0001."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _PlainLines:
    """One line now and then, for a file or a pipe; each figure's last value since the line before."""

    def __init__(self, steps: int | None, every_seconds: float) -> None:
        self._steps, self._every = steps, every_seconds
        self._shown_at = -math.inf
        self._waiting: dict[str, str] = {}

    def show(self, step: int, values: Mapping[str, float], seconds_left: float | None) -> None:
        self._waiting |= {"step": _progress(step, self._steps)}
        self._waiting |= {name: _number(value) for name, value in values.items()}
        if seconds_left is not None:
            self._waiting.pop("left", None)  # so that it comes last again
            self._waiting["left"] = _duration(seconds_left)
        if time.monotonic() - self._shown_at >= self._every:
            self._flush()
            self._shown_at = time.monotonic()

    def say(self, text: str) -> None:
        print(text, flush=True)

    def close(self) -> None:
        self._flush()

    def _flush(self) -> None:
        if self._waiting:
            print("  ".join(f"{name} {value}" for name, value in self._waiting.items()), flush=True)
        self._waiting = {}


class _Table:
    """A table at the foot of the terminal with the last value of every figure."""

    def __init__(self, steps: int | None) -> None:
        from rich.live import Live

        self._steps = steps
        self._values: dict[str, str] = {}
        self._live = Live(refresh_per_second=4)
        self._live.start()

    def show(self, step: int, values: Mapping[str, float], seconds_left: float | None) -> None:
        from rich.table import Table

        self._values |= {name: _number(value) for name, value in values.items()}
        left = "" if seconds_left is None else _duration(seconds_left)
        table = Table("step", _progress(step, self._steps))
        table.columns[1].justify = "right"
        for name, value in [*self._values.items(), ("time left", left)]:
            table.add_row(name, value)
        self._live.update(table)

    def say(self, text: str) -> None:
        self._live.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        self._live.stop()
