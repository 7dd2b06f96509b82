# SPDX-License-Identifier: Apache-2.0
"""The firmware's own times, as ACPI's FPDT hands them on (ACPI 6.5, 5.2.24: Firmware Performance Data Table).

Linux shows them as files of nanoseconds in /sys/firmware/acpi/fpdt (drivers/acpi/acpi_fpdt.c, its
Documentation/ABI/testing/sysfs-firmware-acpi); newer kernels show the table of the boot too, as FBPT.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping

from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.layout import track
from bootscope.readers.tally import Tally, sample
from bootscope.readers.timespan import LAST_NS, whole
from bootscope.timeline.trace import Point, Span, Table

NAME = "acpi-fpdt"
_CLOCK = Clock("counter", "the zero of the firmware's timer, at the reset or before", 1)
_BOOT = {
    "firmware_start_ns": "firmware starts",
    "bootloader_load_ns": "firmware loads the boot loader",
    "bootloader_launch_ns": "boot loader starts",
    "exitbootservice_start_ns": "ExitBootServices called",
    "exitbootservice_end_ns": "ExitBootServices done",
}
_PHASES = (
    ("firmware", "firmware_start_ns", "bootloader_load_ns"),
    ("load the boot loader", "bootloader_load_ns", "bootloader_launch_ns"),
    ("loader", "bootloader_launch_ns", "exitbootservice_start_ns"),
    ("ExitBootServices", "exitbootservice_start_ns", "exitbootservice_end_ns"),
)
_SLEEP = ("suspend_start_ns", "suspend_end_ns", "resume_count", "resume_prev_ns", "resume_avg_ns")
_FILE = re.compile(r"(?:.{0,4000}/)?fpdt/(?:boot|suspend|resume)/([a-z_]{4,32})")
_LINE = re.compile(r"(?:\S{0,4000}/)?(?:boot|suspend|resume)/([a-z_]{4,32}):\s?(\d{1,20})\s*")

# A subtable: signature and length; a record: type, length, revision.
_FBPT, _HEADER, _RECORD = b"FBPT", struct.Struct("<4sI"), struct.Struct("<HBB")
_BASIC, _BASIC_BOOT = 2, struct.Struct("<HBBI5Q")
_MOST_RECORDS = 100_000


def _boot_of(values: Mapping[str, int]) -> Boot:
    """What the values by the names of Linux's files come to; 0 is of an event that did not happen."""
    boot = Boot(_CLOCK, facts={"tool": "ACPI FPDT"})
    at = {name: values[name] for name in _BOOT if values.get(name)}
    boot.points += [Point(at_ns, _BOOT[name]) for name, at_ns in at.items()]
    pairs = [(name, at.get(first), at.get(last)) for name, first, last in _PHASES]
    spans = [Span(a, b, name) for name, a, b in pairs if a is not None and b is not None and a <= b]
    if spans:
        boot.tracks.append(track("acpi-fpdt", "phase", "Firmware, by ACPI", spans))
    sleep = tuple((name, values[name]) for name in _SLEEP if name in values)
    if sleep:
        boot.tables.append(Table("The last suspend and resume, by the firmware", ("what", "value"), sleep))
    return boot


def _known(name: str, text: str) -> int | None:
    value = whole(text.strip(), 20)
    return value if (name in _BOOT or name in _SLEEP) and value is not None and value <= LAST_NS else None


# ---- the files of /sys/firmware/acpi/fpdt, as a folder and as `grep` prints them


def _files(members: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for path, data in sorted(members.items()):
        if found := _FILE.fullmatch(path):
            yield found[1], data[:64].decode("latin-1")


def _values(source: Source, tally: Tally) -> dict[str, int]:
    values: dict[str, int] = {}

    def take(name: str, text: str) -> bool:
        value = _known(name, text)
        if value is not None:
            values[name] = value
        return value is not None

    if source.members:
        for number, (name, text) in enumerate(_files(source.members), 1):
            tally.line(number, f"{name}: {text}", take(name, text))
    else:
        match = _LINE.fullmatch
        tally.lines(
            source,
            NAME,
            "a list of ACPI's FPDT",
            lambda _, line: bool((m := match(line)) and take(m[1], m[2])),
        )
    return values


# ---- the table


def _records(data: bytes, tally: Tally) -> dict[str, int]:
    """The times of the record that all firmware writes; others are counted."""
    values: dict[str, int] = {}
    _, length = _HEADER.unpack_from(data)
    end = min(length, len(data))
    if length > len(data):
        tally.repair(f"the table declares {length:,} bytes, there are {len(data):,}", 1)
    at, others = _HEADER.size, 0
    for number in range(1, _MOST_RECORDS):
        if at + _RECORD.size > end:
            break
        kind, size, _ = _RECORD.unpack_from(data, at)
        if size < _RECORD.size or at + size > end:
            tally.miss(number, f"a record of {size} bytes at byte {at}")
            break
        if kind == _BASIC and size >= _BASIC_BOOT.size:
            times = _BASIC_BOOT.unpack_from(data, at)[4:]
            values.update({n: ns for n, ns in zip(_BOOT, times, strict=True) if ns <= LAST_NS})
        others += kind != _BASIC
        tally.understood += 1
        at += size
    if others:
        tally.repair("records of single modules and events left out", 1, others)
    return values


def sure(source: Source) -> int:
    """How surely it is the FPDT's, of 100."""
    if any(name in _BOOT for name, _ in _files(source.members)):
        return 97
    if source.data.startswith(_FBPT) and len(source.data) >= _HEADER.size + _BASIC_BOOT.size:
        return 95
    lines = [line.decode("utf-8", "replace") for line in sample(source)]
    found = [m for line in lines if (m := _LINE.fullmatch(line)) and _known(m[1], m[2]) is not None]
    return 97 * len(found) // len(lines) if any(m[1] in _BOOT for m in found) else 0


def read(source: Source, options: Options) -> Reading:
    """The firmware's stages; FormatError where none of its times is there."""
    tally = Tally()
    table = source.data.startswith(_FBPT) and len(source.data) >= _HEADER.size
    values = _records(source.data, tally) if table else _values(source, tally)
    if not any(values.get(name) for name in _BOOT):
        raise FormatError(source.name, NAME, 1, "there is no time of the firmware in it")
    return tally.reading([_boot_of(values)])


READERS = (
    Reader(
        NAME,
        "the firmware's times in ACPI's FPDT",
        "grep -r . /sys/firmware/acpi/fpdt/",
        sure,
        read,
    ),
)
