# SPDX-License-Identifier: Apache-2.0
"""What is watched in the boot of an image without a description: milestones, and where it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bootscope.boards.profile import Board
from bootscope.bootimage.files import Files
from bootscope.bootimage.understand import Image
from bootscope.core.errors import UserError, printable
from bootscope.emulator.subject import Reached, Watched
from bootscope.loaders.registry import MILESTONES

LOGIN, FINISHED, SHELL, TEXT, INIT_SAID = "login", "startup-finished", "shell", "console-text", "init-said"
_TEXTS = {
    INIT_SAID: (b" as init process",),
    LOGIN: (b"login: ",),
    FINISHED: (b"Startup finished in ",),
    SHELL: (b"Please press Enter to activate this console", b"(initramfs) "),
}
_PROCESS, _UNIT, _FILE = "process", "unit", "file"
KINDS = (_PROCESS, _UNIT, _FILE)
_LONGEST_BYTES = 120
_UNITS = (
    ".service",
    ".socket",
    ".mount",
    ".target",
    ".slice",
    ".scope",
    ".swap",
    ".timer",
    ".path",
    ".device",
)
_CALLS = {
    # systemd creates a control group with a unit's name when it starts the unit.
    _UNIT: (("cgroup_mkdir",), 1, ()),
    # The kernel opens the file of a program; the name is as the program passed it.
    _FILE: (("do_filp_open",), 1, ("filename.name",)),
}
STRUCTS = {"filename": ("name",)}
"""Members that these need, beside those of all recordings."""
_GETTY = r"^(?!#)(?:[^\n]*[ /]{port}\b|console:|::respawn:)[^\n]*|^{port}:[^\n]*"
_ASKS = r"^(?:{port}|console)?::askfirst:"
"""Lines of /etc/inittab for the console: those that name it, or no terminal."""


@dataclass(frozen=True)
class Goal:
    """Where a recording ends: the milestone, what is watched for it, and in words what it is and why."""

    until: str
    watched: Watched
    words: str


def goal(
    image: Image,
    board: Board,
    until: str,
    text: str,
    *,
    symbols: bool,
    late_entry: bool = False,
    image_at: int | None = None,
) -> Goal:
    """The user's goal (`until`: a milestone, or KIND:NAME; `text`: on the console), or the best one for the
    image; `symbols`: whether the kernel's are known; `image_at`: the start of a self-extracting kernel.
    Raises UserError for a goal that cannot be waited for."""
    texts, calls, process, why = dict(_TEXTS), dict[str, Reached](), "", ""
    if text:
        if until:
            raise UserError("--until and --until-text contradict each other", hint="give one of them")
        texts[TEXT], until = (_checked(text),), TEXT
        why = f"the text “{printable(text)}” on the console"
    kind, sign, name = until.partition(":")
    if sign and kind in KINDS:
        told = _checked(name)
        why = f"{kind} {printable(name)}"
        if kind == _PROCESS:
            process, until = name, "application"
        else:
            whole = name if kind != _UNIT or name.endswith(_UNITS) else f"{name}.service"
            functions, argument, path = _CALLS[kind]
            calls[until] = Reached(functions, argument, whole.encode() if kind == _UNIT else told, path)
    elif sign:
        raise UserError(
            f"'{printable(until)}' is not a milestone", hint=f"{', '.join(f'{k}:NAME' for k in KINDS)}"
        )
    if not until:
        until, why = _best(image, board.console_called(board.console).linux_name)
        if until == "init" and not symbols:
            until, why = INIT_SAID, f"the kernel's message that it starts init, as it has no symbols; {why}"
    there = [stage.milestone for stage in board.boot_loader.stages if stage.milestone]
    known = tuple(m for m in MILESTONES if m in there and (m != "application" or process))
    watched = Watched(process, texts, (*known, *texts, *calls), image_at, calls=calls, late_entry=late_entry)
    return Goal(until, watched, why or until)


def _checked(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if not 0 < len(data) <= _LONGEST_BYTES:
        raise UserError(f"a text to wait for must have 1 to {_LONGEST_BYTES} bytes, not {len(data)}")
    return data


def _best(image: Image, port: str) -> tuple[str, str]:
    """(milestone, why) for an image without a request of the user."""
    roots = [image.files[root.place.volume] for root in image.understood.roots if root.init]
    # If there is a root file system, an initramfs switches to it.
    early = image.early_files()
    for files in roots or ([early] if early else []):
        table = files.text("/etc/inittab") or ""
        if _asks_for_name(files, table, port):
            return LOGIN, "the first login prompt: the root file system has one"
        if re.search(_ASKS.format(port=re.escape(port)), table, re.MULTILINE):
            return SHELL, "BusyBox's shell prompt: /etc/inittab has one"
    why = f"no login prompt on {port} was found in" if roots or early else "nothing could be read of"
    return "init", f"the start of init: {why} the root file system"


def _asks_for_name(files: Files, table: str, port: str) -> bool:
    lines = re.finditer(_GETTY.format(port=re.escape(port)), table, re.MULTILINE)
    units = (f"{folder}/systemd/system/*getty@.service" for folder in ("/usr/lib", "/lib"))
    return any("getty" in line[0] or "login" in line[0] for line in lines) or any(
        True for pattern in units for _ in files.matching(pattern)
    )
