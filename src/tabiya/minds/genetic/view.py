"""A gene pool on the console: each round's matchups, the pool after it, the records.

`round_text` is the plain text. On a terminal `LiveView` shows the same in
colour, the pools in turns, and is drawn twice a second however fast games go;
elsewhere `PlainView` prints a round of each pool now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tabiya.minds.genetic.config import PoolConfig
from tabiya.minds.genetic.world import Fate, World

PLAIN_INTERVAL = 10.0
"""Seconds between two printed turns where the output is no terminal."""


def round_text(
    world: World, number: int, fates: list[Fate], clock: float, config: PoolConfig, pool_file: str
) -> str:
    """One pool after its last round."""
    pool = world.pools[number]
    time_line = f"Time: {clock:g} sec" if config.unit == "seconds" else f"Nodes: {clock:g} a game"
    lines = [
        f"Gene pool ID: {number}  Gene pool size: {len(pool.members)}"
        f"  New blood introduced: {pool.new_blood} (*)",
        f"Games: {pool.games}  White wins: {pool.white_wins}"
        f"  Black wins: {pool.black_wins}  Draws: {pool.draws}",
        f"{time_line}  Gene pool file name: {pool_file}",
        "",
    ]
    lines += [_matchup(fate) for fate in fates if fate.pairing.pool == number]
    width = max(6, *(len(str(member.id)) for member in pool.members))
    lines += ["", f"{'ID':>{width}}  Wins  Streak  Draws  Streak"]
    for member in sorted(pool.members, key=lambda member: member.id):
        lines.append(
            f"{member.id:>{width}}{member.wins:>6}{member.win_streak:>8}{member.draws:>7}{member.draw_streak:>8}"
            f" {member.mark}".rstrip()
        )
    lines += [
        "",
        f"Most wins: {pool.most_wins[0]} by ID {pool.most_wins[1]}",
        f"Longest lived: {pool.longest_lived[0]} by ID {pool.longest_lived[1]}",
    ]
    strength = world.strength(number)
    if strength is not None:
        lines.append(f"Strength: its best survived {strength:.1f} games in the next pool on average")
    return "\n".join(lines)


def _matchup(fate: Fate) -> str:
    pairing, outcome = fate.pairing, fate.outcome
    line = f"{pairing.white} vs {pairing.black}: {outcome.winner or 'None'} ({outcome.reason})"
    if fate.new_blood:
        line += f" {fate.dead} mates with random / {fate.dead} dies"
    return line


class PlainView:
    """Prints rounds, at most one turn in `interval` seconds."""

    def __init__(
        self,
        config: PoolConfig,
        pool_file: str,
        interval: float = PLAIN_INTERVAL,
        write: Callable[[str], None] = print,
    ) -> None:
        self._config, self._pool_file = config, pool_file
        self._interval, self._write = interval, write
        self._last = -interval

    def turn(self, world: World, fates: list[Fate], clock: float) -> None:
        now = time.monotonic()
        if now - self._last < self._interval:
            return
        self._last = now
        for number in range(len(world.pools)):
            self._write(round_text(world, number, fates, clock, self._config, self._pool_file) + "\n")


class LiveView:
    """The pools in turns on a terminal, with the rate of games."""

    def __init__(self, config: PoolConfig, pool_file: str, keys: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._config, self._pool_file, self._keys = config, pool_file, keys
        self._live = Live(console=Console(), auto_refresh=False, transient=True)
        self._began, self._first_games = time.monotonic(), -1
        self._drawn = 0.0

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._live.stop()

    def turn(self, world: World, fates: list[Fate], clock: float) -> None:
        now = time.monotonic()
        if self._first_games < 0:
            self._first_games = world.games - len(fates)
        if now - self._drawn < 0.5:
            return
        self._drawn = now
        rate = (world.games - self._first_games) / max(1e-9, now - self._began)
        # A pool stays for five seconds, so that it can be read.
        number = int(now - self._began) // 5 % len(world.pools)
        text = round_text(world, number, fates, clock, self._config, self._pool_file)
        head = f"{world.games:,} games, {rate:.1f} a second. {self._keys}"
        self._live.update(self._coloured(head, text), refresh=True)

    def _coloured(self, head: str, text: str) -> Any:
        from rich.text import Text

        shown = Text(f"{head}\n\n", style="cyan")
        plain = Text(text, style="default")
        plain.highlight_regex(r"White(?= \()", "bold white")
        plain.highlight_regex(r"Black(?= \()", "bold magenta")
        plain.highlight_regex(r"None(?= \()", "yellow")
        plain.highlight_regex(r"Time forfeiture", "red")
        plain.highlight_regex(r"(?m)^.*mates with random.*$", "green")
        plain.highlight_regex(r"(?m) [*T]$", "bold green")
        plain.highlight_regex(r"(?m)^(Most wins|Longest lived|Strength).*$", "cyan")
        shown.append_text(plain)
        return shown
