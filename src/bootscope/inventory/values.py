# SPDX-License-Identifier: Apache-2.0
"""Values for `@name@` in a technique: from settings, addresses, the boot, and what is found in the system.

With `@name?@` the text is empty where the system is known not to have a value.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import methodcaller

from bootscope.analysis.whatif_loader import DEVICE_TREE
from bootscope.boards.changed import clock_apart, parted
from bootscope.core.errors import UserError
from bootscope.devices.sd_card import ROOM_SECTORS
from bootscope.inventory import (
    application_profile,
    application_program,
    application_start,
    boot_scripts,
    code_order,
    driver_parameters,
    first_script,
    initcalls,
    kernel_in_flash,
    places,
    probe_order,
    raw_flash,
    read_ahead,
    root_disk,
    script_rewrites,
    systemd,
    unused_files,
)
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.recorded import Recorded, Unrecorded
from bootscope.inventory.single_script import single_script
from bootscope.inventory.start_scripts import ROLES, StartScripts
from bootscope.system.placeholders import ADDRESSES, SETTINGS

PLACEHOLDER = re.compile(r"@(\w+)\??@")

VALUES = {"lpj": r"Calibrating delay loop.*\(lpj=(\d+)\)"}
"""Placeholders, and patterns for their values in the console log."""

_DEVICE = re.compile(r"\w+ [\w:.#-]+")


def put_in(text: str, value_of: Callable[[str], str | None]) -> str:
    """The text with values in place of `@name@`; a placeholder stays where `value_of` returns None.

    Raises Absent where a placeholder that is not optional has an empty value.
    """

    def one(match: re.Match[str]) -> str:
        found = value_of(match[1])
        if found == "" and not match[0].endswith("?@"):
            raise Absent(f"the system has no {match[1].replace('_', ' ')}")
        return match[0] if found is None else found

    return PLACEHOLDER.sub(one, text)


def setting_value(name: str, settings: Mapping[str, str]) -> str | None:
    """The value of a placeholder from the settings of a system; None when it is not from settings."""
    if SETTINGS.get(name) in settings:
        return settings[SETTINGS[name]]
    if ADDRESSES.get(name) in settings:
        return hex(int(settings[ADDRESSES[name]]))
    return None


def boot_value(name: str, known: Inventory) -> str | None:
    """The value of a placeholder from the boot or from what is found in the system; empty where there is no
    such thing, None for one that only settings give.

    Raises UserError when the value is unknown.
    """
    if name in VALUES:
        found = known.logged(VALUES[name])
        if not found:
            raise UserError(f"the boot does not show {name}", hint="record one with the kernel's messages")
        return found[1]
    return FOUND[name](known) if name in FOUND else None


def value_if_known(
    name: str, known: Inventory, value_of: Callable[[str, Inventory], str | None]
) -> str | None:
    """The result of `value_of` for a placeholder; None where single files of a system do not give it.

    Raises UserError when a boot does not give it, Absent where there is no such thing. A recorded system must
    give every value: a change that is built from it must not have placeholders left.
    """
    try:
        return value_of(name, known)
    except application_profile.Untrained:
        return None
    except UserError as error:
        if isinstance(error, Absent | Unrecorded) or name not in FOUND or known.knows(Part.BOOT):
            raise
        return None


def known_value(name: str, known: Inventory) -> str:
    """The value of a placeholder in this system and this boot; empty where there is no such thing.

    Raises UserError when the value is unknown.
    """
    found = setting_value(name, known.settings)
    found = boot_value(name, known) if found is None else found
    if found is None:
        raise UserError(f"the boot does not show {name}", hint="record one with the kernel's messages")
    return found


def found_in(known: Inventory) -> dict[str, str]:
    """All placeholders whose values this system gives, in addition to those of its boot and its settings."""
    values: dict[str, str] = {}
    for name, find in FOUND.items():
        with contextlib.suppress(UserError):
            values[name] = find(known)
    return values


def _plain_board(known: Inventory) -> str:
    """The system's board, without changes to it."""
    if "board" not in known.settings:
        raise UserError("the board is not known")
    return parted(known.settings["board"])[0]


def _board_at_full_clock(known: Inventory) -> str:
    """The system's board, without changes to its clock."""
    return _clock_apart(known)[0]


def _times_full_clock(known: Inventory) -> str:
    """The speed factor of that, as `what-if` takes it: 2x."""
    times = _clock_apart(known)[1]
    if times == 1:
        raise Absent("the board runs at its full clock")
    return f"{float(times):.3f}".rstrip("0").rstrip(".") + "x"


def _clock_apart(known: Inventory) -> tuple[str, Fraction]:
    if "board" not in known.settings:
        raise UserError("the board is not known")
    return clock_apart(known.settings["board"])


