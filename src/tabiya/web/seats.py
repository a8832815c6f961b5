"""Minds at work: a few opened players of each kind, shared by all who ask, thinking in their own threads.

Fifty games do not need fifty networks in memory. A thought takes a seat, and
waits for one where all are taken; whoever no longer wants it stops it, and the
seat is free as soon as the mind has heard.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass, field

from tabiya._core import Board
from tabiya.errors import UserError
from tabiya.player import Decision, Limit, Player, PlayerError
from tabiya.protocols.thinking import Thought
from tabiya.web import limits
from tabiya.web.catalogue import Catalogue, Choice
from tabiya.web.refusal import Refusal

MOST_ANCESTORS = 8
"""Opened players from gene pools; the one asked for longest ago is closed."""


@dataclass
class _Seat:
    player: Player
    game: str = ""
    """Whose thought was the last here; a mind forgets when it changes."""


@dataclass
class _Bench:
    """The seats of one kind of mind."""

    free: asyncio.Semaphore
    idle: list[_Seat] = field(default_factory=list)
    waiting: int = 0


class Seats:
    """The place where all thinking of the server is done; used from the event loop alone."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._benches: OrderedDict[tuple[str, str | None, int | None], _Bench] = OrderedDict()

    async def think(
        self, choice: Choice, board: Board, limit: Limit, game: str = "", opening: bool = False
    ) -> Decision:
        """The decision of the chosen mind; cancelled, the mind is told to stop."""
        bench = self._bench(choice)
        if bench.waiting >= limits.MOST_WAITING:
            raise Refusal(f"too many wait for {choice.title}: try again in a moment", 503)
        bench.waiting += 1
        try:
            await bench.free.acquire()
        finally:
            bench.waiting -= 1
        try:
            seat = await self._seat(bench, choice, game)
            offered = {option.name.lower() for option in seat.player.options()}
            for name, value in choice.options(opening).items():
                if name in offered:
                    seat.player.set_option(name, value)
        except BaseException as error:
            bench.free.release()
            if isinstance(error, ValueError):
                raise PlayerError(str(error)) from error
            raise
        return await self._thought(bench, seat, board, limit)

    async def _thought(self, bench: _Bench, seat: _Seat, board: Board, limit: Limit) -> Decision:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Decision] = loop.create_future()

        def told(decision: Decision | Exception) -> None:
            bench.free.release()
            if isinstance(decision, Exception):
                # Whatever broke may be broken for good: the next thought opens a new player.
                with contextlib.suppress(Exception):
                    seat.player.close()
            else:
                bench.idle.append(seat)
            if answer.done():
                return
            if isinstance(decision, UserError):
                answer.set_exception(decision)
            elif isinstance(decision, Exception):
                name = seat.player.name
                answer.set_exception(PlayerError(f"{name} broke in {board.fen()}: {decision!r}"))
            else:
                answer.set_result(decision)

        def tell(decision: Decision | Exception) -> None:
            # The loop may be closed by now: then nobody is left to be told.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(told, decision)

        thought = Thought(seat.player, board, limit, tell)
        thought.start()
        try:
            return await answer
        except asyncio.CancelledError:
            thought.stop()
            raise

    def _bench(self, choice: Choice) -> _Bench:
        key = (choice.mind.name, choice.pool, choice.genome)
        if key not in self._benches:
            self._benches[key] = _Bench(asyncio.Semaphore(choice.mind.seats))
        self._benches.move_to_end(key)
        ancestors = [each for each in self._benches if each[1] is not None]
        for old in ancestors[:-MOST_ANCESTORS]:
            for seat in self._benches.pop(old).idle:
                seat.player.close()
        return self._benches[key]

    async def _seat(self, bench: _Bench, choice: Choice, game: str) -> _Seat:
        """An opened player, the one that knows this game if it is there."""
        known = [seat for seat in bench.idle if seat.game == game]
        if known or bench.idle:
            seat = (known or bench.idle)[-1]
            bench.idle.remove(seat)
        else:
            seat = _Seat(await asyncio.to_thread(self._catalogue.open, choice))
        if seat.game != game or not game:
            seat.player.new_game()
            seat.game = game
        return seat
