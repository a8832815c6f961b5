"""The application: which address answers what. Every handler is a few lines over the part that knows.

Bad input ends as JSON with one sentence under "error"; whatever escapes beyond
that is a fault of ours, logged here and told to the page without its details.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import mimetypes
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tabiya.errors import UserError
from tabiya.player import Player
from tabiya.web import evolution, game, limits, opinions, ratings, training, why, wishes
from tabiya.web.archive import Archive
from tabiya.web.catalogue import Catalogue
from tabiya.web.guard import Guard
from tabiya.web.positions import asked_board, line, read_start, view
from tabiya.web.refusal import Refusal, shortened
from tabiya.web.rooms import Rooms
from tabiya.web.seats import Seats

STATIC = Path(__file__).resolve().parent / "static"
LOGGER = logging.getLogger("tabiya.web")

Handler = Callable[[Request], Awaitable[Response]]


class Page:
    """All that one running server holds."""

    def __init__(
        self,
        open_player: Callable[[str], Player],
        kinds: Mapping[str, Any],
        folders: Sequence[Path] = (),
        explain: why.Explain | None = None,
    ) -> None:
        self.archive = Archive(folders)
        self.pools = evolution.pools(self.archive)
        self.catalogue = Catalogue(open_player, kinds, self.pools)
        self.explain = explain
        # Read once: what is not in this table does not exist, whatever a request's path says.
        self.static = {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.is_file()}
        self.lens: asyncio.Semaphore
        """One look inside at a time: it is the most work that a request can ask for."""
        self.rooms: Rooms
        self.seats: Seats

    @contextlib.asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self.lens = asyncio.Semaphore(1)
        self.seats = Seats(self.catalogue)
        self.rooms = Rooms(self.seats)
        # The first to ask shall not wait for the networks to load.
        warming = asyncio.create_task(asyncio.to_thread(self.catalogue.listing))
        yield
        await self.rooms.close()
        warming.cancel()

    async def index(self, _request: Request) -> Response:
        return self._file("index.html")

    async def file(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        content = self.static.get(name)
        if content is None:
            raise Refusal("there is no such page", 404)
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        return Response(content, media_type=kind, headers={"cache-control": "no-cache"})

    async def minds(self, _request: Request) -> Response:
        listing = await asyncio.to_thread(self.catalogue.listing)
        return JSONResponse({"minds": listing, "lens": self.explain is not None})

    async def new_game(self, request: Request) -> Response:
        wish = await wishes.read_json(request)
        wishes.refuse_others(wish, ("new", "kept"))
        kept, new = wishes.table(wish, "kept"), wishes.table(wish, "new")

        def make() -> game.Game:
            # A pool may have been begun since the server was.
            self.pools.update(evolution.pools(self.archive))
            return game.begun(new or {}, self.pools) if kept is None else game.brought_back(kept, self.pools)

        # A long PGN takes seconds to read, and nobody else shall wait for it.
        made = await asyncio.to_thread(make)
        return JSONResponse(self.rooms.add(made).game.to_json())

    async def show_game(self, request: Request) -> Response:
        return JSONResponse(self._room(request).game.to_json())

    async def news(self, request: Request) -> Response:
        room = self._room(request)
        if self.rooms.streams() >= limits.MOST_STREAMS:
            raise Refusal("too many pages are open on this server", 503)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        stream = room.news(self.rooms.closing)
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def pgn(self, request: Request) -> Response:
        text = self._room(request).game.pgn()
        headers = {"content-disposition": 'attachment; filename="tabiya.pgn"'}
        return PlainTextResponse(text, media_type="application/x-chess-pgn", headers=headers)

    async def act(self, request: Request) -> Response:
        room, action = self._room(request), request.path_params["action"]
        wish = await wishes.read_json(request)
        if action == "move":
            wishes.refuse_others(wish, ("move", "ply"))
            move, ply = wishes.text(wish, "move", 20), wishes.whole(wish, "ply", 0, limits.LONGEST_GAME)
            room.act(lambda game: game.person_moves(move, ply))
        elif action == "takeback":
            room.act(lambda game: game.take_back())
        elif action == "resign":
            room.act(lambda game: game.resign())
        elif action == "draw":
            room.act(lambda game: game.offer_draw())
        elif action == "pause":
            room.pause(True)
        elif action == "resume":
            if room.game.watched:
                self.rooms.refuse_another_watched()
            room.pause(False)
        else:
            raise Refusal("a game knows no such action", 404)
        return JSONResponse(room.game.to_json())

    def _room(self, request: Request) -> Any:
        return self.rooms[wishes.game_id(request.path_params["id"])]

    async def position(self, request: Request) -> Response:
        """A paste, or a position and moves, as the boards without an opponent need it."""
        wish = await wishes.read_json(request)
        wishes.refuse_others(wish, ("start", "fen", "moves", "blank"))

        def look() -> dict[str, Any]:
            if "start" in wish:
                board = read_start(wishes.text(wish, "start", limits.LARGEST_BODY))
            else:
                board = asked_board(wish)
            return {"start_fen": board.start_fen, "moves": line(board), "position": view(board)}

        return JSONResponse(await asyncio.to_thread(look))

    async def opinion(self, request: Request) -> Response:
        return JSONResponse(await opinions.opinion(request, self.seats, self.pools))

    async def reasons(self, request: Request) -> Response:
        choice, board = opinions.read_question(await wishes.read_json(request), self.pools)
        if self.explain is None:
            raise Refusal(why.NO_LENS, 501)
        explain = self.explain

        def look() -> dict[str, Any]:
            with self.catalogue.open(choice) as player:
                return why.checked(explain(player, board))

        async with self.lens:
            return JSONResponse(await asyncio.to_thread(look))

    async def results(self, request: Request) -> Response:
        """The pages beside the board; their files are read in a thread, for there may be many."""
        kind, key = request.path_params["kind"], request.path_params.get("key", "")
        number = wishes.whole(_numbers(request), "number", 0, 2**31)
        archive = self.archive
        answers: dict[str, Callable[[], dict[str, Any]]] = {
            "ratings": lambda: ratings.overview(archive),
            "games": lambda: ratings.games_of(archive, key, number or 0),
            "game": lambda: ratings.game_of(archive, key, number or 0),
            "training": lambda: training.overview(archive),
            "curves": lambda: training.curves(archive, key),
            "evolution": lambda: evolution.overview(archive),
            "pool": lambda: evolution.history(archive, key, number),
        }
        if kind not in answers:
            raise Refusal("there is no such page", 404)
        return JSONResponse(_finite(await asyncio.to_thread(answers[kind])))


def _numbers(request: Request) -> dict[str, Any]:
    text = request.query_params.get("number")
    if text is None:
        return {}
    if not text.isdecimal() or len(text) > 10:
        raise Refusal("number must be a whole number")
    return {"number": int(text)}


def _finite(value: Any) -> Any:
    """JSON knows no NaN, and a damaged figure shall not cost the page."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list) else value


