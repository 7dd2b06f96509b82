# SPDX-License-Identifier: Apache-2.0
"""The messages of a failed build: the lines that matter, and the symbols that the linker missed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.arch.model import Architecture
from bootscope.builder.linkmap import Objects
from bootscope.core.errors import BootscopeError, printable

_MATTERS = re.compile(r"(undefined reference to|\berror:|\bError \d+|multiple definition of|FATAL:)", re.I)
_UNDEFINED = re.compile(r"undefined reference to [`']([\w.]+)'")
_SYMBOL = re.compile(r"^([0-9a-f]+) [A-TV-Z] (\S+)$", re.M)
_LOG = "full log: "
_MOST_LINES = 3


@dataclass(frozen=True)
class BuildError:
    """`lines` are the first lines that say what is wrong; `undefined` are names without a definition."""

    lines: tuple[str, ...]
    undefined: tuple[str, ...]


def read(error: BootscopeError) -> BuildError:
    """Reads the log that the hint of a build step's error names."""
    log = Path((error.hint or "").removeprefix(_LOG)) if (error.hint or "").startswith(_LOG) else None
    text = log.read_text(errors="replace") if log and log.is_file() else error.message
    matter = [line.strip() for line in text.splitlines() if _MATTERS.search(line)]
    # make's own message about a failed command comes after the cause and says less.
    cause = [line for line in matter if not re.search(r"\*\*\*.*Error \d+", line)] or matter
    first = cause[:_MOST_LINES] or error.message.splitlines()[-_MOST_LINES:]
    lines = tuple(printable(line)[:160] for line in first)
    return BuildError(lines, tuple(dict.fromkeys(_UNDEFINED.findall(text))))


def defined_in(table: str, linked: Objects, arch: Architecture) -> Mapping[str, str]:
    """Global name -> object file that defines it, from a symbol table (as nm -n writes it)."""
    found: dict[str, str] = {}
    for address, name in _SYMBOL.findall(table):
        piece = linked.at(arch.code_address(int(address, 16))) or linked.at(int(address, 16))
        if piece:
            found[name] = piece.object
    return found
