# SPDX-License-Identifier: Apache-2.0
"""A script that is the first program: what it mounts, and what it finally starts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.start_scripts import expanded
from bootscope.system.small_init import mounts_of

_SHELL = re.compile(r"#!\s*(?:/usr)?/bin/(?:da|a|hu)?sh\b")
_CONSOLE = re.compile(r"\d?>{1,2}\s*/dev/console(?=\s|$)|2>&1(?=\s|$)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_SPECIAL = re.compile(r"[|&;<>(){}$`*?\[\]~\\\"']")
"""Characters that need a shell."""
_SETS = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)
_OF_KERNEL = ("HOME", "TERM")
"""Variables that the kernel gives the first program; a new value also applies to all later programs."""
_MOUNT = ("mount", "/bin/mount", "/sbin/mount", "/usr/bin/mount")


@dataclass(frozen=True)
class FirstScript:
    """What a first script does, if it does nothing else but print: `mounts` as lines of an fstab,
    `environment` as lines, `command` quoted as for a shell."""

    mounts: str
    environment: str
    command: str


def first_script(known: Inventory) -> FirstScript | None:
    """The script that the command line names as the first program; None where that is not a script, or does
    something unsupported. Raises UserError where the scripts are unknown."""
    if not known.knows(Part.COMMAND_LINE, Part.SCRIPTS):
        raise UserError("the first script is not known")
    path = known.word("rdinit") or known.word("init") or ""
    text = known.scripts.get(path, "")
    return read(text, known.settings.get("application.path", "")) if _SHELL.match(text) else None


def read(script: str, application: str, written: str = "") -> FirstScript | None:
    """What a script does that finally starts the application; None where it does something unsupported.
    `written`: the original script, where variables have been replaced by their texts."""
    text = expanded(script)
    mounts: list[str] = []
    variables: list[str] = []
    lines = [words for words in map(_words, text.splitlines()[1:]) if words != []]
    for number, words in enumerate(lines, start=1):
        if words is None:
            return None
        sets = _SETS.fullmatch(words[0]) if len(words) == 1 else None
        name = sets[1] if sets else ""
        if words[0] in ("echo", "printf"):
            continue
        if words[0] in _MOUNT:
            entry = _fstab(words[1:])
            if entry is None:
                return None
            mounts.append(entry)
        elif words[0] == "export" and len(words) > 1 and all(map(_SETS.fullmatch, words[1:])):
            variables += words[1:]
        elif name in _OF_KERNEL:
            variables += words
        elif name and _used(name, written or script):
            continue  # a shell variable, whose text has been inserted where it was used
        else:
            becomes = words[0] == "exec" or number == len(lines) or words[0] == application
            command = words[1:] if words[0] == "exec" else words
            if not becomes or not command or not command[0].startswith("/"):
                return None
            # Any commands after it run after it has ended, if ever.
            return FirstScript("\n".join(mounts), "\n".join(variables), shlex.join(command))
    return None


def _used(variable: str, script: str) -> bool:
    return bool(re.search(rf"\$(?:{variable}\b|\{{{variable}\}})", script))


def _words(line: str) -> list[str] | None:
    """The words of a command, without a redirection to the console and without a comment; None where it needs
    a shell."""
    quoted: list[str] = []
    if "\0" in line:
        return None

    def aside(match: re.Match[str]) -> str:
        quoted.append(match[0])
        return f"\0{len(quoted) - 1}\0"

    bare = re.sub(r"(^|\s)#.*", "", _QUOTED.sub(aside, line))
    bare = _CONSOLE.sub("", bare)
    if _SPECIAL.search(bare):
        return None
    return shlex.split(re.sub(r"\0(\d+)\0", lambda match: quoted[int(match[1])], bare))


def _fstab(words: list[str]) -> str | None:
    """The arguments of `mount` as a line of an fstab; None for those that need an fstab, or the program."""
    kinds: list[str] = []
    options: list[str] = []
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-t", "-o"):
            (kinds if word == "-t" else options).append(next(rest, ""))
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
    if len(names) != 2 or len(kinds) != 1:
        return None
    line = f"{names[0]} {names[1]} {kinds[0]} {','.join(options) or 'defaults'}"
    try:
        list(mounts_of(line))
    except UserError:
        return None
    return line


def _part(name: str) -> Callable[[Inventory], str]:
    """A function for one part of it, which raises Absent where there is no such script."""

    def find(known: Inventory) -> str:
        found = first_script(known)
        if not found or not found.mounts:
            raise Absent("its first program is no script that only mounts and starts one program")
        return str(getattr(found, name))

    return find


def _word(known: Inventory) -> str:
    """The word of the command line that names the script."""
    return "rdinit" if known.word("rdinit") else "init"


FOUND: dict[str, Callable[[Inventory], str]] = {
    "first_script_word": _word,
    **{f"first_script_{name}": _part(name) for name in ("mounts", "environment", "command")},
}
"""Placeholders, and functions for their values in a system whose first program is a script that mounts."""