async def _refused(_request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refusal) else 400
    return JSONResponse({"error": shortened(str(error))}, status)


async def _no_such_address(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return JSONResponse({"error": "there is no such address here"}, status)


def create_app(page: Page, names: Sequence[str] = (), addresses: bool = False) -> Starlette:
    """The page behind its guard; `names` and `addresses` as in `Guard`."""

    def careful(handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except UserError as error:
                return await _refused(request, error)
            except Exception:
                LOGGER.exception("a request to %s failed", request.url.path)
                return JSONResponse({"error": "something broke in the server; its log says what"}, 500)

        return answer

    def route(path: str, handler: Handler, *methods: str) -> Route:
        return Route(path, careful(handler), methods=list(methods or ("GET",)))

    routes = [
        route("/", page.index),
        route("/static/{name}", page.file),
        route("/api/minds", page.minds),
        route("/api/games", page.new_game, "POST"),
        route("/api/games/{id}", page.show_game),
        route("/api/games/{id}/news", page.news),
        route("/api/games/{id}/pgn", page.pgn),
        route("/api/games/{id}/{action}", page.act, "POST"),
        route("/api/position", page.position, "POST"),
        route("/api/opinion", page.opinion, "POST"),
        route("/api/why", page.reasons, "POST"),
        route("/api/results/{kind}", page.results),
        route("/api/results/{kind}/{key}", page.results),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, names=names, addresses=addresses)],
        exception_handlers={HTTPException: _no_such_address},
        lifespan=page.lifespan,
    )
