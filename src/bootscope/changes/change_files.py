# SPDX-License-Identifier: Apache-2.0
"""Changes written out as files, as a person would have written them by hand.

kernel.config, uboot.config, busybox.config   fragments, for merge_config.sh or a build system
command-line.txt                              the kernel's whole command line
command-line-words.txt                        the differences in it: +word, -name
rootfs/...                                    files to lay over the root file system
rootfs-remove.txt                             patterns of paths to remove from it
settings.toml                                 the other changed settings, as keys of a system file
small-init/...                                a first program in C, to be compiled
report.html                                   how it was found
README.md                                     the techniques and the capabilities that they take away
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from bootscope.builder.steps import small_init
from bootscope.changes.compose import symbols_of
from bootscope.core.errors import UserError
from bootscope.core.settings import as_toml, as_toml_key
from bootscope.kbuild.kconfig import fragment
from bootscope.system.changes import SAME, TREES, Change
from bootscope.system.model import System
from bootscope.system.small_init import SmallInit
from bootscope.techniques.model import technique

WORDS = "command-line-words.txt"


def files(system: System, changes: Mapping[str, Change]) -> dict[str, str]:
    """The texts of all files except those in `rootfs/`: name -> text. `system` is the changed one."""
    return {"README.md": _readme(system, changes), **fragments(system, changes.values())}


def fragments(system: System, changes: Collection[Change]) -> dict[str, str]:
    """What changes ask for, as texts of files: name -> text. `system` is the changed one."""
    found: dict[str, str] = {}
    for tree in TREES:
        if symbols := symbols_of(tree, changes):
            found[f"{tree}.config"] = "\n".join(fragment(symbols)) + "\n"
    if any(c.command_line or c.command_line_drop for c in changes):
        found["command-line.txt"] = system.kernel.command_line + "\n"
        added = dict.fromkeys(f"+{word}" for c in changes for word in c.command_line)
        dropped = dict.fromkeys(f"-{word}" for c in changes for word in c.command_line_drop)
        found[WORDS] = "\n".join([*added, *dropped]) + "\n"
    if removed := [pattern for c in changes for pattern in c.remove]:
        found["rootfs-remove.txt"] = "\n".join(removed) + "\n"
    settings = {key: _whole(system, key, v) for c in changes for key, v in c.settings.items()}
    if any(c.compiler_options or c.compiler_options_drop for c in changes):
        settings["application.compiler_options"] = list(system.application.compiler_options)
    if settings:
        settings = _without_sections(system, settings)
        lines = (f"{as_toml_key(key)} = {as_toml(value)}" for key, value in sorted(settings.items()))
        found["settings.toml"] = "\n".join(lines) + "\n"
    if isinstance(system.small_init, SmallInit):
        found |= small_init.sources(system.small_init)
    return found


def _without_sections(system: System, settings: Mapping[str, object]) -> dict[str, object]:
    """The settings without those of a section that the changed system lacks, where a change removes the
    section that another one sets: in TOML, it cannot be both "none" and a table."""
    both = [key for key in settings if any(other.startswith(f"{key}.") for other in settings)]
    there = {key for key in both if getattr(system, key, None) is not None}
    gone = tuple(f"{key}." for key in both if key not in there)
    return {key: v for key, v in settings.items() if key not in there and not key.startswith(gone)}


def _whole(system: System, key: str, value: object) -> object:
    """A setting's full value in the changed system, where a change only adds to a list."""
    if not isinstance(value, list | tuple) or SAME not in value:
        return value
    found = msgspec.to_builtins(system)
    for name in key.split("."):
        found = found[name]
    return list(found)


def _readme(system: System, changes: Mapping[str, Change]) -> str:
    lines = [f"# {system.name}", "", system.title, ""]
    for spec in changes:
        found = technique(spec.partition("=")[0])
        loses = f" (removes: {', '.join(found.loses)})" if found.loses else ""
        lines.append(f"- {spec}: {found.title}{loses}")
    return "\n".join(lines) + "\n"


def check_new(folder: Path) -> None:
    """Raises UserError when the folder exists and is not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder} already exists", hint="give -o a new folder")


def write(
    folder: Path, system: System, changes: Mapping[str, Change], pages: Mapping[str, str] | None = None
) -> list[str]:
    """Writes everything to a new folder, with additional `pages` (name -> text); returns the names of the
    files, in order.

    Raises UserError as :func:`check_new` does.
    """
    return _written(folder, {**files(system, changes), **(pages or {})}, changes.values())


def write_change(folder: Path, system: System, change: Change, more: Mapping[str, str]) -> list[str]:
    """The same for one change that is not a technique, with the texts of `more` as additional files."""
    texts = {**fragments(system, [change]), **more}
    return _written(folder, texts, [change])


def _written(folder: Path, texts: Mapping[str, str], changes: Collection[Change]) -> list[str]:
    check_new(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".handout-") as name:
        made = Path(name, "made")
        made.mkdir()
        for path, text in texts.items():
            (made / path).parent.mkdir(exist_ok=True)
            (made / path).write_text(text)
        for change in changes:
            _rootfs(made / "rootfs", change)
        names = sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if not p.is_dir())
        if folder.exists():
            folder.rmdir()
        made.rename(folder)
    return names


def _rootfs(folder: Path, change: Change) -> None:
    for path, text in change.write.items():
        target = _inside(folder, path)
        target.write_text(text)
        target.chmod(0o755 if text.startswith("#!") else 0o644)
    for path, text in change.link.items():
        os.symlink(text, _inside(folder, path))  # noqa: PTH211


def _inside(folder: Path, path: str) -> Path:
    name = PurePosixPath(path.lstrip("/"))
    if ".." in name.parts:
        raise UserError(f"'{path}' is not a valid path in a root file system")
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
