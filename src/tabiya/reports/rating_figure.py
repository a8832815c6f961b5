"""The rating list as a picture: a point and its interval for each player, drawn as SVG by hand.

By hand because the picture is checked against the result letter by letter,
and no drawing library promises the same letters next year.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

LEFT, RIGHT, ROW, TOP, BOTTOM = 150, 24, 22, 12, 34
WIDTH = 720
INK, MIND, ANCHOR, LINE = "#6b7280", "#2f6fde", "#9a6b00", "#9ca3af"
MINDS = ("resnet", "transformer", "nnue", "genetic")


def figure(result: Mapping[str, Any]) -> str:
    """The picture's text."""
    players = result["ratings"]["players"]
    ends = [end for line in players for end in (*_ends(line), line["rating"]) if end is not None]
    low, high = 100 * (min(ends) // 100), 100 * (-(-max(ends) // 100))
    height = TOP + ROW * len(players) + BOTTOM
    bottom = TOP + ROW * len(players)

    def x(rating: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (rating - low) / max(1, high - low), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="Ratings with their 95 % intervals" font-family="sans-serif" font-size="12">'
    ]
    step = 100 if high - low <= 1000 else 200 if high - low <= 2000 else 500
    for rating in range(int(-(-low // step) * step), int(high) + 1, step):
        parts.append(
            f'<path d="M{x(rating)} {TOP}V{bottom}" stroke="{LINE}" stroke-opacity="0.35"/>'
            f'<text x="{x(rating)}" y="{bottom + 16}" fill="{INK}" text-anchor="middle">{rating}</text>'
        )
    for place, line in enumerate(players):
        y = TOP + ROW * place + ROW // 2
        colour = ANCHOR if line["anchor"] else MIND if line["name"] in MINDS else INK
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 4}" fill="{colour}" text-anchor="end">'
            f"{escape(line['name'])}</text>"
        )
        first, last = _ends(line)
        if first is not None or last is not None:
            begin, end = x(low if first is None else first), x(high if last is None else last)
            parts.append(f'<path d="M{begin} {y}H{end}" stroke="{colour}" stroke-width="3"/>')
        if line["rating"] is not None:
            parts.append(f'<circle cx="{x(line["rating"])}" cy="{y}" r="4.5" fill="{colour}"/>')
    parts.append(
        f'<text x="{WIDTH - RIGHT}" y="{height - 3}" fill="{INK}" text-anchor="end">'
        "Elo; blue: minds, brown: anchors as given, with what their games say</text></svg>\n"
    )
    return "\n".join(parts)


def _ends(line: Mapping[str, Any]) -> tuple[float | None, float | None]:
    low, high = (line.get("as_if_free_95") or (None, None)) if line["anchor"] else line["rating_95"]
    return low, high
