# SPDX-License-Identifier: Apache-2.0
"""Changes to a system: typed edits that can be combined, shown, and written out.

A change never alters a system; it gives a new one. What it touches is listed as *claims*, so that changes
that conflict over one setting can be distinguished from changes that are compatible.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from bootscope.core.errors import UserError, printable
from bootscope.core.settings import Setting
from bootscope.system.model import Symbols, System, builds

Settings = dict[str, str | int | bool | tuple[str | int, ...] | dict[str, str]]
Value = str | int | bool | tuple[str | int, ...] | dict[str, str] | None

TREES = ("kernel", "uboot", "busybox")
"""The parts of a system that are configured with Kconfig symbols."""
TABLES = (
    "initramfs.files", "initramfs.links", "initramfs.nodes", "kernel.files", "uboot.environment.variables",
    "uboot.files",
)  # fmt: skip
"""Settings that are changed as a whole table; in all other tables, each entry is a setting of its own."""


class Change(Setting, frozen=True):
    """An edit of a system. Every part may be left out.

    `kernel`, `uboot`, `busybox`: Kconfig symbols without ``CONFIG_``. `kernel_wishes`: symbols that give way
    to what others want and need not take effect.
    `command_line`: words added to the kernel's command line, replacing words with the same name before the
    `=`. `command_line_drop`: names of words to remove.
    `write`: files of the root file system by path, as text. `link`: symbolic links by path. `remove`:
    patterns of paths to remove.
    `compiler_options`, `compiler_options_drop`: for the application.
    `settings`: other settings by their name in the system file, for example ``rootfs.filesystem``; "none"
    removes the section ``initramfs``, "..." in a list stands for the items already in it.
    """

    kernel: Symbols = {}
    kernel_wishes: Symbols = {}
    uboot: Symbols = {}
    busybox: Symbols = {}
    command_line: tuple[str, ...] = ()
    command_line_drop: tuple[str, ...] = ()
    write: dict[str, str] = {}
    link: dict[str, str] = {}
    remove: tuple[str, ...] = ()
    compiler_options: tuple[str, ...] = ()
    compiler_options_drop: tuple[str, ...] = ()
    settings: Settings = {}

    def __post_init__(self) -> None:
        """Raises ValueError where a path is to be both a file and a link."""
        if both := sorted(self.write.keys() & self.link.keys()):
            raise ValueError(f"{printable(both[0])} is in both write and link")

    @property
    def from_nothing(self) -> bool:
        """Whether the kernel's configuration starts anew, without anything that is not asked for."""
        return self.settings.get("kernel.defconfig") == "allnoconfig"

    def symbols(self, tree: str) -> Symbols:
        """All symbols for one of TREES, with the wishes."""
        wishes = self.kernel_wishes if tree == "kernel" else {}
        return {**wishes, **getattr(self, tree)}

    def claims(self) -> dict[str, Value]:
        """The value that the change wants for each setting: name -> value, None for "not there"."""
        found: dict[str, Value] = {}
        for tree in TREES:
            symbols: Symbols = getattr(self, tree)
            found.update({f"{tree}.config.{name}": value for name, value in symbols.items()})
        found.update(
            {f"optional kernel symbol {name} {value}": True for name, value in self.kernel_wishes.items()}
        )
        found.update({f"command line {word_name(w)}": None for w in self.command_line_drop})
        found.update({f"command line {word_name(w)}": w for w in self.command_line})
        # What is removed and written is there in the end, and so are the words that replace others.
        found.update({f"file {pattern}": None for pattern in self.remove})
        found.update({f"file {path}": text for path, text in self.write.items()})
        found.update({f"file {path}": f"-> {target}" for path, target in self.link.items()})
        found.update({f"compiler option {word_name(o)}": None for o in self.compiler_options_drop})
        found.update({f"compiler option {word_name(o)}": o for o in self.compiler_options})
        found.update(self.settings)
        return found


def word_name(word: str) -> str:
    """The part of a word before the `=`."""
    return word.partition("=")[0]


def conflicts(changes: Mapping[str, Change]) -> list[tuple[str, str, str]]:
    """Pairs of changes (by name) that want different values for a setting, and that setting."""
    claimed: dict[str, tuple[str, Value]] = {}
    found: list[tuple[str, str, str]] = []
    for name, change in changes.items():
        for key, value in change.claims().items():
            first, wanted = claimed.setdefault(key, (name, value))
            # True equals 1, but y is not 1.
            if (type(wanted), wanted) != (type(value), value):
                found.append((first, name, key))
    return found + _removed_but_written(changes)