def _boot_device(known: Inventory) -> str:
    """Interface and partition from which the boot loader reads files."""
    told = known.knows(Part.COMMANDS) or known.knows(Part.ENVIRONMENT)
    devices = (load.device for load in known.loader.loads if told and _DEVICE.fullmatch(load.device))
    if found := next(devices, ""):
        return found
    raise UserError("it is not known from where the boot loader reads files")


def _tsc_khz(known: Inventory) -> str:
    """The rate of the time stamp counter that the kernel found, in kHz."""
    found = known.logged(r"tsc: Detected (\d{1,5})\.(\d{3}) MHz processor")
    if not found:
        raise UserError("the boot does not show the rate of the time stamp counter")
    return str(int(found[1]) * 1000 + int(found[2]))


_SPARE_SECTORS, _STEP_SECTORS = 8, 16
"""At least 4 KiB are for additions to a device tree, and for another command line."""


def _argument_sectors(known: Inventory) -> str:
    """How many sectors the first stage must read for the device tree, with some to spare; all sectors of its
    place where its size is unknown."""
    extents = known.view.run.info.system.extents if isinstance(known, Recorded) else ()
    found = [extent.sectors for extent in extents if extent.name == DEVICE_TREE]
    if not found:
        return str(ROOM_SECTORS)
    steps = -(-(found[-1] + _SPARE_SECTORS) // _STEP_SECTORS)
    return str(min(steps * _STEP_SECTORS, ROOM_SECTORS))


def _root_device(known: Inventory) -> str:
    if not known.knows(Part.COMMAND_LINE):
        raise UserError("the kernel command line is not known")
    root = known.word("root") or ""
    return root if re.fullmatch(r"/dev/[\w/.-]+", root) else ""


def _of_scripts(read: Callable[[StartScripts], str], application: bool = False) -> Callable[[Inventory], str]:
    """A function for a value from the start scripts; with `application`, for one that depends on which of
    them starts the application."""

    def find(known: Inventory) -> str:
        if application and "application.path" not in known.settings:
            raise UserError("the path of the application is not known")
        if not known.knows(Part.SCRIPTS):
            raise UserError("the init scripts are not known")
        return read(StartScripts.of(known.scripts, known.settings.get("application.path", "")))

    return find


def _application_start(read: Callable[[StartScripts, str], str]) -> Callable[[Inventory], str]:
    """A function for a value from how the start scripts start the application."""

    def find(known: Inventory) -> str:
        path = known.settings.get("application.path", "")
        return _of_scripts(lambda scripts: read(scripts, path), application=True)(known)

    return find


FOUND: dict[str, Callable[[Inventory], str]] = {
    "boot_device": _boot_device,
    "plain_board": _plain_board,
    "board_at_full_clock": _board_at_full_clock,
    "times_full_clock": _times_full_clock,
    "root_device": _root_device,
    "tsc_khz": _tsc_khz,
    "argument_sectors": _argument_sectors,
    "seed_file": _of_scripts(lambda scripts: scripts.seed_file),
    "mount_script": _of_scripts(lambda scripts: scripts.path("mount")),
    "late_devices": _of_scripts(lambda scripts: scripts.late_devices, application=True),
    "device_text": _of_scripts(lambda scripts: scripts.device_text),
    "seed_script": _of_scripts(lambda scripts: scripts.path("seed")),
    "mounts_without_remount": _of_scripts(lambda scripts: scripts.without_remount),
    "mergeable_start_scripts": _of_scripts(single_script),
    "setup_scripts": _of_scripts(lambda scripts: scripts.setup),
    "other_scripts": _of_scripts(lambda scripts: scripts.after_setup),
    "early_tens": _of_scripts(lambda scripts: scripts.tens[0], application=True),
    "late_tens": _of_scripts(lambda scripts: scripts.tens[1], application=True),
    "application_tens": _of_scripts(lambda scripts: scripts.tens[2], application=True),
    "application_script_with_environment": _application_start(application_start.script),
    "application_commands": _application_start(application_start.commands),
    "application_script": _of_scripts(lambda scripts: scripts.name("application"), application=True),
    "nand_chip": raw_flash.nand_chip,
    "ubi_with_fastmap": raw_flash.ubi_with_fastmap,
    **application_profile.FOUND,
    **application_program.FOUND,
    **boot_scripts.FOUND,
    **code_order.FOUND,
    **driver_parameters.FOUND,
    **first_script.FOUND,
    **initcalls.FOUND,
    **probe_order.FOUND,
    **kernel_in_flash.FOUND,
    **places.FOUND,
    **read_ahead.FOUND,
    **script_rewrites.FOUND,
    **root_disk.FOUND,
    **systemd.FOUND,
    **unused_files.FOUND,
    **{f"scripts_{role}": _of_scripts(methodcaller("patterns", role)) for role in ROLES},
}
"""Placeholders, and functions for their values in a system."""
