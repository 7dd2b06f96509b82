# SPDX-License-Identifier: Apache-2.0
"""What techniques change in systems with other files, devices and addresses than the reference's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bootscope.changes.applies import changes_nothing, each_with_values, filled, unmet
from bootscope.changes.experiment import check
from bootscope.core.errors import UserError
from bootscope.emulator.subject import flat
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.inventory.start_scripts import StartScripts
from bootscope.inventory.values import found_in
from bootscope.system.changes import Change
from bootscope.system.load import load_system
from bootscope.system.placeholders import boot_script
from bootscope.techniques.model import Recipe

from .known_builders import inventory_of
from .lab_scenes import start_scripts

MOUNTS = """#!/bin/sh
mount -t proc proc /proc
  mount -o remount,rw /
mount -a
"""
SCRIPTS = {
    "/etc/init.d/S03filesystems": MOUNTS,
    "/etc/init.d/S11hotplug": "#!/bin/sh\n# mount comes before\n/sbin/udevd --daemon\n",
    "/etc/init.d/S15logger": '#!/bin/sh\nDAEMON="rsyslogd"\nstart-stop-daemon -S -x "/sbin/$DAEMON"\n',
    "/etc/init.d/S20random": "#!/bin/sh\ncat /var/lib/rng.seed > /dev/urandom\n"
    "dd if=/dev/urandom of=/var/lib/rng.seed count=1\n",
    "/etc/init.d/S45ssh": "#!/bin/sh\ncase $1 in start) start-stop-daemon -S -x /usr/sbin/dropbear ;; esac\n",
    "/etc/init.d/S46mail": "#!/bin/sh\n[ -x /sbin/mailer ] && /sbin/mailer &\nkillall crond\n",
    "/etc/init.d/S72player": "#!/bin/sh\nexec /opt/player/play --full &\n",
    "/etc/init.d/rcS": "#!/bin/sh\nmount -a\n",
}
SETTINGS = {
    "application.path": "/opt/player/play",
    "application.process": "play",
    "card.boot_sector": "8192",
    "card.root_sector": "100000",
    "card.root_sectors": "50000",
    "kernel.load_address": str(0x82000000),
    "kernel.device_tree_address": str(0x88000000),
    "kernel.command_line": "root=/dev/sda3 rw",
}


@pytest.fixture
def player() -> Inventory:
    """A system with a disk, U-Boot's environment instead of a script, and scripts of other names."""
    return inventory_of(
        scripts=SCRIPTS,
        files=dict.fromkeys(SCRIPTS, "program"),
        command_line="root=/dev/sda3 rw",
        environment={"bootcmd": "run now", "now": "load usb 1:2 0x82000000 zImage; bootz 0x82000000"},
        built=SETTINGS,
    )


def recipe(spec: str) -> Recipe:
    return check([spec])[0][2]


def change(spec: str, known: Inventory) -> Change:
    return filled(recipe(spec).change, known)


def test_scripts_are_known_by_what_they_run(player: Inventory) -> None:
    assert StartScripts.of(player.scripts, "/opt/player/play").roles == {
        "/etc/init.d/S03filesystems": "mount",
        "/etc/init.d/S11hotplug": "devices",
        "/etc/init.d/S15logger": "logging",
        "/etc/init.d/S20random": "seed",
        "/etc/init.d/S45ssh": "remote_login",
        "/etc/init.d/S46mail": "",
        "/etc/init.d/S72player": "application",
    }


def test_services_go_that_are_there(player: Inventory) -> None:
    assert change("remove-rc-scripts", player).remove == (
        "/etc/init.d/S*logger",
        "/etc/init.d/S*ssh",
        "/etc/init.d/S*random",
    )
    told = [c for text in recipe("remove-rc-scripts").predict for c in each_with_values(text, player)]
    assert told == ["later:/etc/init.d/S*logger", "later:/etc/init.d/S*ssh", "later:/etc/init.d/S*random"]
    assert change("udev-to-devtmpfs", player).remove == ("/etc/init.d/S*hotplug",)


def test_the_application_starts_first_by_its_own_script(player: Inventory) -> None:
    found = change("init-app-first", player)
    assert found.remove == ("/etc/init.d/S*player",)
    assert list(found.write) == ["/etc/init.d/S00player"]
    assert "start) /opt/player/play & ;;" in found.write["/etc/init.d/S00player"]


def test_the_order_of_scripts_follows_from_their_numbers(player: Inventory) -> None:
    together = change("parallel-init", player).write["/etc/init.d/rcS"]
    assert "for script in /etc/init.d/S0[0-9]* /etc/init.d/S1[0-1]*; do" in together
    assert "for script in /etc/init.d/S1[2-9]* /etc/init.d/S[2-9][0-9]*; do" in together
    later = change("postpone-rc-scripts", player).write["/etc/init.d/rcS"]
    assert "late=/etc/init.d/S[2-6][0-9]*\n" in later
    assert "for script in /etc/init.d/S[0-1][0-9]* /etc/init.d/S[7-9][0-9]* $late; do" in later


