# SPDX-License-Identifier: Apache-2.0
"""Programs within programs and clocks beside the kernel's: each the smallest case; the times are ours."""

from __future__ import annotations

from bootscope.readers.base import Options, Source
from bootscope.readers.registry import reader

from .test_stages import FIRST_LINES, boot, imported, phases

KERNEL = """\
[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1
[    0.500000] devtmpfs: initialized
[    2.000000] Run /sbin/init as init process
"""
SECOND = 1_000_000_000
COREBOOT = FIRST_LINES["coreboot"]
VERSTAGE = COREBOOT.replace("bootblock", "verstage")


def test_stamps_of_a_firmware_before_the_kernel_are_not_of_its_clock() -> None:
    text = f"[2.873679] DDR-Lo size is 32 MiB\n{FIRST_LINES['opensbi']}\nStarting kernel ...\n{KERNEL}"
    found = imported(text.encode())
    assert found.trace(1).milestones() == {"kernel-entry": 0, "init": 2 * SECOND}
    assert [row[0] for row in found.trace(1).tables[0].rows] == ["opensbi", "kernel-start"]
    (repair,) = (r for r in found.files[0].reading.repairs if "another clock" in r.what)
    assert (repair.count, repair.first_line) == (1, 1)


def test_the_same_kernels_log_from_the_beginning_takes_no_stamps_away() -> None:
    late = "[    0.500000] devtmpfs: initialized\n[    2.000000] Run /sbin/init as init process\n"
    found = imported(f"{late}# dmesg\n{KERNEL}".encode())
    assert not [r for r in found.files[0].reading.repairs if "another clock" in r.what]


def test_a_line_ahead_of_its_time_moves_no_other() -> None:
    text = b"[    1.000000] a\n[   29.608372] b\n[   31.244487] usb\n[   29.608372] c\n[   30.000000] d\n"
    reading = reader("dmesg").read(Source("x", text), Options())
    log = reading.boots[0].log
    assert [ns // 1_000_000 for ns in log.at_ns] == [1000, 29608, 31244, 29608, 30000]
    assert [r.what for r in reading.repairs] == ["lines a little out of order, their stamps kept"]


def test_many_lines_ahead_are_a_clock_that_went_back() -> None:
    text = b"[    1.000000] a\n" + b"[   31.000000] b\n" * 4 + b"[    2.000000] c\n"
    log = reader("dmesg").read(Source("x", text), Options()).boots[0].log
    assert log.at_ns[-1] == 31 * SECOND


def test_coreboot_that_restarts_itself_is_one_boot() -> None:
    later = [COREBOOT.replace("bootblock", "ramstage"), FIRST_LINES["depthcharge"]]
    lines = [COREBOOT, VERSTAGE, COREBOOT, VERSTAGE, *later]
    assert phases(boot(lines)) == ["coreboot", "depthcharge"]
    assert imported("\n".join([*lines, *lines, ""]).encode()).boots == 2


def test_a_makers_code_inside_a_program_is_no_stage() -> None:
    lines = [VERSTAGE, FIRST_LINES["xbl"], COREBOOT.replace("bootblock", "ramstage"), FIRST_LINES["bl31"]]
    assert phases(boot(lines)) == ["coreboot", "bl31"]
    chain = [FIRST_LINES[name] for name in ("spl", "bl31", "op-tee", "spl", "bootloader")]
    assert phases(boot(chain)) == ["spl", "bl31", "op-tee", "spl-2", "bootloader"]
