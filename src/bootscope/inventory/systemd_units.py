# SPDX-License-Identifier: Apache-2.0
"""Units of systemd that a product has enabled and could do without: second network managers, services of
desktops, daemons that their sockets would start, an application that waits for all others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath

from bootscope.core.errors import UserError
from bootscope.inventory.inventory import Inventory, Part
from bootscope.inventory.systemd import application_unit
from bootscope.system.unit_files import ENABLED, UnitFiles

_NETWORKD = "systemd-networkd"
_MANAGERS = {
    _NETWORKD: (f"{_NETWORKD}.service", f"{_NETWORKD}.socket", f"{_NETWORKD}-wait-online.service"),
    "NetworkManager": (
        "NetworkManager.service",
        "NetworkManager-dispatcher.service",
        "NetworkManager-wait-online.service",
    ),
    "connman": ("connman.service", "connman-wait-online.service"),
    "dhcpcd": ("dhcpcd.service",),
    "ifupdown": ("networking.service",),
}
"""Network managers, and their units; where several are there, the first that is configured is kept."""
_LINKS_OF_NETWORKD = "/etc/systemd/network/"
_DESKTOP = (
    "ModemManager",
    "accounts-daemon",
    "apport",
    "apt-daily",
    "apt-daily-upgrade",
    "avahi-daemon",
    "bluetooth",
    "colord",
    "cups",
    "cups-browsed",
    "geoclue",
    "packagekit",
    "polkit",
    "rtkit-daemon",
    "snapd",
    "switcheroo-control",
    "udisks2",
    "unattended-upgrades",
    "upower",
    "whoopsie",
)
"""Services that were made for desktops; packages enable them when they are installed."""
_SYSTEMDS = "systemd-"
_IDLE = "idle"


def second_network_managers(known: Inventory) -> str:
    """Links that enable network managers beside the one whose links are configured; empty for none or one."""
    if not known.knows(Part.FILES):
        raise UserError("the files of the root file system are not known")
    there = [name for name, units in _MANAGERS.items() if any(_enabling(known, units[:1]))]
    configured = any(path.startswith(_LINKS_OF_NETWORKD) for path in known.files)
    if not configured and len(there) > 1:
        there = [name for name in there if name != _NETWORKD] + [name for name in there if name == _NETWORKD]
    return " ".join(path for name in there[1:] for path in _enabling(known, _MANAGERS[name]))


def desktop_services(known: Inventory) -> str:
    """Links that enable services made for desktops; empty where there are none."""
    names = {f"{name}.{kind}" for name in _DESKTOP for kind in ("service", "socket", "path", "timer")}
    return " ".join(_enabling(known, names))


def services_with_sockets(known: Inventory) -> str:
    """Links that enable services whose sockets are enabled as well, and would start them when somebody asks.

    Those of systemd itself stay: their sockets are for more than a start.
    """
    sockets = {name for _, name in _enabled(known) if name.endswith(".socket")}
    starting = {f"{name.removesuffix('.socket')}.service" for name in sockets}
    return " ".join(_enabling(known, {name for name in starting if not name.startswith(_SYSTEMDS)}))


def idle_application(known: Inventory) -> str:
    """The application's unit where it waits until all other jobs are done; else empty."""
    name = application_unit(known)
    unit = UnitFiles(_units(known)).unit(name) if name else None
    return name if unit and unit.last("Service", "Type") == _IDLE else ""


def _enabling(known: Inventory, names: Collection[str]) -> Iterator[str]:
    return (path for path, name in _enabled(known) if name in names)


def _enabled(known: Inventory) -> list[tuple[str, str]]:
    """(path, unit) of the links by which a product has units started."""
    places = ((path, PurePosixPath(path)) for path in sorted(_units(known)))
    return [
        (path, place.name)
        for path, place in places
        if place.is_relative_to(ENABLED) and place.parent.suffix in (".wants", ".requires", ".upholds")
    ]


def _units(known: Inventory) -> dict[str, str]:
    if not known.units:
        raise UserError("the unit files of the root file system are not known")
    return dict(known.units)


FOUND: dict[str, Callable[[Inventory], str]] = {
    "second_network_managers": second_network_managers,
    "desktop_services": desktop_services,
    "services_with_sockets": services_with_sockets,
    "idle_application": idle_application,
}
"""Placeholders, and what finds their values in a system with systemd."""
