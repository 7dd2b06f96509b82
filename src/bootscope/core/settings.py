# SPDX-License-Identifier: Apache-2.0
"""Reading TOML files into typed, frozen structures, with errors that name file, key and expectation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bootscope.core.errors import UserError, printable, similar, unknown
from bootscope.core.toml_lines import line_of, spot

T = TypeVar("T", bound=msgspec.Struct)


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything read from a TOML file: frozen, and unknown keys are errors."""


class Sourced(Setting, frozen=True):
    """A number and its source; a number without a source is a guess nobody can check."""

    value: int
    source: str


def as_toml(value: object) -> str:
    """A value in TOML, on one line: texts and numbers as in JSON, except for one character."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(as_toml, value)) + "]"
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007F")


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_toml_key(name: str) -> str:
    """A dotted name as a key in TOML, with quotes around the parts that need them."""
    return ".".join(part if _BARE.fullmatch(part) else as_toml(part) for part in name.split("."))


def names_in(folder: Path) -> list[str]:
    """The names of the TOML files in a folder that comes with bootscope."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def find(what: str, name: str, folder: Path) -> Path:
    """The file of the `what` (board, system) called `name` in `folder`; a name that ends in .toml is a path
    of the user's own. Raises UserError for an unknown name, and lists those that exist."""
    if name.endswith(".toml"):
        return Path(name)
    if name not in names_in(folder):
        raise unknown(what, name, names_in(folder))
    return folder / f"{name}.toml"


