# SPDX-License-Identifier: Apache-2.0
"""How long UBI attached flash, from the kernel's log."""

from __future__ import annotations

import pytest

from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.registry import reader
from bootscope.timeline.trace import Point, Span

BEFORE = """\
[    0.000000] Booting Linux on physical CPU 0x0
[    0.000000] Linux version 6.12.80 (build@host)
"""
AFTER = "[    4.500000] Run /sbin/init as init process\n"
ATTACHED = 'attached mtd3 (name "rootfs", size 127 MiB)'
MS = 1_000_000


def boot_of(lines: str) -> Boot:
    given = Source("boot.txt", (BEFORE + lines + AFTER).encode())
    return reader("dmesg").read(given, Options()).boots[0]


def spans(boot: Boot) -> list[Span]:
    return [span for track in boot.tracks if track.ident == "ubi-attach" for span in track.spans]


@pytest.mark.parametrize(
    ("line", "by"),
    [
        ("ubi0: scanning is finished", {"by": "scan of all blocks"}),
        ("ubi0: attached by fastmap", {"by": "fastmap"}),
        ("ubi0: default fastmap pool size: 50", {}),
    ],
)
def test_it_is_told_how_long_it_took_and_by_what(line: str, by: dict[str, str]) -> None:
    lines = f"""\
[    1.200000] ubi0: attaching mtd3
[    2.900000] {line}
[    3.000000] ubi0: {ATTACHED}
[    3.100000] ubi0: good PEBs: 1014, bad PEBs: 2, corrupted PEBs: 0
"""
    assert spans(boot_of(lines)) == [Span(1_200 * MS, 3_000 * MS, "ubi0: attach mtd3", by)]


def test_two_devices_are_told_apart_also_where_the_number_comes_last() -> None:
    lines = """\
[    1.000000] UBI: attaching mtd1 to ubi0
[    1.500000] UBI: attaching mtd4 to ubi1
[    2.000000] UBI: attached mtd1 to ubi0
[    2.500000] UBI: attached mtd4 (name "data", size 8 MiB) to ubi1
"""
    found = spans(boot_of(lines))
    assert found == [
        Span(1_000 * MS, 2_000 * MS, "ubi0: attach mtd1", {}),
        Span(1_500 * MS, 2_500 * MS, "ubi1: attach mtd4", {}),
    ]


def test_what_has_no_end_or_no_beginning_has_no_length() -> None:
    begun = boot_of("[    1.000000] ubi0: attaching mtd3\n")
    assert spans(begun) == []
    assert Point(1_000 * MS, "ubi0 attaches mtd3: no end in the log", "mark") in begun.points
    assert spans(boot_of(f"[    3.000000] ubi0: {ATTACHED}\n")) == []