def _removed_but_written(changes: Mapping[str, Change]) -> list[tuple[str, str, str]]:
    """Files that one change writes and that match a pattern that another one removes."""
    return [
        (one, other, f"file {path}")
        for one, writing in changes.items()
        for other, removing in changes.items()
        for path in (*writing.write, *writing.link)
        for pattern in removing.remove
        if one != other
        and pattern != path
        and matches(path, [pattern])
        # What the other writes itself is compared with the other claims.
        and path not in (*removing.write, *removing.link)
    ]


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern matches the path or one of its parent folders."""
    names = [path, *(str(folder) for folder in PurePosixPath(path).parents[:-1])]
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def apply(system: System, changes: Mapping[str, Change]) -> System:
    """The system with all the changes, applied in order.

    Raises UserError when two of them conflict, or one names a setting that systems do not have.
    """
    clashing = conflicts(changes)
    if clashing:
        first, second, key = clashing[0]
        raise UserError(
            f"{printable(first)} and {printable(second)} cannot be used together: "
            f"they set {printable(key)} differently"
        )
    refuse_configuring(system, changes)
    for change in changes.values():
        system = _applied(system, change)
    # All settings at once: one change may add to a section that only another one creates.
    return _with_settings(system, [change.settings for change in changes.values() if change.settings])


def refuse_configuring(system: System, changes: Mapping[str, Change]) -> None:
    """Raises UserError where a change configures something that is not compiled even with the changes."""
    own = {"kernel" for change in changes.values() if change.settings.get("prebuilt.kernel") == ""}
    taken = [tree for tree in TREES if tree not in own and not builds(system, tree)]
    for name, change in changes.items():
        settings = {key.partition(".")[0] for key in change.settings if key.endswith(".defconfig")}
        configured = [tree for tree in taken if getattr(change, tree) or tree in settings]
        if configured:
            raise UserError(
                f"{printable(name)} configures {configured[0]}, which {system.name} takes prebuilt",
                hint="try it with a system that is built from source, such as stock",
            )


def _applied(system: System, change: Change) -> System:
    replace = msgspec.structs.replace
    s = system
    kernel = replace(
        s.kernel,
        config={**s.kernel.config, **change.kernel},
        wishes={**s.kernel.wishes, **change.kernel_wishes},
        command_line=with_words(s.kernel.command_line.split(), change.command_line, change.command_line_drop),
    )
    options = with_words(
        s.application.compiler_options, change.compiler_options, change.compiler_options_drop
    )
    return replace(
        s,
        kernel=kernel,
        uboot=replace(s.uboot, config={**s.uboot.config, **change.uboot}),
        busybox=replace(s.busybox, config={**s.busybox.config, **change.busybox}),
        application=replace(s.application, compiler_options=tuple(options.split())),
        rootfs=replace(
            s.rootfs,
            files={**_left(s.rootfs.files, change.remove, change.link), **change.write},
            links={**_left(s.rootfs.links, change.remove, change.write), **change.link},
            remove=tuple(dict.fromkeys((*s.rootfs.remove, *change.remove))),
        ),
    )


def _left(there: Mapping[str, str], gone: tuple[str, ...], replaced: Iterable[str]) -> dict[str, str]:
    """Files or links of a system without those that match a pattern in `gone` and those replaced."""
    return {p: text for p, text in there.items() if not matches(p, gone) and p not in replaced}


def with_words(words: Iterable[str], added: Iterable[str], dropped: Iterable[str]) -> str:
    """Words with others added: a word replaces all that have its name, or else goes to the end."""
    new = {word_name(word): word for word in added}
    gone = {word_name(word) for word in dropped} - new.keys()
    kept: list[str] = []
    for word in words:
        name = word_name(word)
        # A second word with a replaced name would override the new one.
        if name not in gone and not (name in new and new[name] in kept):
            kept.append(new.get(name, word))
    return " ".join([*kept, *(word for word in new.values() if word not in kept)])


_OWN_KEYS = {
    **{f"{tree}.config": f"write it as {tree} = {{ SYMBOL = ... }}" for tree in TREES},
    "kernel.command_line": "write it as command_line and command_line_drop",
    "rootfs.files": "write it as write and remove",
    "rootfs.links": "write it as link and remove",
    "rootfs.remove": "write it as remove",
    "application.compiler_options": "write it as compiler_options and compiler_options_drop",
}
"""Settings that have their own part of a change, so that conflicts over them are found -> that part."""


NOTHING = "none"
SAME = "..."
"""In a list of a setting: all items already in it."""
_MAY_LACK = ("initramfs",)
"""Sections that a change may remove, with NOTHING as their value."""


def _whole(value: Any, there: Any) -> Any:
    """A value; in a list, SAME is replaced by the items already there that the list itself does not name."""
    if not isinstance(value, tuple) or SAME not in value:
        return value
    found = [item for item in there if item not in value] if isinstance(there, list | tuple) else []
    at = value.index(SAME)
    return (*value[:at], *found, *value[at + 1 :])


def _with_settings(system: System, settings: Sequence[Mapping[str, Any]]) -> System:
    if not settings:
        return system
    table = msgspec.to_builtins(system)
    for key, value in (pair for one in settings for pair in one.items()):
        own = next((name for name in _OWN_KEYS if key == name or key.startswith(f"{name}.")), None)
        if own:
            raise UserError(f"{printable(key)} cannot be changed as a setting", hint=_OWN_KEYS[own])
        *folders, last = key.split(".")
        inner = table
        for folder in folders:
            if not isinstance(inner.get(folder), dict):
                inner[folder] = {}
            inner = inner[folder]
        inner[last] = None if value == NOTHING and key in _MAY_LACK else _whole(value, inner.get(last))
    try:
        return msgspec.convert(table, System)
    except msgspec.ValidationError as error:
        keys = dict.fromkeys(key for one in settings for key in one)
        at = str(error).partition("`$.")[2]
        names = ", ".join([key for key in keys if at.startswith(key.partition(".")[0])] or keys)
        raise UserError(
            f"a change of {printable(names)} gives an invalid system: {printable(str(error))}"
        ) from error