def test_the_root_becomes_writable_later(player: Inventory) -> None:
    found = change("fs-late-rw-mount", player)
    assert found.remove == ("/etc/init.d/S20random",)
    assert found.write["/etc/init.d/S03filesystems"] == MOUNTS.replace("  mount -o remount,rw /\n", "")
    assert "seed=/var/lib/rng.seed\n" in found.write["/etc/init.d/S99late"]
    links = change("fs-squashfs-ro=lz4", player).link
    assert links["/var/lib/rng.seed"] == "/tmp/random-seed"


def test_devices_and_addresses_are_those_of_the_system(player: Inventory) -> None:
    assert "setenv bootargs root=/dev/sda3 rw; load usb 1:2 0x82000000 zImage;" in str(
        change("uboot-flatten-scripts", player).uboot["BOOTCOMMAND"]
    )
    trimmed = change("uboot-trim", player).uboot["BOOTCOMMAND"]
    assert trimmed == "load usb 1:2 0x88100000 boot.scr; source 0x88100000"
    assert change("falcon-raw-mmc", player).settings["card.raw_sector"] == 150000
    assert change("falcon-fat", player).uboot["SYS_MMCSD_RAW_MODE_U_BOOT_SECTOR"] == "0x1fff"
    assert change("uboot-load-in-place", player).settings["kernel.uimage_address"] == 0x82000040
    init = change("initramfs-then-switch-root", player).settings["initramfs.files"]
    assert isinstance(init, dict)
    assert "mount -o rw /dev/sda3 /new\n" in init["/init"]


@pytest.mark.parametrize(
    ("spec", "gone", "said"),
    [
        ("udev-to-devtmpfs", "S11hotplug", "the system has no scripts devices"),
        ("fs-late-rw-mount", "S20random", "the system has no seed file"),
        ("init-app-first", "S72player", "the system has no application script"),
    ],
)
def test_what_is_not_there_is_a_reason_against_it(player: Inventory, spec: str, gone: str, said: str) -> None:
    scripts = {path: text for path, text in SCRIPTS.items() if not path.endswith(gone)}
    known = inventory_of(scripts=scripts, files=dict.fromkeys(scripts, "program"), built=SETTINGS)
    assert unmet(recipe(spec), player) != said
    assert unmet(recipe(spec), known) == said
    with pytest.raises(Absent):
        change(spec, known)


def test_without_services_nothing_is_removed() -> None:
    scripts = {"/etc/init.d/S72player": SCRIPTS["/etc/init.d/S72player"]}
    known = inventory_of(scripts=scripts, files=dict.fromkeys(scripts, "program"), built=SETTINGS)
    assert changes_nothing(recipe("remove-rc-scripts"), known)


@pytest.mark.parametrize("name", ["S10$(reboot)", "S10a b", "S10;x", "S10*"])
def test_a_name_that_means_something_to_a_shell_is_no_start_script(name: str) -> None:
    found = StartScripts.of({f"/etc/init.d/{name}": "syslogd\n"}, "")
    assert found.texts == {}


@pytest.mark.parametrize("device", ["mmc 0:1;reset", "mmc ${x}", "'a b' c"])
def test_a_device_that_means_something_to_the_boot_loader_is_none(device: str) -> None:
    known = inventory_of(environment={"bootcmd": f"load {device} 0x1000 zImage"})
    assert found_in(known).get("boot_device") == ("mmc 0:1" if ";" in device else None)


def test_debians_system_gets_what_is_right_for_it() -> None:
    system = load_system("debian").system
    settings = flat(system)
    known = inventory_of(
        scripts=start_scripts(system),
        commands=boot_script(system.uboot.script, settings),
        built=settings,
        command_line="",
    )
    assert change("remove-rc-scripts", known).remove == ("/etc/init.d/S*sysctl", "/etc/init.d/S*hostname")
    assert found_in(known)["boot_device"] == "mmc 0:1"
    assert found_in(known)["free_sector"] == str(67584 + 61440)
    assert unmet(recipe("udev-to-devtmpfs"), known) == "the system has no scripts devices"


def test_what_is_not_known_of_single_files_does_not_speak_against_a_technique(player: Inventory) -> None:
    settings = {"application.path": "/opt/player/play"}
    loose = replace(player, scripts={}, settings=settings, parts=frozenset({Part.COMMAND_LINE}))
    spec = "postpone-rc-scripts"
    assert "@" in str(change(spec, loose)) and "@" not in str(change(spec, player))
    assert unmet(recipe(spec), loose) == ""
    # A recorded system is built with the change: nothing may be left open in it.
    recorded = replace(loose, parts=loose.parts | {Part.BOOT})
    with pytest.raises(UserError, match="init scripts are not known"):
        change(spec, recorded)
    assert unmet(recipe(spec), recorded) == "the init scripts are not known"


def test_whose_application_is_not_known_may_have_a_script_for_it(player: Inventory) -> None:
    nameless = replace(player, settings={})
    assert "application_script" not in found_in(nameless)
    assert found_in(nameless)["mount_script"] == "/etc/init.d/S03filesystems"


@pytest.mark.parametrize(("name", "memory"), [("stock", 0x40000000), ("stock-zynq", 0)])
def test_a_uimage_goes_to_the_boards_own_memory(name: str, memory: int) -> None:
    found = found_in(inventory_of(built=flat(load_system(name).system)))
    assert int(found["uimage_address"]) == memory + (16 << 20)
    assert int(found["image_address"]) == memory + 0x8000
    assert int(found["image_place"]) == memory + 0x8000 - 64
