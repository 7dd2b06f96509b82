# SPDX-License-Identifier: Apache-2.0
"""What techniques for systemd find in a system: the application's unit, generators, units nobody asks for."""

from __future__ import annotations

import pytest

from bootscope.changes.applies import filled
from bootscope.changes.impossible import prebuilt
from bootscope.core.errors import UserError
from bootscope.inventory import boot_scripts, initcalls, systemd
from bootscope.inventory.inventory import Absent, Inventory, Part
from bootscope.system.changes import Change
from bootscope.techniques.model import technique

APP = """[Unit]
Description=The application
Wants=network-online.target
After=network-online.target dbus.service

[Service]
ExecStart=-/usr/bin/app --all
"""
VENDOR, OWN = "/usr/lib/systemd/system", "/etc/systemd/system"
UNITS = {
    f"{OWN}/app.service": APP,
    f"{OWN}/multi-user.target.wants/app.service": "-> /etc/systemd/system/app.service",
    f"{OWN}/multi-user.target.wants/cron.service": f"-> {VENDOR}/cron.service",
    f"{VENDOR}/cron.service": "[Unit]\nRequires=sys-kernel-config.mount\n[Service]\nExecStart=/bin/cron\n",
    f"{VENDOR}/default.target": "-> graphical.target",
    f"{VENDOR}/sysinit.target.wants/sys-kernel-debug.mount": "-> ../sys-kernel-debug.mount",
    f"{VENDOR}/sysinit.target.wants/sys-kernel-config.mount": "-> ../sys-kernel-config.mount",
    f"{VENDOR}/sysinit.target.wants/systemd-udevd.service": "-> ../systemd-udevd.service",
}
INIT = "#!/bin/sh\nmount /dev/sda /root\nexec switch_root /root /sbin/init\n"
GENERATORS = "/usr/lib/systemd/system-generators"


def known(units: dict[str, str] | None = None, settings: dict[str, str] | None = None) -> Inventory:
    made = {"application.path": "/usr/bin/app", "application.process": "app", "initramfs.files./init": INIT}
    made |= settings or {}
    files = {f"{GENERATORS}/systemd-{name}-generator": "program" for name in ("fstab", "getty", "sysv")}
    return Inventory(
        parts=frozenset({Part.FILES, Part.COMMAND_LINE, Part.SETTINGS}),
        settings=made,
        units=UNITS if units is None else units,
        files=files,
        command_line="console=ttyS1,115200 root=/dev/sda",
    )


def test_the_applications_unit_is_the_one_that_runs_its_program() -> None:
    assert systemd.application_unit(known()) == "app.service"
    assert systemd.application_unit(known(settings={"application.path": "/usr/bin/other"})) == ""


def test_an_early_unit_is_ordered_after_nothing_and_asks_for_the_same() -> None:
    text = systemd.text_early(known())
    assert "After=" not in text
    assert text.startswith("[Unit]\nDefaultDependencies=no\nConflicts=shutdown.target\n")
    assert "Wants=network-online.target\n" in text
    assert "ExecStart=-/usr/bin/app --all\n" in text


def test_a_unit_that_does_not_wait_for_the_network_still_asks_for_it() -> None:
    text = systemd.text_not_online(known())
    assert "After=dbus.service\n" in text
    assert "Wants=network-online.target\n" in text
    alone = {f"{OWN}/app.service": APP.replace(" dbus.service", "")}
    assert "After" not in systemd.text_not_online(known(alone))
    never = {f"{OWN}/app.service": APP.replace("After=network-online.target", "After=")}
    assert systemd.text_not_online(known(never)) == ""


def test_units_that_nobody_asks_for_are_those_of_the_packages_alone() -> None:
    assert systemd.spare_units(known()) == f"{VENDOR}/sysinit.target.wants/sys-kernel-debug.mount"


def test_generators_with_something_to_do_stay() -> None:
    assert systemd.spare_generators(known()) == f"{GENERATORS}/systemd-sysv-generator"
    assert systemd.all_generators(known()) == f"{GENERATORS}/*"
    assert systemd.all_generators(Inventory(parts=frozenset({Part.FILES}))) == ""


