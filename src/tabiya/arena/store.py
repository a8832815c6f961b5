"""The folder of a match or tournament: its settings, its games, its result.

    settings.json   what is being played; a later run must ask for the same
    games.pgn       one game after the other, each on the disk before the next is counted
    result.json     the figures, once all is played

Killed at any moment, the folder loses at most the games that were being
played: a game is appended in one piece and synced, and a last game without its
end is cut off when the folder is opened again. While a match is running its
games stand in the order in which they finished; at the end they are put into
the order of their numbers.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from tabiya.arena.pgn import number_of
from tabiya.arena.record import Result
from tabiya.errors import UserError

_ENDS: dict[str, Result] = {"1-0": "1-0", "0-1": "0-1", "1/2-1/2": "1/2-1/2"}


class StoredGame:
    """A game as it stands in the file."""

    def __init__(self, text: str) -> None:
        self.text = text
        head = text.partition("\n\n")[0]
        tags = (line[1:-1].partition(" ") for line in head.splitlines())
        self.tags = {name: _unescaped(value) for name, _, value in tags}
        number = number_of(self.tags.get("Round", ""))
        result = _ENDS.get(self.tags.get("Result", ""))
        if number is None or result is None:
            raise ValueError("not a game of the arena")
        self.number: int = number
        self.result: Result = result
        self.white = self.tags.get("White", "")
        self.black = self.tags.get("Black", "")


class Store:
    """An open folder; one process holds it at a time."""

    def __init__(self, folder: Path, settings: dict[str, Any], pgn: Path | None = None) -> None:
        self.folder = folder
        self.pgn = pgn or folder / "games.pgn"
        self.result_file = folder / "result.json"
        self.games: dict[int, StoredGame] = {}
        # What is not there yet, deepest first: a run that fails before its first game takes it away again.
        files = (self.pgn, folder / "settings.json", folder / ".lock")
        self._new = [path for path in files if not path.exists()]
        self._new += [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder)
        try:
            self._open(settings)
        except BaseException:
            os.close(self._lock)
            self._undo()
            raise

    def _open(self, settings: dict[str, Any]) -> None:
        file = self.folder / "settings.json"
        if file.exists():
            self._check(file, settings)
        elif self.pgn.exists() and self.pgn.stat().st_size:
            raise UserError(f"{self.pgn} holds other games already: choose another --pgn or --out")
        else:
            # Through JSON, so that what is compared next time is what was written.
            write_whole(file, json.dumps(settings, ensure_ascii=False, indent=1) + "\n")
        self.pgn.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.pgn, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._load()
        except BaseException:
            os.close(self._file)
            raise

    def _check(self, file: Path, settings: dict[str, Any]) -> None:
        try:
            before = json.loads(file.read_text())
        except ValueError as error:
            raise UserError(f"{file} is damaged: {error}") from None
        difference = _difference(before, json.loads(json.dumps(settings)))
        if difference is not None:
            what, old, new = difference
            raise UserError(
                f"{self.folder} was begun with {what} {old}, not {new}: "
                "give the same settings to go on, or another --out to begin anew"
            )

    def _load(self) -> None:
        with open(self.pgn, "rb") as stream:
            data = stream.read()
        whole = 0
        for chunk in whole_games(data):
            try:
                game = StoredGame(chunk.decode("utf-8"))
            except (ValueError, UnicodeDecodeError):
                raise UserError(
                    f"{self.pgn} holds a game that is not of this match, at byte {whole}"
                ) from None
            self.games.setdefault(game.number, game)
            whole += len(chunk)
        if whole < len(data):
            os.ftruncate(self._file, whole)
        os.lseek(self._file, 0, os.SEEK_END)

    def append(self, text: str) -> StoredGame:
        """Put a game on the disk; if that fails, the file is as it was before."""
        game = StoredGame(text)
        before = os.lseek(self._file, 0, os.SEEK_END)
        try:
            rest = text.encode()
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, before)
            raise OSError(error.errno, error.strerror, str(self.pgn)) from None
        self.games[game.number] = game
        return game

    def earlier_result(self) -> dict[str, Any]:
        """What an earlier run wrote, for the names that only an opened player knows."""
        try:
            found = json.loads(self.result_file.read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def finish(self, numbers: Iterable[int], result: dict[str, Any]) -> None:
        """Leave exactly these games, in order, and write the result."""
        kept = {number: self.games[number] for number in sorted(numbers)}
        text = "".join(game.text for game in kept.values())
        if Path(self.pgn).read_bytes() != text.encode():
            write_whole(self.pgn, text)
        self.games = kept
        write_whole(self.result_file, json.dumps(result, ensure_ascii=False, indent=1) + "\n")

    def close(self) -> None:
        os.close(self._file)
        os.close(self._lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if error is not None and not self.games:
            self._undo()

    def _undo(self) -> None:
        for path in self._new:
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, synced; what was there stays until then."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _lock(folder: Path) -> int:
    """Hold the folder until this process ends, however it ends."""
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        pass
    except OSError:
        os.close(descriptor)
        raise UserError(
            f"another program is playing in {folder}: wait for it, or choose another --out"
        ) from None
    return descriptor


def whole_games(data: bytes) -> Iterator[bytes]:
    """The games up to the first that lacks its end: a game is tags, a blank line, moves, a blank line."""
    begin = 0
    while True:
        tags = data.find(b"\n\n", begin)
        end = data.find(b"\n\n", tags + 2) if tags >= 0 else -1
        if end < 0:
            return
        yield data[begin : end + 2]
        begin = end + 2


def _difference(before: Any, now: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The first setting that differs: its name, its value then, its value now."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            label = key if not name else f"{name} {key}"
            found = _difference(before.get(key), now.get(key), label)
            if found is not None:
                return found
        return None
    if before == now:
        return None
    return name or "settings", json.dumps(before, ensure_ascii=False), json.dumps(now, ensure_ascii=False)


def _unescaped(value: str) -> str:
    return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
