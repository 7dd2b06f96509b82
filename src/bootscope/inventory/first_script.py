# SPDX-License-Identifier: Apache-2.0
"""A script that is the first program: what it mounts, and what it starts in the end."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.start_scripts import expanded

_SHELL = re.compile(r"#!\s*(?:/usr)?/bin/(?:da|a|hu)?sh\b")
_CONSOLE = re.compile(r"\s*\d?>{1,2}\s*/dev/console\b|\s*2>&1")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\\\]*\"")
_SPECIAL = re.compile(r"[|&;<>(){}$`*?\[\]~]")
"""What only a shell understands."""


@dataclass(frozen=True)
class FirstScript:
    """What a first script does, and nothing else but printing: `mounts` as lines of an fstab, `environment`
    as lines, `command` as the shell is given it."""

    mounts: str
    environment: str
    command: str


def first_script(known: Inventory) -> FirstScript | None:
    """The script that the command line names as the first program; None where that is no script, or does
    something that is not told here. Raises UserError where the scripts are not known."""
    if not known.knows(Part.COMMAND_LINE, Part.SCRIPTS):
        raise UserError("the first script is not known")
    path = known.word("rdinit") or known.word("init") or ""
    text = known.scripts.get(path, "")
    return _read(expanded(text)) if _SHELL.match(text) else None


def _read(text: str) -> FirstScript | None:
    mounts: list[str] = []
    variables: list[str] = []
    for line in text.splitlines()[1:]:
        stripped = _CONSOLE.sub("", line).strip()
        words = _words(stripped)
        if words is None:
            return None
        if not words or words[0] in ("echo", "printf"):
            continue
        words = words[1:] if words[0] in ("exec", "export") and len(words) > 1 else words
        if words[0] in ("mount", "/bin/mount"):
            entry = _fstab(words[1:])
            if entry is None:
                return None
            mounts.append(entry)
        elif len(words) == 1 and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0]):
            variables.append(words[0])
        elif words[0].startswith("/"):
            # What comes behind it runs after it has ended, if ever.
            return FirstScript("\n".join(mounts), "\n".join(variables), shlex.join(words))
        else:
            return None
    return None


def _words(line: str) -> list[str] | None:
    """The words of a command; None where it takes a shell to understand it."""
    if line.startswith("#"):
        return []
    bare = _QUOTED.sub("", line)
    if _SPECIAL.search(bare):
        return None
    try:
        return shlex.split(line)
    except ValueError:
        return None


def _fstab(words: list[str]) -> str | None:
    """The arguments of `mount` as a line of an fstab; None for those that need an fstab, or others."""
    options: dict[str, str] = {}
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-t", "-o"):
            options[word] = next(rest, "")
        elif word.startswith("-"):
            return None
        else:
            names.append(word)
    if len(names) != 2 or not options.get("-t") or any(" " in name for name in names):
        return None
    return f"{names[0]} {names[1]} {options['-t']} {options.get('-o') or 'defaults'}"


def _part(name: str) -> Callable[[Inventory], str]:
    """What finds one part of it; empty where there is no such script."""

    def find(known: Inventory) -> str:
        found = first_script(known)
        return str(getattr(found, name)) if found and found.mounts else ""

    return find


def _word(known: Inventory) -> str:
    """The word of the command line that names it."""
    return "rdinit" if known.word("rdinit") else "init"


FOUND: dict[str, Callable[[Inventory], str]] = {
    "first_script_word": _word,
    **{f"first_script_{name}": _part(name) for name in ("mounts", "environment", "command")},
}
"""Placeholders, and what finds their values in a system whose first program is a script that mounts."""
