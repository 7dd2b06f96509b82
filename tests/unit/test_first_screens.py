# SPDX-License-Identifier: Apache-2.0
"""What import, show and audit say first of logs: failures, costs of a serial line, what would show more."""

from __future__ import annotations

import pytest

from bootscope.analysis.samples import of_trace
from bootscope.artefacts.identify import together
from bootscope.artefacts.logs import read
from bootscope.audit.culprits.find import culprits
from bootscope.audit.culprits.model import FAILURE
from bootscope.capture.imported import Answers, Raw
from bootscope.importing.files import understand
from bootscope.inventory.log_indicators import kernel_console, serial_console

from .conftest import Command, Give
from .known_builders import inventory_of, log_of, timed
from .test_import_cli import document

DIES = """\
[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1
[    0.500000] devtmpfs: initialized
[    0.900000] clk: Disabling unused clocks
[    2.500000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)
[    2.600000] ---[ end Kernel panic - not syncing: VFS: Unable to mount root fs ]---
"""


def test_all_screens_begin_with_the_panic(main_here: Command, give: Give) -> None:
    give("a.log", DIES.encode())
    words = "the kernel panicked at 2.500 s in kernel: the boot did not come to its end"
    assert words in main_here("import", "a.log").stdout
    shown = main_here("show").stdout
    assert shown.splitlines()[1] == words and "Unable to mount root fs" in shown.splitlines()[2]
    for what in ("last", "a.log"):
        rows = document(main_here("audit", what, "--json"))["rows"]
        assert (rows[0]["kind"], rows[0]["what"], rows[0]["at_most"]) == (FAILURE, words, False)
        assert rows[0]["do"].startswith("root= and rootfstype=")
    assert "fails" in main_here("audit", "a.log").stdout
    told = document(main_here("show", "--json"))
    assert (told["failure"]["kind"], told["failure"]["at_ns"], told["total_or_later"]) == (
        "panic",
        2_500_000_000,
        True,
    )
    assert main_here("report", "last", "-o", "a.html").returncode == 0


def test_an_audit_is_of_the_boot_that_show_takes(main_here: Command, give: Give) -> None:
    rest = "".join(f"[    1.{n:02}0009] driver{n}: probed\n" for n in range(30))
    whole = (
        f"{DIES.partition('[    2.5')[0]}{rest}[    1.900000] Run /sbin/init as init process\nboard login: \n"
    )
    give(
        "a.log",
        (DIES.replace("[    0.900000]", f"{rest.replace('9]', '8]')}[    1.800000]") + whole).encode(),
    )
    main_here("import", "a.log")
    assert "boot 2 of 2" in main_here("show").stdout
    assert "boot 2 of 2 is looked at" in main_here("audit", "a.log").stdout
    assert "fails" in main_here("audit", "last/1").stdout


def test_of_a_running_systems_buffer_no_silence_is_told() -> None:
    text = "".join(f"[ 43{n:02}.000000] battery: {n}\n" for n in range(0, 90, 5))
    assert culprits(together(read([Raw("a.log", text.encode())]))) == []


BOOT = "[    0.000000] Linux version 6.1.0 (a@b) #1\n[    0.100000] x: y\n"
FOUND = "[    0.300000] printk: console [{}] enabled\n"
KVM = "[    0.000000] Hypervisor detected: KVM\n"


@pytest.mark.parametrize(
    ("line", "text", "there"),
    [
        ("console=ttyS0,9600", BOOT, True),
        ("console=ttymxc0 console=tty0", BOOT, True),
        ("", BOOT + FOUND.format("ttyAMA0"), True),
        ("", BOOT, False),
        ("console=", BOOT, False),
        ("console=tty0", BOOT + FOUND.format("tty0"), False),
        ("console=ttynull", BOOT, False),
        ("console=ttyS0", BOOT + KVM, False),
        ("console=ttyS0", BOOT + "[    0.010000] Booting paravirtualized kernel on KVM\n", False),
        ("console=ttyS0", BOOT + "[    0.010000] Booting paravirtualized kernel on bare hardware\n", True),
        ("console=ttyS0 quiet", BOOT, False),
    ],
)  # fmt: skip
def test_a_serial_console_is_one_that_the_kernel_or_its_command_line_names(
    line: str, text: str, there: bool
) -> None:
    known = inventory_of(command_line=line, log=log_of(text, tool="dmesg"))
    assert serial_console(known) is there
    assert bool(kernel_console(known)) is there


