# SPDX-License-Identifier: Apache-2.0
"""Checks of what a system says of its programs: the application, and a first program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from bootscope.core.errors import printable
from bootscope.system import small_init
from bootscope.system.application import Application, Configured
from bootscope.system.model import System
from bootscope.system.named_sources import application_source, packaged_root
from bootscope.system.small_init import SmallInit

LIBCS = ("glibc", "musl")
Require = Callable[[bool, str, str], None]
"""Takes whether a value is valid, its key, and what is expected there."""


def check_programs(system: System, require: Require) -> None:
    """Passes each value to `require`; raises UserError for a small init that cannot be made."""
    application = system.application
    if {application.libc, system.busybox.libc} - {LIBCS[0], msgspec.UNSET}:
        named = application.libc_source in system.sources
        require(named, "application.libc_source", "a name under [sources]")
    require(bool(application.process), "application.process", "the name of a process")
    own = application_source(system)
    if isinstance(application.configured, Configured):
        _check_configured(application, application.configured, system, require)
    there = bool(application.sources or own or packaged_root(system))
    require(
        there,
        "application.sources",
        "a folder with C files in it: [prebuilt] has no root to take a program from",
    )
    if isinstance(system.small_init, SmallInit):
        small_init.check(system.small_init)


def _check_configured(
    application: Application,
    configured: Configured,
    system: System,
    require: Require,
) -> None:
    """Checks an application with its own configure script."""
    named, key = configured.source in system.sources, "application.configured"
    require(named, f"{key}.source", f"a name under [sources], got '{printable(configured.source)}'")
    require(not application.sources, "application.sources", 'empty ("") beside [application.configured]')
    require(application.libc == LIBCS[0], "application.libc", f"'{LIBCS[0]}' beside [application.configured]")
    made = Path(configured.makes)
    inside = bool(configured.makes) and not made.is_absolute() and ".." not in made.parts
    require(inside and not configured.makes.startswith("-"), f"{key}.makes", "a path in the build's folder")
