# SPDX-License-Identifier: Apache-2.0
"""The changes to write into a tree: techniques, a folder that optimize wrote, or the result of a search."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bootscope.changes.applies import fill
from bootscope.changes.change_files import WORDS
from bootscope.changes.compose import speaks_of
from bootscope.changes.experiment import check, title
from bootscope.core.errors import UserError, printable
from bootscope.kbuild.kconfig import parse
from bootscope.system.changes import TABLES, TREES, Change, Settings, conflicts, with_words
from bootscope.system.model import Symbols

_MOST_BYTES, _MOST_FILES = 1 << 20, 2_000
_MARKS = (
    *(f"{tree}.config" for tree in TREES), "command-line.txt", "rootfs", "rootfs-remove.txt", "settings.toml"
)  # fmt: skip
_LINE = "command_line"
"""The placeholder for the whole command line: the one that all changes together make."""
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_WORD = re.compile(r"[^\s\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class ChangeSet:
    """Combined changes. `about` describes them, a line each; `command_line` is the whole one of another
    system, where it is not known which words were changed."""

    about: tuple[str, ...]
    change: Change
    command_line: str = ""

    def new_command_line(self, old: str) -> str:
        """A command line with the change applied."""
        return with_words(old.split(), self.change.command_line, self.change.command_line_drop)

    @property
    def changes_words(self) -> bool:
        """Whether the command line changes."""
        return bool(self.change.command_line or self.change.command_line_drop)


OfRun = Callable[[str], Sequence[str]]
"""The techniques that were tried in the run of that name; empty where there is no such run."""


def change_set(names: Sequence[str], values: Mapping[str, str], of_run: OfRun) -> ChangeSet:
    """The changes that names stand for: techniques (ID, ID=RECIPE), folders, and runs of a search or of a
    board that `of_run` knows. `values` replace placeholders (``@name@``); their command line is
    the one before the changes.

    Raises UserError for any other name, and for changes that contradict each other.
    """
    specs: list[str] = []
    changes: dict[str, Change] = {}
    tried: dict[str, Change] = {}
    about: list[str] = []
    whole = ""
    for name in names:
        path = Path(name)
        if os.sep in name or path.is_dir():
            changes[printable(name)], lines, line = read_folder(path)
            about += lines
            whole = line or whole
        else:
            specs += of_run(name) or [name]
    for found, recipe_name, recipe in check(list(dict.fromkeys(specs))):
        spec = title(found, recipe_name)
        tried[spec] = _filled(spec, recipe.change, values)
        loses = f" (removes: {', '.join(found.loses)})" if found.loses else ""
        about.append(f"{spec}: {found.title}{loses}")
    changes |= _with_line(tried, [*changes.values(), *tried.values()], values)
    clashing = conflicts(changes)
    if clashing:
        first, second, key = clashing[0]
        raise UserError(f"{first} and {second} set {printable(key)} differently")
    merged = _merged(list(changes.values()))
    _check(merged)
    return ChangeSet(tuple(about), merged, whole)


def _filled(spec: str, change: Change, values: Mapping[str, str]) -> Change:
    lacking: list[str] = []

    def value_of(name: str) -> str | None:
        lacking.extend([name] if name not in values else [])
        # Only all changes together make the command line.
        return None if name == _LINE else values.get(name)

    done = fill(change, value_of)
    if lacking:
        names = ", ".join(dict.fromkeys(lacking))
        raise UserError(
            f"{spec} needs these values of your system: {names}",
            hint=" ".join(f"--value {name}=..." for name in dict.fromkeys(lacking)),
        )
    return done


def _with_line(
    tried: Mapping[str, Change], all_changes: Sequence[Change], values: Mapping[str, str]
) -> dict[str, Change]:
    """Techniques with the command line filled in, as all changes together make it."""
    added = [word for change in all_changes for word in change.command_line]
    dropped = [word for change in all_changes for word in change.command_line_drop]
    line = with_words(values.get(_LINE, "").split(), added, dropped)
    return {
        spec: fill(change, {_LINE: line}.get) if speaks_of(change, [_LINE]) else change
        for spec, change in tried.items()
    }


def _merged(changes: Sequence[Change]) -> Change:
    """Several changes as one; the caller has checked that they are compatible."""
    tables: dict[str, dict[str, object]] = {}
    for field in ("kernel_wishes", "kernel", "uboot", "busybox", "write", "link", "settings"):
        tables[field] = {k: v for c in changes for k, v in getattr(c, field).items()}
    lists: dict[str, tuple[str, ...]] = {}
    for field in ("command_line", "command_line_drop", "remove", "compiler_options", "compiler_options_drop"):
        lists[field] = tuple(dict.fromkeys(v for c in changes for v in getattr(c, field)))
    return msgspec.convert({**tables, **lists}, Change)


def _check(change: Change) -> None:
    for word in (*change.command_line, *change.command_line_drop):
        if not _WORD.fullmatch(word):
            raise UserError(f"'{printable(word)}' is not a valid word of a command line")
    for path in (*change.write, *change.link):
        if not path.startswith("/") or ".." in path.split("/") or _has_controls(path) or path.endswith("/"):
            raise UserError(f"'{printable(path)}' is not a valid path of a file in a root file system")
    for pattern in change.remove:
        if not pattern.startswith("/") or ".." in pattern.split("/") or _has_controls(pattern):
            raise UserError(f"'{printable(pattern)}' is not a valid path pattern in a root file system")


def _has_controls(text: str) -> bool:
    return any(ord(c) < 32 or ord(c) == 127 for c in text)


# ---- a folder, as handout.py writes it ----


def read_folder(folder: Path) -> tuple[Change, list[str], str]:
    """The change in a folder, its description, and a whole command line if there is only that.

    Raises UserError when it is not such a folder.
    """
    if not folder.is_dir() or not any((folder / name).exists() for name in _MARKS):
        raise UserError(
            f"{printable(str(folder))} is not a folder of changes",
            hint="bootscope optimize -o or trim -o writes one: it has " + ", ".join(_MARKS),
        )
    trees: dict[str, Symbols] = {}
    for tree in TREES:
        trees[tree] = {n: _value(v) for n, v in parse(_text(folder / f"{tree}.config")).items()}
    lines = _text(folder / WORDS).splitlines()
    whole = _text(folder / "command-line.txt").strip()
    write, link = _rootfs(folder / "rootfs")
    settings = _settings(folder / "settings.toml")
    options = settings.pop("application.compiler_options", ())
    change = Change(
        kernel=trees["kernel"],
        uboot=trees["uboot"],
        busybox=trees["busybox"],
        command_line=tuple(line[1:] for line in lines if line.startswith("+")),
        command_line_drop=tuple(line[1:] for line in lines if line.startswith("-")),
        write=write,
        link=link,
        remove=tuple(line for line in _text(folder / "rootfs-remove.txt").splitlines() if line.strip()),
        compiler_options=tuple(map(str, options)) if isinstance(options, tuple) else (),
        settings=settings,
    )
    said = [line[2:] for line in _text(folder / "README.md").splitlines() if line.startswith("- ")]
    about = [printable(line) for line in said] or [f"the changes of {printable(folder.name)}"]
    return change, about, "" if lines else whole


def _text(path: Path) -> str:
    """A text file of the folder; empty where there is none. Raises UserError for one that cannot be read."""
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
            raise UserError(f"{printable(str(path))} is not a text file, or is too large")
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UserError(f"cannot read {printable(str(path))}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(
            f"{printable(str(path))} is not a text file: only text files can be carried over"
        ) from error


def _value(written: str) -> str | int | bool:
    """A value of a .config file in the form that a change has it."""
    if written in ("y", "n"):
        return written == "y"
    if len(written) > 1 and written.startswith('"') and written.endswith('"'):
        return re.sub(r"\\(.)", r"\1", written[1:-1])
    return int(written) if _NUMBER.fullmatch(written) else written


def _rootfs(top: Path) -> tuple[dict[str, str], dict[str, str]]:
    write: dict[str, str] = {}
    link: dict[str, str] = {}
    for folder, folders, files in os.walk(top):
        for name in sorted((*folders, *files)):
            path = Path(folder, name)
            inside = "/" + path.relative_to(top).as_posix()
            if path.is_symlink():
                link[inside] = str(path.readlink())
            elif not path.is_dir():
                write[inside] = _text(path)
            if len(write) + len(link) > _MOST_FILES:
                raise UserError(f"{printable(str(top))} has more than {_MOST_FILES:,} files")
    return write, link


def _settings(path: Path) -> Settings:
    try:
        flat = dict(_flat(tomllib.loads(_text(path))))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{printable(str(path))}: not valid TOML: {printable(str(error))}") from error
    try:
        return msgspec.convert(flat, Settings)
    except msgspec.ValidationError as error:
        raise UserError(f"{printable(str(path))}: {printable(str(error))}") from error


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    """The settings in a table by their dotted names."""
    for key, value in table.items():
        name = f"{above}{key}"
        if isinstance(value, dict) and name not in TABLES:
            yield from _flat(value, f"{name}.")
        else:
            yield name, value
