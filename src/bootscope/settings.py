# SPDX-License-Identifier: Apache-2.0
"""Reading TOML files into typed, frozen structures, with errors that name file, key and expectation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from bootscope.errors import UserError, printable, unknown

T = TypeVar("T", bound=msgspec.Struct)


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything read from a TOML file: frozen, and unknown keys are errors."""


class Sourced(Setting, frozen=True):
    """A number and where it comes from; a number without a source is a guess nobody can check."""

    value: int
    source: str


def as_toml(value: object) -> str:
    """A value in TOML, which for texts, numbers and lists is what JSON writes, but for one character."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")


_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<key>[^`]*)`)?$", re.DOTALL)


def names_in(folder: Path) -> list[str]:
    """The names of the TOML files in a folder that comes with bootscope."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def find(what: str, name: str, folder: Path) -> Path:
    """The file of the `what` (board, system) called `name` in `folder`; a name that ends in .toml is a
    path of the user's own. Raises UserError for a name that does not exist, naming those that do."""
    if name.endswith(".toml"):
        return Path(name)
    if name not in names_in(folder):
        raise unknown(what, name, names_in(folder))
    return folder / f"{name}.toml"


def load(path: Path, kind: type[T]) -> T:
    """Reads `path` as a `kind`.

    Raises UserError when the file cannot be read, is no TOML, or has a wrong type, an unknown key
    or a missing value: the message names file, key and what was expected.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {printable(str(error))}") from error
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        key = (match["key"] if match else None) or "top level"
        what = match["what"] if match else str(error)
        message = f"{_named(key, table, kind)}: {_plain(what)}{_kinds(what)}"
        raise UserError(f"{path}: {printable(message)}") from error


def _named(key: str, table: dict[str, Any], kind: type[msgspec.Struct]) -> str:
    """`key` with the name of the table that is wrong, where msgspec says only `devices[...]`.

    This is for tables with free names at the top: each is tried by itself until one fails.
    """
    section, found, rest = key.partition("[...]")
    if not found or section not in kind.__struct_fields__:
        return key
    item = get_args(get_type_hints(kind)[section])[1]
    for name, value in table[section].items():
        try:
            msgspec.convert(value, item)
        except msgspec.ValidationError:
            return f"{section}.{name}{rest}"
    return key


def _kinds(what: str) -> str:
    """For an unknown `kind`, those there are."""
    if not what.startswith("Invalid value"):
        return ""
    tags = [str(c.__struct_config__.tag) for c in Setting.__subclasses__() if c.__struct_config__.tag]
    return f", expected one of {', '.join(sorted(tags))}"


def _plain(what: str) -> str:
    """msgspec's words in ours: lower-case start, 'key' for 'field'."""
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing value for")
    return what[:1].lower() + what[1:]