def read_toml(path: Path) -> tuple[dict[str, Any], str]:
    """The content of a TOML file, and its text.

    Raises UserError when it cannot be read or is not TOML, with line and column.
    """
    try:
        text = path.read_bytes().decode()
        return tomllib.loads(text), text
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: not valid TOML: it is not UTF-8 text") from error
    except RecursionError as error:
        raise UserError(f"{path}: not valid TOML: lists or tables are nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path, text, str(error)) from error


_SAID = {
    "Invalid value": "expected a value: a string in quotes, a number, true, false, [a list] or {a table}",
    "Expected newline or end": "expected the end of the line after a value; strings need quotes",
    "Illegal character '\\n'": "the string does not end on its line: the closing quote is missing",
    "Unterminated string": "a string has no closing quotes",
    "Cannot declare": "duplicate table or key",
    "Cannot overwrite": "duplicate key",
}
"""The beginnings of tomllib's messages, and ours."""
_SPOT = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def _no_toml(path: Path, text: str, said: str) -> UserError:
    """The error for tomllib's message `said` about a file, with place and line."""
    match, lines = _SPOT.fullmatch(said), text.split("\n")
    if not match:
        return UserError(f"{path}: not valid TOML: {printable(_plain(said))}")
    number = int(match[2] or len(text.rstrip().split("\n")))
    column = f":{match[3]}" if match[3] else ""
    what = next((ours for theirs, ours in _SAID.items() if match[1].startswith(theirs)), _plain(match[1]))
    line = printable(lines[number - 1].strip()[:80])
    return UserError(
        f"{path}:{number}{column}: not valid TOML: {printable(what)}",
        hint=f"line {number} is: {line}" if line else None,
    )


def expected(path: Path, key: str, what: str) -> UserError:
    """The error for a value in a file other than `what` was expected; `key` is dotted."""
    return UserError(f"{spot(path, key.split('.'))}: {key}: expected {what}")


def load(
    path: Path,
    kind: type[T],
    examples: Mapping[str, str] | None = None,
    old_names: Mapping[str, str] | None = None,
) -> T:
    """Reads `path` as a `kind`; `examples` are lines of TOML by the name of their table, `old_names` are
    former names of top-level keys, with their current names.

    Raises UserError as :func:`read_toml` does, and when the file has a wrong type, an unknown key
    or a missing value: the message names file, line, key and what was expected.
    """
    table, text = read_toml(path)
    for old, new in (old_names or {}).items():
        if old in table and new not in table:
            table[new] = table.pop(old)
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise _wrong(path, text, table, kind, str(error), examples or {}) from error


_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<key>\$[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


def _wrong(
    path: Path, text: str, table: dict[str, Any], kind: type[T], said: str, examples: Mapping[str, str]
) -> UserError:
    """The error for msgspec's message `said` about a table."""
    match = _AT.match(said)
    what, at = (match["what"], match["key"] or "") if match else (said, "")
    steps = _resolved(table, kind, said, [name or number for name, number in _STEP.findall(at)])
    unknown_key = re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL)
    line = line_of(text, [*steps, unknown_key[1]] if unknown_key else steps)
    place = f"{path}:{line}" if line else str(path)
    key = "".join(f"[{step}]" if step.isdecimal() else f".{step}" for step in steps).lstrip(".")
    message = f"{key or 'top level'}: {_plain(what)}{_kinds(what)}"
    meant = similar(unknown_key[1], sorted(_keys(kind, steps))) if unknown_key else []
    example = examples.get(steps[0]) if steps else None
    hints = [f"did you mean {' or '.join(meant)}?"] if meant else []
    hints += [f"for example: {example}"] if example else []
    return UserError(f"{place}: {printable(message)}", hint=" ".join(hints) or None)


def _keys(kind: type, steps: Sequence[str]) -> set[str]:
    """The keys that a table at these steps into a `kind` may have; empty if it may have any."""
    # Only after a typing error is this module loaded.
    from msgspec import inspect

    here: list[inspect.Type] = [inspect.type_info(kind)]
    for step in (*steps, None):
        here = [one for a in here for one in (a.types if isinstance(a, inspect.UnionType) else (a,))]
        structs = [a for a in here if isinstance(a, inspect.StructType)]
        if step is None:
            return {field.encode_name for a in structs for field in a.fields}
        below = [field.type for a in structs for field in a.fields if field.encode_name == step]
        below += [a.value_type for a in here if isinstance(a, inspect.DictType)]
        items = (inspect.ListType, inspect.VarTupleType)
        here = below + [a.item_type for a in here if isinstance(a, items)]
    return set()


def _resolved(table: Any, kind: type[T], said: str, steps: list[str]) -> list[str]:
    """The steps to a value, with the names of table entries for which msgspec says only `...`: each entry is
    tried alone until the message is the same."""
    whole, inner = table, table
    for position, step in enumerate(steps):
        if step == "...":
            step = next((name for name in inner if _same(whole, steps[:position], name, kind, said)), step)
            steps[position] = step
        inner = inner[int(step)] if isinstance(inner, list) else inner.get(step, {})
    return steps


def _same(whole: Any, path: list[str], name: str, kind: type[T], said: str) -> bool:
    """Whether msgspec's message is the same when `name` is the only entry of the table at `path`."""
    try:
        msgspec.convert(_only(whole, path, name), kind)
    except msgspec.ValidationError as error:
        return str(error) == said
    return False


def _only(table: Any, path: list[str], name: str) -> Any:
    if not path:
        return {name: table[name]}
    step: Any = int(path[0]) if isinstance(table, list) else path[0]
    copy = list(table) if isinstance(table, list) else dict(table)
    copy[step] = _only(table[step], path[1:], name)
    return copy


def _kinds(what: str) -> str:
    """For an unknown `kind`, the existing ones."""
    if not what.startswith("Invalid value"):
        return ""
    tags = {str(c.__struct_config__.tag) for c in _below(Setting) if c.__struct_config__.tag}
    return f", expected one of {', '.join(sorted(tags))}"


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """All classes derived from one, directly or not."""
    for derived in kind.__subclasses__():
        yield derived
        yield from _below(derived)


_TYPES = {
    "str": "a string in quotes", "int": "a whole number", "float": "a number", "bool": "true or false",
    "array": "a list", "object": "a table", "null": "nothing",
}  # fmt: skip
"""msgspec's words for types, and plain ones."""
_TYPED = re.compile(r"`((?:\w+)(?: \| \w+)*)`")


def _plain(what: str) -> str:
    """msgspec's message in our words: lower-case start, 'key' for 'field', plain names of types."""
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing value for")
    if what.startswith("Expected"):
        what = _TYPED.sub(
            lambda match: " or ".join(_TYPES.get(name, name) for name in match[1].split(" | ")), what
        )
        what = what.replace("a whole number, got a number", "a whole number, got a fraction")
    return what[:1].lower() + what[1:]
