# SPDX-License-Identifier: Apache-2.0
"""EDK2's dp in the form of its Dp.uni, written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats import uefi_dp

from .fuzzing import check, damaged, survives

(DP,) = uefi_dp.READERS
GUID = "9B3ADA4F-AE56-4C24-8DEA-F03B7558AE50"
RULE = "-" * 79
PHASES = f"""
==[ Major Phases ]========
  SEC Phase Duration:      {12_345:8d} (us)
{"PEI":>5} Phase Duration:   {412:8d} (ms)
{"DXE":>5} Phase Duration:   {1_210:8d} (ms)
{"BDS":>5} Phase Duration:   {3_020:8d} (ms)
         BDS Timeout:   {2_000:8d} (ms) included in BDS Duration
Total       Duration:   {4_654:8d} (ms)
"""
REST = f"""
==[ Drivers by Handle ]========
Index:  Handle                Driver Name               Description    Time(us)
{RULE}
{7:5d}:  [{0x4A:3x}]   {"PCI Bus Driver":>36}    {"DB:Start:":>11}    {81_200:8d}
{9:5d}:  [{0x4B:3x}]   {"Usb Xhci Driver":>36}    {"DB:Start:":>11}    {402_300:8d}

==[ PEIMs ]========
Index:                Instance GUID              Token    Time(us)
{RULE}
{1:5d}:    {GUID}   PEIM    {310:8d}

==[ General ]========
Index                      Name                         Description    Time(us)
{RULE}
{3:5d}:{"DxeMain":>25}     {"StartImage:":>31}    {77:8d}

==[ Cumulative ]========
(Times in microsec.)     Cumulative   Average     Shortest    Longest
   Name         Count     Duration    Duration    Duration    Duration
{RULE}
{"LoadImage:":>11}   {104:8d}  {91_000:10d}  {875:10d}  {12:10d}  {9_001:10d}

==[ Statistics ]========
There were 240 measurements taken, of which:
       4 are major execution phases.
     120 have non-NULL handles, 120 are NULL.
"""


def boot_of(text: str) -> Boot:
    reading = DP.read(Source("x", text.encode()), Options())
    check(reading)
    assert reading.missed == []
    (boot,) = reading.boots
    return boot


def test_the_phases_are_lengths() -> None:
    assert DP.sure(Source("x", PHASES.encode())) >= 90
    boot = boot_of(PHASES)
    assert boot.clock.name == "none" and boot.points == [] and boot.tracks == []
    assert boot.tables[0].rows == (
        ("SEC", 12_345_000),
        ("PEI", 412_000_000),
        ("DXE", 1_210_000_000),
        ("BDS", 3_020_000_000),
        ("BDS timeout, part of BDS", 2_000_000_000),
        ("all", 4_654_000_000),
    )


def test_drivers_and_modules_the_longest_first() -> None:
    tables = {table.title: table.rows for table in boot_of(PHASES + REST).tables}
    assert tables["UEFI: Drivers"] == (
        ("Usb Xhci Driver: DB:Start:", 402_300_000),
        ("PCI Bus Driver: DB:Start:", 81_200_000),
    )
    assert tables["UEFI: PEI modules"] == ((GUID, 310_000),)
    assert tables["UEFI: Other records"] == (("DxeMain: StartImage:", 77_000),)
    assert tables["UEFI: sums"] == (("LoadImage: (104 times)", 91_000_000),)


def test_something_else_is_refused() -> None:
    assert DP.sure(Source("x", b"==[ hello ]====\nthere\n")) == 0
    with pytest.raises(UserError):
        DP.read(Source("x", b"hello\n"), Options())


@settings(max_examples=80, deadline=None)
@given(damaged((PHASES + REST).encode()))
def test_damage_does_no_harm(data: bytes) -> None:
    survives(DP, data)
