# SPDX-License-Identifier: Apache-2.0
"""What is looked for in the boot of an image that nobody described: milestones, and where it ends."""

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
    # systemd makes a control group of a unit's name when it starts it.
    _UNIT: (("cgroup_mkdir",), 1, ()),
    # The kernel opens a file for a program; the name stands as the program gave it.
    _FILE: (("do_filp_open",), 1, ("filename.name",)),
}
STRUCTS = {"filename": ("name",)}
"""Members that these need beside those that all recordings do."""
_GETTY = r"^(?!#)(?:[^\n]*[ /]{port}\b|console:|::respawn:)[^\n]*|^{port}:[^\n]*"
_ASKS = r"^(?:{port}|console)?::askfirst:"
"""Lines of /etc/inittab that are for the console; without a terminal named, they are."""


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
    """What the user asked for (`until`: a milestone, or KIND:NAME; `text`: on the console), or what is
    best for the image; `symbols`: whether the kernel's are known; `image_at`: where a kernel begins that
    unpacks itself. Raises UserError for what cannot be waited
    for."""
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
    """(milestone, why) for an image that the user says nothing of."""
    roots = [image.files[root.place.volume] for root in image.understood.roots if root.init]
    # Where there is a root file system, an initramfs goes over to it.
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
