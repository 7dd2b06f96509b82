# SPDX-License-Identifier: Apache-2.0
"""Reading TOML files into typed, frozen structures, with errors that name file, key and expectation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import msgspec

from bootscope.errors import UserError

T = TypeVar("T", bound=msgspec.Struct)


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything read from a TOML file: frozen, and unknown keys are errors."""


class Sourced(Setting, frozen=True):
    """A number and where it comes from; a number without a source is a guess nobody can check."""

    value: int
    source: str


_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$\.?(?P<key>[^`]*)`)?$", re.DOTALL)


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
        return msgspec.toml.decode(data, type=kind)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        key = (match["key"] if match else None) or "top level"
        what = match["what"] if match else str(error)
        raise UserError(f"{path}: {key}: {_plain(what)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error


def _plain(what: str) -> str:
    """msgspec's words in ours: lower-case start, 'key' for 'field'."""
    what = what.replace("Object contains unknown field", "unknown key")
    what = what.replace("Object missing required field", "missing value for")
    return what[:1].lower() + what[1:]
