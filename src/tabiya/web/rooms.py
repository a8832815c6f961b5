"""The games that are being played: who waits for news, which mind is thinking, which game makes room.

Every change of a game goes through its room, which counts it, wakes the pages
that look on, and lets the next mind think. A room without a task under way is
just memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

from tabiya.errors import UserError
from tabiya.web import limits
from tabiya.web.game import Game
from tabiya.web.refusal import Refusal, shortened
from tabiya.web.seats import Seats

HEARTBEAT_SECONDS = 15.0


class Room:
    """One game and those who look on."""

    def __init__(self, game: Game, seats: Seats) -> None:
        self.game = game
        self.lookers = 0
        self._seats = seats
        self._news = asyncio.Event()
        self._mind: asyncio.Task[None] | None = None
        self._flag: asyncio.TimerHandle | None = None
        self._left_alone: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        clock = self.game.clock
        if clock and not self.game.over:
            clock.start(self.game.board.white_to_move)
        self.changed()
        self._look_after()

    def act(self, action: Callable[[Game], None]) -> None:
        """Change the game by what the person asks; a mind stops and thinks anew if that concerns it."""
        before = list(self.game.board.moves)
        self.game.settle()
        action(self.game)
        if self.game.over or self.game.paused or self.game.board.moves != before:
            self._stop_mind()
        self.changed()

    def changed(self) -> None:
        """Tell everyone, and let whoever is next think."""
        self._tell()
        if self.game.to_move is not None and not self.game.paused and self._mind is None:
            self._mind = asyncio.create_task(self._mind_moves())

    async def _mind_moves(self) -> None:
        game = self.game
        try:
            while (choice := game.to_move) is not None and not game.paused:
                white = game.board.white_to_move
                seconds = None
                if game.clock:
                    seconds = game.clock.left(white) / 30 + 0.8 * game.clock.increment
                    seconds = min(seconds, 0.5 * game.clock.left(white))
                pace = asyncio.create_task(asyncio.sleep(game.pace if game.watched else 0))
                board = game.board.copy()
                decision = await self._seats.think(
                    choice, board, choice.limit(seconds), f"{game.id} {white}", game.opening
                )
                await pace
                if decision.wants == "resign":
                    game.end("0-1" if white else "1-0", "resignation")
                else:
                    game.push(decision.move, decision)
                self._tell()
        except UserError as error:
            # Paused, not lost: the person reads why, and may go on or take back.
            game.paused = True
            game.note = shortened(str(error))
            if game.clock:
                game.clock.stop()
            self._tell()
        finally:
            if self._mind is asyncio.current_task():
                self._mind = None

    def _tell(self) -> None:
        self.game.version += 1
        self._news.set()
        self._news = asyncio.Event()
        self._watch_flag()

    def _stop_mind(self) -> None:
        if self._mind is not None:
            self._mind.cancel()
            self._mind = None

    def _watch_flag(self) -> None:
        if self._flag is not None:
            self._flag.cancel()
            self._flag = None
        clock = self.game.clock
        if clock is not None and clock.running is not None and not self.game.over:
            seconds = clock.left(clock.running) + 0.01
            self._flag = asyncio.get_running_loop().call_later(seconds, self._flag_falls)

    def _flag_falls(self) -> None:
        self.game.settle()
        if self.game.over:
            self._stop_mind()
        self.changed()

    def pause(self, wanted: bool) -> None:
        def change(game: Game) -> None:
            if game.over:
                raise Refusal("the game is over", 409)
            game.paused = wanted
            game.note = ""
            if game.clock:
                game.clock.stop() if wanted else game.clock.start(game.board.white_to_move)

        self.act(change)

    def _look_after(self) -> None:
        """A game between two minds goes on only while somebody looks."""
        if self._left_alone is not None:
            self._left_alone.cancel()
            self._left_alone = None
        if self.game.watched and not self.lookers and not self.game.over:
            loop = asyncio.get_running_loop()
            self._left_alone = loop.call_later(limits.UNWATCHED_SECONDS, self._alone)

    def _alone(self) -> None:
        if not self.lookers and not self.game.over and not self.game.paused:
            self.pause(True)

    async def news(self, closing: asyncio.Event) -> AsyncIterator[str]:
        """The game now and after every change, as server-sent events; a heartbeat where nothing happens."""
        self.lookers += 1
        self._look_after()
        seen = -1
        try:
            while not closing.is_set():
                waiting = self._news
                if self.game.version != seen:
                    seen = self.game.version
                    text = json.dumps(self.game.to_json(), ensure_ascii=False, separators=(",", ":"))
                    yield f"data: {text}\n\n"
                    continue
                try:
                    await asyncio.wait_for(waiting.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self.lookers -= 1
            self._look_after()

    def close(self) -> None:
        self._stop_mind()
        for timer in (self._flag, self._left_alone):
            if timer is not None:
                timer.cancel()

    def wake(self) -> None:
        self._news.set()


class Rooms:
    """All games in memory, the longest untouched first."""

    def __init__(self, seats: Seats) -> None:
        self._seats = seats
        self._rooms: OrderedDict[str, Room] = OrderedDict()
        self.closing = asyncio.Event()

    def __len__(self) -> int:
        return len(self._rooms)

    def add(self, game: Game) -> Room:
        """A room for a game; one that is here under this name already stays as it is."""
        if game.id in self._rooms:
            return self[game.id]
        if game.watched and not game.over and not game.paused:
            self.refuse_another_watched()
        while len(self._rooms) >= limits.MOST_GAMES:
            oldest = min(self._rooms, key=lambda name: self._rooms[name].lookers > 0)
            self._rooms.pop(oldest).close()
        room = self._rooms[game.id] = Room(game, self._seats)
        room.begin()
        return room

    def refuse_another_watched(self) -> None:
        running = [room for room in self._rooms.values() if room.game.watched and room.game.to_move]
        if sum(not room.game.paused for room in running) >= limits.MOST_WATCHED:
            raise Refusal(
                f"{limits.MOST_WATCHED} games between minds run already: stop or pause one of them", 503
            )

    def __getitem__(self, name: str) -> Room:
        room = self._rooms.get(name)
        if room is None:
            raise Refusal("that game is not here any more", 404)
        self._rooms.move_to_end(name)
        return room

    def streams(self) -> int:
        return sum(room.lookers for room in self._rooms.values())

    async def close(self) -> None:
        """End all thoughts and let all who wait for news go."""
        self.closing.set()
        for room in self._rooms.values():
            room.close()
            room.wake()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
