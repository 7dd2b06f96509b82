# SPDX-License-Identifier: Apache-2.0
"""bootstat -p in the form of Android's PrintBootEvents(), written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats import android_bootstat

from .fuzzing import check, damaged, survives

(STAT,) = android_bootstat.READERS
S = 1_000_000_000
TEXT = (
    "Boot events:\n------------\nabsolute_boot_time\t27\nboot_complete\t22\nboot_complete_no_encryption\t22\n"
    "boot_reason\t17\nboottime.bootloader.1BLL\t90\nboottime.bootloader.total\t4710\n"
    "factory_reset\t1795556628\nro.boottime.init\t1876\nro.boottime.init.selinux\t412\n"
)


def boot_of(text: str) -> Boot:
    reading = STAT.read(Source("x", text.encode()), Options())
    check(reading)
    assert reading.missed == []
    (boot,) = reading.boots
    return boot


def test_each_name_has_its_unit() -> None:
    assert STAT.sure(Source("x", TEXT.encode())) == 96
    boot = boot_of(TEXT)
    assert [(p.name, p.at_ns, p.error_ns) for p in boot.points] == [
        ("boot-complete", 22 * S, S),
        ("init", 1_876_000_000, 1_000_000),
    ]
    tables = {table.title: table.rows for table in boot.tables}
    assert tables["Stages of the boot loader"] == (("1BLL", 90_000_000), ("total", 4_710_000_000))
    assert ("absolute_boot_time", 27 * S) in tables["What Android measured"]
    assert ("boot_reason", 17) in tables["Other records, units not known"]


def test_the_first_boot_after_an_update_ends_too() -> None:
    boot = boot_of("Boot events:\n------------\nota_boot_complete\t95\nota_boot_complete_post_decrypt\t80\n")
    assert [(p.name, p.at_ns) for p in boot.points] == [("boot-complete", 95 * S)]


def test_a_negative_value_is_no_time() -> None:
    assert boot_of("Boot events:\n------------\nboot_complete\t-1\n").points == []


def test_something_else_is_refused() -> None:
    assert STAT.sure(Source("x", b"Boot events:\nhello\nthere\n")) == 0
    with pytest.raises(UserError):
        STAT.read(Source("x", b"hello\n"), Options())


@settings(max_examples=60, deadline=None)
@given(damaged(TEXT.encode()))
def test_damage_does_no_harm(data: bytes) -> None:
    survives(STAT, data)
