# SPDX-License-Identifier: Apache-2.0
"""What is known of made-up systems, in parts: only what is given is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bootscope.audit.pitfalls.find import FoundPitfalls, Warned, find_pitfalls
from bootscope.inventory.bootlog import BootLog, log_line
from bootscope.inventory.inventory import Inventory, Part

MS = 1_000_000
_CONFIGS = {"kernel": Part.KERNEL, "uboot": Part.LOADER, "busybox": Part.BUSYBOX}
_PLAIN = {
    "command_line": Part.COMMAND_LINE,
    "environment": Part.ENVIRONMENT,
    "commands": Part.COMMANDS,
    "files": Part.FILES,
    "scripts": Part.SCRIPTS,
    "programs": Part.PROGRAMS,
    "log": Part.LOG,
    "emulator": Part.EMULATOR,
}


def symbols(text: str) -> dict[str, str]:
    """`SMP FTRACE=n LOG_BUF_SHIFT=14` as symbols; one without a value is y."""
    return {word.partition("=")[0]: word.partition("=")[2] or "y" for word in text.split()}


def inventory_of(**given: Any) -> Inventory:
    """A system of which only `given` is known: fields of Inventory, and `kernel`, `uboot`, `busybox` as texts
    of symbols; `log` is a log or its lines; `built` says that there is a system file."""
    parts: set[Part] = set()
    fields: dict[str, Any] = {"configs": {}}
    for key, value in given.items():
        if key in _CONFIGS:
            parts.add(_CONFIGS[key])
            fields["configs"][key] = symbols(value)
        elif key == "built":
            parts.add(Part.SETTINGS)
            fields["settings"] = {**fields.get("settings", {}), **value}
        elif key in _PLAIN:
            parts.add(_PLAIN[key])
            fields[key] = log_of(value) if key == "log" and not isinstance(value, BootLog) else value
        else:
            fields[key] = value
    return Inventory(parts=frozenset(parts), **fields)


def log_of(lines: str | Sequence[str], **fields: Any) -> BootLog:
    """A log without a clock of its own; lines may have the kernel's stamps."""
    rows = lines.splitlines() if isinstance(lines, str) else lines
    return BootLog([log_line(0, row) for row in rows], fields.pop("clock", "kernel"), **fields)


def timed(rows: Sequence[tuple[float, str]], **fields: Any) -> BootLog:
    """A log that a host has stamped, in ms."""
    made = [log_line(int(at * MS), text) for at, text in rows]
    return BootLog(made, fields.pop("clock", "host"), **fields)


def seen(found: FoundPitfalls) -> dict[str, Warned]:
    """All that was found, advice too, by id."""
    return {w.ident: w for w in (*found.warnings, *found.advice)}


def warned(given: Mapping[str, Any]) -> dict[str, Warned]:
    """What a system that is known so far is warned of."""
    return seen(find_pitfalls(inventory_of(**given)))
