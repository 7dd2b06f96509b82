# SPDX-License-Identifier: Apache-2.0
"""Units that a product has enabled and could do without: which of them are found, and which stay."""

from __future__ import annotations

import pytest

from bootscope.core.errors import UserError
from bootscope.inventory import systemd_units
from bootscope.inventory.inventory import Inventory, Part

OWN, VENDOR = "/etc/systemd/system", "/usr/lib/systemd/system"
NETWORKD = f"{OWN}/multi-user.target.wants/systemd-networkd.service"
MANAGER = f"{OWN}/multi-user.target.wants/NetworkManager.service"
ONLINE = f"{OWN}/network-online.target.wants/NetworkManager-wait-online.service"
NETWORK_FILE = {"/etc/systemd/network/10-field.network": "file"}


def known(*links: str, files: dict[str, str] | None = None, **units: str) -> Inventory:
    made = {f"{OWN}/{name.replace('__', '.')}": text for name, text in units.items()}
    made |= {path: f"-> {VENDOR}/{path.rpartition('/')[2]}" for path in links}
    return Inventory(
        parts=frozenset({Part.FILES, Part.SETTINGS}),
        settings={"application.path": "/usr/bin/app"},
        files=files or {},
        units=made or {f"{VENDOR}/default.target": "-> graphical.target"},
    )


def test_of_two_network_managers_the_one_with_a_configuration_stays() -> None:
    both = (MANAGER, NETWORKD, ONLINE)
    assert systemd_units.second_network_managers(known(*both, files=NETWORK_FILE)) == f"{MANAGER} {ONLINE}"
    assert systemd_units.second_network_managers(known(*both)) == NETWORKD


def test_one_network_manager_stays_whatever_is_configured() -> None:
    for one in (MANAGER, NETWORKD):
        assert systemd_units.second_network_managers(known(one)) == ""
        assert systemd_units.second_network_managers(known(one, files=NETWORK_FILE)) == ""


def test_services_of_desktops_are_those_that_the_product_has_enabled() -> None:
    modems = f"{OWN}/multi-user.target.wants/ModemManager.service"
    timer = f"{OWN}/timers.target.wants/apt-daily.timer"
    found = systemd_units.desktop_services(known(modems, timer, NETWORKD))
    assert found.split() == [modems, timer]
    assert systemd_units.desktop_services(known(NETWORKD)) == ""
    assert systemd_units.desktop_services(known(modems.replace(OWN, VENDOR))) == ""


def test_a_service_starts_by_its_socket_only_where_that_is_enabled_too() -> None:
    service, socket = f"{OWN}/multi-user.target.wants/cups.service", f"{OWN}/sockets.target.wants/cups.socket"
    assert systemd_units.services_with_sockets(known(service, socket)) == service
    assert systemd_units.services_with_sockets(known(service)) == ""
    assert systemd_units.services_with_sockets(known(socket)) == ""


def test_systemds_own_services_do_not_wait_for_their_sockets() -> None:
    socket = f"{OWN}/sockets.target.wants/systemd-networkd.socket"
    assert systemd_units.services_with_sockets(known(NETWORKD, socket)) == ""


def test_an_application_that_waits_for_all_jobs_is_found_with_its_drop_ins() -> None:
    unit = "[Service]\nExecStart=/usr/bin/app\n"
    assert systemd_units.idle_application(known(app__service=f"{unit}Type=idle\n")) == "app.service"
    assert systemd_units.idle_application(known(app__service=unit)) == ""
    idle = {f"{OWN}/app.service.d/idle.conf": "[Service]\nType=idle\n"}
    found = known(app__service=unit)
    with_it = Inventory(parts=found.parts, settings=found.settings, units={**found.units, **idle})
    assert systemd_units.idle_application(with_it) == "app.service"


@pytest.mark.parametrize("name", list(systemd_units.FOUND))
def test_without_unit_files_nothing_is_said(name: str) -> None:
    with pytest.raises(UserError, match="are not known"):
        systemd_units.FOUND[name](Inventory())