def test_a_journal_of_dates_is_none_of_a_serial_line() -> None:
    known = inventory_of(command_line="", log=log_of(BOOT, tool="journalctl", clock="wall"))
    assert kernel_console(known) is None


def test_a_capture_of_a_console_is_one_of_a_serial_line_at_a_rate_that_is_assumed() -> None:
    log = timed(
        [(0, "[    0.000000] Linux version 6.1.0 (a@b) #1"), (1, "[    0.1000000] x")], tool="grabserial"
    )
    assert (kernel_console(inventory_of(log=log)) or "").endswith("at 115200 baud (assumed)")
    told = inventory_of(log=log, command_line="console=ttyS0,9600")
    assert (kernel_console(told) or "").endswith("at 9600 baud")


EARLY = """\
[    0.000000] Linux version 6.1.0 (a@b) #1
[    0.010000] apple: one
[    0.400000] pear: two
[    0.410000] devtmpfs: initialized
[    0.420000] plum: three
[    0.920000] fig: four
[    0.930000] Run /sbin/init as init process
[    0.940000] lime: five
[    1.640000] kiwi: six
"""


def test_what_would_show_more_is_what_works_there() -> None:
    found = {c.where.split("'")[1]: c.cure.do for c in culprits(inventory_of(log=log_of(EARLY)))}
    assert found["apple: one"].startswith("no initcall runs there yet")
    assert found["plum: three"].startswith("add initcall_debug")
    assert found["lime: five"].startswith("bootscope-agent")


@pytest.mark.parametrize(
    ("banner", "words"),
    [
        ("U-Boot 2024.01 (Jan 01 2024 - 00:00:00 +0000)", "U-Boot's bootstage"),
        ("coreboot-4.22 Mon Jan 01 00:00:00 UTC 2024 x86_32 bootblock starting", "cbmem -t"),
        ("barebox 2024.01.0 #1 Mon Jan 1 00:00:00 UTC 2024", "that boot loader's own log level"),
    ],
)
def test_each_boot_loader_has_its_own_instrument_or_none(banner: str, words: str) -> None:
    log = timed(
        [
            (0, banner),
            (10, "nut: one"),
            (900, "oak: two"),
            (950, "[    0.000000] Linux version 6.1.0 (a@b) #1"),
        ]
    )
    [found] = [c for c in culprits(inventory_of(log=log)) if c.where.startswith("after 'nut")]
    assert found.cure.do.startswith(words)


def test_an_audit_says_where_the_boot_is_taken_to_end(main_here: Command, give: Give) -> None:
    text = EARLY + "[   40.000000] sloe: seven\n"
    give("a.log", text.encode())
    assert "taken to end before a silence of 38.360 s" in main_here("audit", "a.log").stdout


def test_boots_that_fail_are_no_samples_and_say_why() -> None:
    run = "[    3.000000] Run /sbin/init as init process\n[    4.000000] eth0: up\n"
    died, cut = (
        of_trace("a/001", understand([Raw("a.log", text.encode())], Answers(), strict=True).trace(1))
        for text in (DIES, DIES.partition("[    2.5")[0] + run)
    )
    assert not died.complete
    assert died.why == "the kernel panicked at 2.500 s in kernel: the boot did not come to its end"
    assert cut.complete, "its milestones can be compared"
    assert {"init", "phase kernel"} <= {str(quantity) for quantity in cut.times}
    assert "phase init" not in {str(quantity) for quantity in cut.times}
