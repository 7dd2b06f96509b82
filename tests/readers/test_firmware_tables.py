# SPDX-License-Identifier: Apache-2.0
"""Reports of firmware inside a console's log: tables on the firmware's own clock."""

from __future__ import annotations

from bootscope.readers.base import Options, Source
from bootscope.readers.registry import reader
from bootscope.timeline.trace import Table

from .fuzzing import source

UBOOT = b"U-Boot 2025.01 (Nov 21 2026 - 11:14:10 +0000)\nStarting kernel ...\n"


def tables(data: bytes, **values: str) -> dict[str, Table]:
    (boot,) = reader("plain").read(Source("x", data), Options(values=values)).boots
    return {table.title: table for table in boot.tables}


def test_tf_a_and_u_boot_in_one_console() -> None:
    found = tables(source("pmf", "console.txt").data)
    uboot = found["U-Boot's stages (bootstage), on the firmware's own clock"]
    assert uboot.rows[:2] == (("reset", 0, None), ("board_init_f", 118_028_000, 118_028_000))
    assert found["U-Boot's stages (bootstage): accumulated time"].rows[0] == ("dm_f", 15_107_000)
    title = "TF-A's stages (PMF), in ticks (--option cntfrq_hz=HZ makes them times)"
    assert found[title].rows[0] == ("TF-A: BL1 entry", 839_178, None)


def test_with_the_counters_rate_ticks_are_times() -> None:
    found = tables(source("pmf", "console.txt").data, cntfrq_hz="62500000")
    pmf = found["TF-A's stages (PMF), on the firmware's own clock"]
    assert pmf.columns[1] == "at_ns" and pmf.rows[0][1] == 839_178 * 16


def test_coreboot_slim_bootloader_and_ti() -> None:
    data = UBOOT + source("cbmem", "t.txt").data + b"\n" + source("firmware_lines", "slim.txt").data
    found = tables(data + b"\n" + source("firmware_lines", "tracker.txt").data)
    titles = ("coreboot's stages (cbmem)", "Slim Bootloader's stages", "Stages of TI's boot tracker")
    assert list(found) == [f"{title}, on the firmware's own clock" for title in titles]


def test_a_host_that_stamped_the_lines_does_not_hide_them() -> None:
    lines = source("bootstage", "console-arm64.txt").data.replace(b"\r", b"").split(b"\n")
    stamped = b"".join(b"[%d.000000 0.000000] %s\n" % (i, line) for i, line in enumerate(lines))
    (boot,) = reader("grabserial").read(Source("x", stamped), Options()).boots
    assert boot.tables[0].rows[1][0] == "board_init_f"


def test_dp_in_the_shell_of_uefi() -> None:
    shell = b"UEFI Interactive Shell v2.2\nShell> dp -s\n==[ Major Phases ]========\n"
    found = tables(shell + b"  DXE Phase Duration:       1210 (ms)\n" + UBOOT)
    assert found["UEFI's own times (dp): UEFI's phases"].rows == (("DXE", 1_210_000_000),)


def test_a_console_without_reports_has_no_tables() -> None:
    assert tables(UBOOT) == {}
