"""Pictures of reports, drawn with matplotlib, which only the extra `plot` installs.

Without it a report has its tables and no picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tabiya.files import replacing


def can_draw() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return True


@contextmanager
def sheet(
    path: Path,
    width: float,
    height: float,
    *,
    dpi: int = 110,
    layout: Literal["constrained"] | None = "constrained",
) -> Iterator[Any]:
    """A matplotlib Figure of so many inches to draw on, which then becomes the file that `path` names."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    yield figure
    with replacing(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:], dpi=dpi)
