"""The whole-number settings of the simple players, read and refused in one way."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

from tabiya.player import PlayerError, PlayerName, PlayerOption


def whole_number(option: PlayerOption, text: str) -> int:
    """The number in `text`; a ValueError says what `option` would have taken."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{option.name} must be a whole number, not {text!r}") from None
    low = value if option.low is None else option.low
    high = value if option.high is None else option.high
    if not low <= value <= high:
        raise ValueError(f"{option.name} must lie between {low} and {high}, not {value}")
    return value


def find_option(options: Iterable[PlayerOption], player: str, name: str) -> PlayerOption:
    """The option called `name`, whatever its capitals; a ValueError hints at the nearest."""
    by_name = {option.name.lower(): option for option in options}
    if name.lower() in by_name:
        return by_name[name.lower()]
    close = difflib.get_close_matches(name.lower(), by_name, n=1)
    hint = f", did you mean {by_name[close[0]].name!r}?" if close else ""
    raise ValueError(f"{player} has no option {name!r}{hint}")


def apply(name: PlayerName, set_option: Callable[[str, str], None]) -> None:
    """Set every option of a written name; the simple players have no path."""
    if name.where:
        raise PlayerError(f"{name.kind} takes no path, got {name.where!r}; options follow a '?'")
    for key, value in name.options.items():
        try:
            set_option(key, value)
        except ValueError as error:
            raise PlayerError(str(error)) from error
