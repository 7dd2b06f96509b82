# SPDX-License-Identifier: Apache-2.0
"""Changes the command line of a boot menu in its file's text; the rest of the file stays."""

from __future__ import annotations

import re

from bootscope.artefacts.loader import script_of_image
from bootscope.bootimage.menus import EXTLINUX, GRUB, SCRIPT, SPEC, MenuEntry
from bootscope.core.errors import UserError, printable
from bootscope.imageedit import wrapped
from bootscope.system.changes import with_words

_WRITTEN = (EXTLINUX, SPEC, GRUB)


def with_line(menu: MenuEntry, data: bytes, added: tuple[str, ...], dropped: tuple[str, ...]) -> bytes:
    """The file of a menu with words added to the command line and others, by name, removed. Entries with the
    same line are changed alike.

    Raises UserError where the line is not in the file literally.
    """
    text = script_of_image(data) if menu.kind == SCRIPT else None
    if menu.kind == SCRIPT and text is not None:
        changed = _replaced(text, menu, added, dropped)
        return wrapped.script(data, changed.encode("utf-8", "surrogateescape"))
    if menu.kind not in _WRITTEN:
        raise UserError(f"the command line in a {menu.kind} is not changed here: its build makes it anew")
    return _replaced(data.decode("utf-8", "surrogateescape"), menu, added, dropped).encode(
        "utf-8", "surrogateescape"
    )


def _replaced(text: str, menu: MenuEntry, added: tuple[str, ...], dropped: tuple[str, ...]) -> str:
    old = menu.command_line.split()
    new = with_words(old, added, dropped)
    if not old:
        raise UserError(f"{printable(menu.path)} has no command line that could be changed")
    pattern = re.compile(r"[ \t]+".join(map(re.escape, old)) + r"(?=[ \t\r\n\"';]|$)")
    found, count = pattern.subn(lambda _: new, text)
    if not count:
        raise UserError(
            f"the command line does not stand in {printable(menu.path)} as it is used: variables make it",
            hint="change it where the build makes it",
        )
    return found
