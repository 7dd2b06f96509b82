# SPDX-License-Identifier: Apache-2.0
"""How the application is started, described as what a small first program does: its variables, its mounts,
and the command that it becomes."""

from __future__ import annotations

from collections.abc import Callable

from bootscope.core.errors import UserError
from bootscope.inventory.application_start import commands, script
from bootscope.inventory.first_script import FirstScript, read
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.start_scripts import StartScripts


def application_program(known: Inventory) -> FirstScript | None:
    """What the application's start script does; None where that needs a shell. Raises UserError where it is
    unknown."""
    path = known.settings.get("application.path", "")
    if not path or not known.knows(Part.SCRIPTS):
        raise UserError("the start script of the application is not known")
    scripts = StartScripts.of(known.scripts, path)
    return read("#!/bin/sh\n" + commands(scripts, path), path, script(scripts, path))


def _part(name: str) -> Callable[[Inventory], str]:
    """A function for one part of it, which raises Absent where there is no such script."""

    def find(known: Inventory) -> str:
        found = application_program(known)
        if not found:
            raise Absent("its application is not started by a script that only sets variables and mounts")
        return str(getattr(found, name))

    return find


FOUND: dict[str, Callable[[Inventory], str]] = {
    f"application_{name}": _part(name) for name in ("mounts", "environment", "command")
}
"""Placeholders, and functions for their values in a system whose application needs more than its path."""
