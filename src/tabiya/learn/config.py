"""TOML files to frozen dataclasses, and nothing that a dataclass did not ask for.

A run is what its config says, so a config is read strictly: a misspelt name is
refused rather than ignored, a wrong type rather than bent, and every refusal
names the file and the table. The dataclass is the only description of a
config there is; what it may hold are bool, int, float, str, Literal, tuples,
`X | None` and dataclasses within it (a table; a tuple of them is an array of
tables). The same rules read a config back out of a checkpoint's metadata.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast

from tabiya.errors import UserError

T = TypeVar("T")

_PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def load_config(path: str | Path, cls: type[T]) -> T:
    """The config in a TOML file; `UserError` with the file's name for whatever is wrong with it."""
    return _read_table(read_toml(path), cls, _Place(str(path)))


def refuse_below_one(config: object, *names: str) -> None:
    """A `UserError` that names the first of these settings that is less than 1."""
    for name in names:
        if getattr(config, name) < 1:
            raise UserError(f"{name} must be at least 1, got {getattr(config, name)}")


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; `UserError` if it is none."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path} is no TOML file: it is not UTF-8 text") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is no valid TOML: {error}") from None


def config_from_dict(values: Mapping[str, Any], cls: type[T], source: str = "the stored config") -> T:
    """The config that `config_to_dict` wrote down, as strict as a file; `source` names it in errors."""
    return _read_table(values, cls, _Place(source))


def config_to_dict(config: Any) -> dict[str, Any]:
    """A config as JSON can hold it: tables as dicts, tuples as lists, every default spelt out."""
    return {
        field.name: _plain(getattr(config, field.name)) for field in dataclasses.fields(config) if field.init
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return config_to_dict(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


class _Place(typing.NamedTuple):
    """Where in a file a table stands, in the words of TOML."""

    file: str
    keys: tuple[str, ...] = ()
    number: int | None = None
    is_entry: bool = False

    def table(self, key: str) -> _Place:
        return self._replace(keys=(*self.keys, key), is_entry=False)

    def entry(self, number: int) -> _Place:
        return self._replace(number=number, is_entry=True)

    def __str__(self) -> str:
        if not self.keys:
            return self.file
        name = f"[{'.'.join(self.keys)}]"
        if self.is_entry:
            name = f"[{name}]"
        return f"{name}{'' if self.number is None else f' number {self.number}'} of {self.file}"


class _Setting(typing.NamedTuple):
    """One setting on its way from the file: what to call it, and where it stands."""

    name: str
    place: _Place

    def refusal(self, expected: str, value: Any) -> UserError:
        return UserError(f"setting '{self.name}' in {self.place} must be {expected}, not {_shown(value)}")


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, Mapping):
        return "a table"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _read_table(values: Any, cls: type[T], place: _Place) -> T:
    fields = {field.name: field for field in dataclasses.fields(cast(Any, cls)) if field.init}
    for name in values:
        if name not in fields:
            raise UserError(f"unknown setting '{name}' in {place}, {_advice(name, list(fields))}")
    missing = [name for name, field in fields.items() if name not in values and _is_required(field)]
    if missing:
        names = " and ".join(f"'{name}'" for name in missing)
        raise UserError(f"missing setting{'s' if len(missing) > 1 else ''} {names} in {place}")
    hints = typing.get_type_hints(cls)
    read = {name: _read(value, hints[name], _Setting(name, place)) for name, value in values.items()}
    try:
        return cls(**read)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _advice(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"which knows {', '.join(known) or 'no settings'}"


def _read(value: Any, kind: Any, setting: _Setting) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise setting.refusal("a table", value)
        return _read_table(value, cast(type[Any], kind), setting.place.table(setting.name))
    if origin is Literal:
        # 1 == True == 1.0 in Python, so the type is compared as well.
        if not any(value == choice and type(value) is type(choice) for choice in arguments):
            raise setting.refusal(_expected(kind), value)
        return value
    if origin in (Union, types.UnionType):
        return _read_union(value, kind, arguments, setting)
    if origin is tuple:
        return _read_tuple(value, kind, arguments, setting)
    if kind not in _PLAIN:
        raise TypeError(f"a config cannot hold {kind} (setting '{setting.name}')")
    return _read_plain(value, kind, setting)


def _read_plain(value: Any, kind: Any, setting: _Setting) -> Any:
    if kind is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise setting.refusal("a finite number", value) from None
    if type(value) is not kind:
        raise setting.refusal(_expected(kind), value)
    if kind is float and not math.isfinite(value):
        raise setting.refusal("a finite number", value)
    return value


def _read_union(value: Any, kind: Any, arguments: tuple[Any, ...], setting: _Setting) -> Any:
    choices = [choice for choice in arguments if choice is not type(None)]
    if value is None and len(choices) < len(arguments):
        return None
    if len(choices) == 1:
        return _read(value, choices[0], setting)
    for choice in choices:
        try:
            return _read(value, choice, setting)
        except UserError:
            continue
    raise setting.refusal(_expected(kind), value)


def _read_tuple(value: Any, kind: Any, arguments: tuple[Any, ...], setting: _Setting) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise setting.refusal(_expected(kind), value)
    any_length = len(arguments) == 2 and arguments[1] is Ellipsis
    kinds = [arguments[0]] * len(value) if any_length else list(arguments)
    if len(kinds) != len(value):
        raise setting.refusal(_expected(kind), value)
    read: list[Any] = []
    for number, (item, item_kind) in enumerate(zip(value, kinds, strict=True), 1):
        if dataclasses.is_dataclass(item_kind) and isinstance(item, Mapping):
            place = setting.place.table(setting.name).entry(number)
            read.append(_read_table(item, cast(type[Any], item_kind), place))
        else:
            read.append(_read(item, item_kind, setting._replace(name=f"{setting.name}[{number - 1}]")))
    return tuple(read)


def _expected(kind: Any) -> str:
    """What a type wants, in words."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(_shown(choice) for choice in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_expected(choice) for choice in arguments if choice is not type(None))
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"a list, each {_expected(arguments[0])}"
        return f"a list of {len(arguments)} ({', '.join(map(_expected, arguments))})"
    return "a table" if dataclasses.is_dataclass(kind) else _PLAIN[kind]
