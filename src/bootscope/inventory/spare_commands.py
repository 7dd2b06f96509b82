# SPDX-License-Identifier: Apache-2.0
"""BusyBox's commands below /usr that no script of the system runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bootscope.inventory.start_scripts import runs

_FOLDERS = ("/usr/bin/", "/usr/sbin/")
_BUILTINS = frozenset({"[", "[[", "echo", "false", "kill", "printf", "test", "true"})
"""What the shell does itself: a script that says it needs no file of that name."""


def spare_commands(files: Mapping[str, str], scripts: Mapping[str, str]) -> str:
    """Patterns of links to BusyBox in /usr/bin and /usr/sbin: all but those whose first letter is that of a
    command that a script runs, or of a program. `files` is the list of contents, `scripts` text by path."""
    return " ".join(pattern for folder in _FOLDERS for pattern in _pattern(folder, files, scripts))


def _pattern(folder: str, files: Mapping[str, str], scripts: Mapping[str, str]) -> Iterator[str]:
    names = {path.removeprefix(folder) for path in files if path.startswith(folder)}
    spare = {name for name in names if files[folder + name].endswith("busybox")}
    spare -= {name for name in spare - _BUILTINS if any(runs(text, name) for text in scripts.values())}
    kept = "".join(sorted({name[0] for name in names - spare}))
    if any(name[0] not in kept for name in spare):
        yield f"{folder}[!{kept}]*" if kept else f"{folder}*"