def test_the_console_and_the_default_target_are_told() -> None:
    assert systemd.console(known()) == "ttyS1"
    assert systemd.default_target(known()) == "graphical.target"
    assert systemd.default_target(known({f"{OWN}/app.service": APP})) == ""


def test_the_initramfs_starts_the_application_before_it_goes_over() -> None:
    text = boot_scripts.starting_init(known())
    assert text.splitlines()[2:] == [
        "[ -e /dev/null ] || mknod /dev/null c 1 3",
        "chroot /root /usr/bin/app < /root/dev/null > /root/dev/console 2>&1 &",
        "mount -t tmpfs -o mode=0755,nosuid,nodev run /root/run",
        "echo $! > /root/run/app.pid",
        "exec switch_root /root /sbin/init",
    ]
    # One that stays where it is, and one that does so already.
    assert (
        boot_scripts.starting_init(known(settings={"initramfs.files./init": "#!/bin/sh\nexec /sbin/init\n"}))
        == ""
    )
    assert boot_scripts.starting_init(known(settings={"initramfs.files./init": text})) == ""


def test_a_packed_kernel_needs_a_place_to_be_unpacked_at() -> None:
    script = "load mmc 0:1 {kernel_address} Image\nload mmc 0:1 {initramfs_address} initrd\nbooti it\n"
    told = {"uboot.script": script, "kernel.initramfs_address": str(0x48000000)}
    text = boot_scripts.unpacking_script(known(settings=told))
    assert text.splitlines()[1:3] == [
        "setenv kernel_comp_addr_r 0x50000000",
        "setenv kernel_comp_size ${filesize}",
    ]
    assert [line for line in text.splitlines() if not line.startswith("setenv")] == script.splitlines()
    assert boot_scripts.unpacking_script(known(settings={**told, "uboot.script": text})) == text
    # Those that start something else.
    for other in (script.replace("booti", "bootz"), "boot\n"):
        assert boot_scripts.unpacking_script(known(settings={**told, "uboot.script": other})) == ""
    assert boot_scripts.unpacking_script(known(settings={"uboot.script": script})) == ""


def test_without_unit_files_nothing_is_told() -> None:
    with pytest.raises(UserError, match="unit files"):
        systemd.application_unit(known({}))
    for find in (systemd.all_generators, systemd.console, boot_scripts.starting_init):
        with pytest.raises(UserError, match="known"):
            find(Inventory())
    with pytest.raises(UserError, match="without a recording"):
        initcalls.spare_initcalls(known())


def test_a_technique_is_filled_with_the_systems_own_names() -> None:
    change = filled(technique("systemd-generators").recipes["all"].change, known())
    assert f"{OWN}/getty.target.wants/serial-getty@ttyS1.service" in change.link
    assert change.remove == (f"{GENERATORS}/*",)
    early = filled(technique("systemd-early-service").recipes["early"].change, known())
    assert list(early.write) == [f"{OWN}/app.service"]


def test_a_system_without_such_an_application_is_none_for_it() -> None:
    nobody = known({f"{VENDOR}/default.target": "-> graphical.target"})
    with pytest.raises(Absent):
        filled(technique("systemd-early-service").recipes["early"].change, nobody)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (Change(kernel={"SMP": False}), "its kernel is prebuilt"),
        (Change(busybox={"ASH": True}), "its BusyBox is prebuilt"),
        (Change(uboot={"CMD_NET": False}), None),
        (Change(settings={"kernel.defconfig": "allnoconfig"}), "its kernel is prebuilt"),
        (
            Change(settings={"initramfs.place": "built-in"}),
            "its kernel is prebuilt: an initramfs cannot become a part of it",
        ),
        # BL2 starts Linux, whatever U-Boot there is.
        (Change(settings={"uboot.falcon": True}), None),
        (Change(settings={"kernel.append_device_tree": True}), "its device tree comes from the boot loader"),
        (Change(command_line=("quiet",)), None),
    ],
)
def test_what_is_prebuilt_is_not_configured(change: Change, why: str | None) -> None:
    facts = known(settings={"prebuilt.kernel": "boot/vmlinuz-*", "prebuilt.busybox": "bin/busybox"})
    assert next(prebuilt(change, facts), None) == why
    assert next(prebuilt(change, known()), None) is None
