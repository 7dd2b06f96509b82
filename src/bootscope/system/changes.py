# SPDX-License-Identifier: Apache-2.0
"""Changes to a system: typed edits that can be put together, shown, and written out.

A change never alters a system; it gives a new one. What it touches is told as *claims*, so that two
changes that want different things of the same setting can be told apart from two that go together.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bootscope.errors import UserError, printable
from bootscope.settings import Setting
from bootscope.system.model import Symbols, System

Value = str | int | bool | tuple[str, ...] | None

TREES = ("kernel", "uboot", "busybox")
"""The parts of a system that are configured with Kconfig symbols."""


class Change(Setting, frozen=True):
    """An edit of a system. Every part may be left out.

    `kernel`, `uboot`, `busybox`: Kconfig symbols without ``CONFIG_``.
    `command_line`: words added to the kernel's command line; one with the same name before the `=` is
    replaced. `command_line_drop`: names of words taken out.
    `write`: files of the root file system by path, as text. `link`: symbolic links by path. `remove`:
    patterns of paths taken out.
    `compiler_options`, `compiler_options_drop`: of the application.
    `settings`: other settings by their name in the system file, for example ``rootfs.filesystem``.
    """

    kernel: Symbols = {}
    uboot: Symbols = {}
    busybox: Symbols = {}
    command_line: tuple[str, ...] = ()
    command_line_drop: tuple[str, ...] = ()
    write: dict[str, str] = {}
    link: dict[str, str] = {}
    remove: tuple[str, ...] = ()
    compiler_options: tuple[str, ...] = ()
    compiler_options_drop: tuple[str, ...] = ()
    settings: dict[str, str | int | bool | tuple[str, ...]] = {}

    def claims(self) -> dict[str, Value]:
        """What the change wants of which setting: name -> value, None for "not there"."""
        found: dict[str, Value] = {}
        for tree in TREES:
            symbols: Symbols = getattr(self, tree)
            found.update({f"{tree}.config.{name}": value for name, value in symbols.items()})
        found.update({f"command line {word_name(w)}": w for w in self.command_line})
        found.update({f"command line {name}": None for name in self.command_line_drop})
        found.update({f"file {path}": text for path, text in self.write.items()})
        found.update({f"file {path}": f"-> {target}" for path, target in self.link.items()})
        found.update({f"file {pattern}": None for pattern in self.remove})
        found.update({f"compiler option {word_name(o)}": o for o in self.compiler_options})
        found.update({f"compiler option {word_name(o)}": None for o in self.compiler_options_drop})
        found.update(self.settings)
        return found


def word_name(word: str) -> str:
    """What stands before the `=` of a word."""
    return word.partition("=")[0]


def conflicts(changes: Mapping[str, Change]) -> list[tuple[str, str, str]]:
    """Pairs of changes (by name) that want different things of one setting, and that setting."""
    claimed: dict[str, tuple[str, Value]] = {}
    found: list[tuple[str, str, str]] = []
    for name, change in changes.items():
        for key, value in change.claims().items():
            first, wanted = claimed.setdefault(key, (name, value))
            if wanted != value:
                found.append((first, name, key))
    return found + _removed_but_written(changes)


def _removed_but_written(changes: Mapping[str, Change]) -> list[tuple[str, str, str]]:
    """Files that one change writes and a pattern of another takes out."""
    return [
        (one, other, f"file {path}")
        for one, writing in changes.items()
        for other, removing in changes.items()
        for path in (*writing.write, *writing.link)
        for pattern in removing.remove
        if one != other and pattern != path and fnmatch.fnmatchcase(path, pattern)
    ]


def apply(system: System, changes: Mapping[str, Change]) -> System:
    """The system with all the changes, in their order.

    Raises UserError when two of them conflict, or one names a setting that a system does not have.
    """
    clashing = conflicts(changes)
    if clashing:
        first, second, key = clashing[0]
        raise UserError(
            f"{printable(first)} and {printable(second)} cannot be used together: "
            f"they want different things of {printable(key)}"
        )
    for change in changes.values():
        system = _applied(system, change)
    return system


def _applied(system: System, change: Change) -> System:
    replace = msgspec.structs.replace
    s = system
    kernel = replace(
        s.kernel,
        config={**s.kernel.config, **change.kernel},
        command_line=_words(s.kernel.command_line.split(), change.command_line, change.command_line_drop),
    )
    options = _words(s.application.compiler_options, change.compiler_options, change.compiler_options_drop)
    s = replace(
        s,
        kernel=kernel,
        uboot=replace(s.uboot, config={**s.uboot.config, **change.uboot}),
        busybox=replace(s.busybox, config={**s.busybox.config, **change.busybox}),
        application=replace(s.application, compiler_options=tuple(options.split())),
        rootfs=replace(
            s.rootfs,
            files={**s.rootfs.files, **change.write},
            links={**s.rootfs.links, **change.link},
            remove=tuple(dict.fromkeys((*s.rootfs.remove, *change.remove))),
        ),
    )
    return _with_settings(s, change.settings) if change.settings else s


def _words(words: Iterable[str], added: Iterable[str], dropped: Iterable[str]) -> str:
    """Words with others added: a word takes the place of one with its name, else it goes to the end."""
    gone = set(dropped)
    new = {word_name(word): word for word in added}
    kept = [new.pop(word_name(w), w) for w in words if word_name(w) not in gone]
    return " ".join([*kept, *new.values()])


def _with_settings(system: System, settings: Mapping[str, Any]) -> System:
    table = msgspec.to_builtins(system)
    for key, value in settings.items():
        *folders, last = key.split(".")
        inner = table
        for folder in folders:
            if not isinstance(inner.get(folder), dict):
                inner[folder] = {}
            inner = inner[folder]
        inner[last] = value
    try:
        return msgspec.convert(table, System)
    except msgspec.ValidationError as error:
        names = ", ".join(settings)
        raise UserError(f"a change of {printable(names)} gives no system: {printable(str(error))}") from error
