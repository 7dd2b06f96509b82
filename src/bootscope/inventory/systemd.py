# SPDX-License-Identifier: Apache-2.0
"""What techniques for systemd change: the application's unit, generators, unnecessary units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.system.unit_files import LINK, UnitFile, UnitFiles

_GENERATORS = "/usr/lib/systemd/system-generators/"
_USED = ("systemd-fstab-generator", "systemd-getty-generator")
"""Generators for what such a system has: mounts, and the terminals of `console=`."""
_VENDOR = "/usr/lib/systemd/system/"
_ALWAYS = ("sysinit.target", "local-fs.target")
_NEEDED = (
    "systemd-journald.service",
    "systemd-random-seed.service",
    "systemd-sysctl.service",
    "systemd-tmpfiles-setup-dev-early.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-tmpfiles-setup.service",
    "systemd-udev-trigger.service",
    "systemd-udevd.service",
    "run-lock.mount",
    "tmp.mount",
)
"""Units that systemd starts itself and programs rely on although their units do not name them: folders and
devices, logging, kernel settings, random numbers."""
_PRODUCT = "product.target"
_EARLY = """DefaultDependencies=no
Conflicts=shutdown.target
Before=shutdown.target
"""


def application_unit(known: Inventory) -> str:
    """The unit that starts the application; empty where none does."""
    found = _application(known)
    return found.name if found else ""


def text_early(known: Inventory) -> str:
    """The application's unit, ordered only after what it needs as a program; empty where it is so already."""
    if re.search(r"(?m)^DefaultDependencies[ \t]*=[ \t]*no$", _text(known)):
        return ""
    kept = re.sub(r"(?m)^(?:After|DefaultDependencies)[ \t]*=.*\n", "", _text(known))
    return kept.replace("[Unit]\n", f"[Unit]\n{_EARLY}", 1)


def text_not_online(known: Inventory) -> str:
    """The application's unit, no longer ordered after the network, which it still requests; empty where it is
    not ordered so."""
    line = re.compile(r"^After[ \t]*=.*\bnetwork-online\.target\b.*\n", re.MULTILINE)
    text = _text(known)
    return line.sub(_without_network, text) if line.search(text) else ""


def _without_network(line: re.Match[str]) -> str:
    words = [word for word in line[0].partition("=")[2].split() if word != "network-online.target"]
    return f"After={' '.join(words)}\n" if words else ""


def spare_generators(known: Inventory) -> str:
    """Paths of the generators that have nothing to do here."""
    spare = (path for path in _generators(known) if PurePosixPath(path).name not in _USED)
    return " ".join(sorted(spare))


def all_generators(known: Inventory) -> str:
    """A pattern of all generators; empty where there are none."""
    return f"{_GENERATORS}*" if _generators(known) else ""


def _generators(known: Inventory) -> list[str]:
    if not known.knows(Part.FILES):
        raise UserError("the files of the root file system are not known")
    return [path for path in known.files if path.startswith(_GENERATORS)]


def console(known: Inventory) -> str:
    """The terminal that the command line names, such as `ttyS0`."""
    if not known.knows(Part.COMMAND_LINE):
        raise UserError("the kernel command line is not known")
    return (known.word("console") or "").partition(",")[0]


def default_target(known: Inventory) -> str:
    """systemd's default target; empty where that is one of the product already."""
    files = _files(known)
    links = (files.get(f"{folder}/default.target", "") for folder in ("/etc/systemd/system", _VENDOR[:-1]))
    target = next((link for link in links if link.startswith(LINK)), "")
    name = PurePosixPath(target.removeprefix(LINK)).name
    return "" if name == _PRODUCT else name


def spare_units(known: Inventory) -> str:
    """Links from packages that start units at every boot which no unit of the product requests."""
    files = _files(known)
    units = UnitFiles(files)
    asked = set(_asked(units, files))
    found = [
        path
        for path in files
        for target in _ALWAYS
        if path.startswith(f"{_VENDOR}{target}.wants/") and PurePosixPath(path).name not in asked
    ]
    return " ".join(sorted(found))


def _asked(units: UnitFiles, files: Mapping[str, str]) -> Iterator[str]:
    """Units that programs rely on, and that units enabled by the product request, directly or indirectly."""
    enabled = (path for path in files if path.startswith("/etc/systemd/system/") and ".wants/" in path)
    queue = [*_NEEDED, *(PurePosixPath(path).name for path in enabled)]
    seen: set[str] = set()
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        if (unit := units.unit(name)) and name not in _ALWAYS:
            queue += unit.words("Unit", "Requires", "Requisite", "BindsTo", "Wants")


def _application(known: Inventory) -> UnitFile | None:
    path = known.settings.get("application.path")
    units = UnitFiles(_files(known))
    for name in units.names() if path else ():
        unit = units.unit(name)
        lines = unit.settings.get(("Service", "ExecStart"), ()) if unit else ()
        if any(line.lstrip("-@:+!|").split()[:1] == [path] for line in lines):
            return unit
    return None


def _text(known: Inventory) -> str:
    unit = _application(known)
    text = _files(known)[unit.path] if unit else ""
    return "" if text.startswith(LINK) else text


def _files(known: Inventory) -> Mapping[str, str]:
    if not known.units:
        raise UserError("the unit files of the root file system are not known")
    return known.units


FOUND: dict[str, Callable[[Inventory], str]] = {
    "application_unit": application_unit,
    "application_unit_early": text_early,
    "application_unit_not_online": text_not_online,
    "spare_generators": spare_generators,
    "all_generators": all_generators,
    "console": console,
    "default_target": default_target,
    "spare_units": spare_units,
}
"""Placeholders, and functions for their values in a system with systemd."""
