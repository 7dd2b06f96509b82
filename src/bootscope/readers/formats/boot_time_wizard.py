# SPDX-License-Identifier: Apache-2.0
"""boot-data files of boot-time-wizard: sections of text, systemd-analyze's and dmesg's among them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bootscope.readers.base import Boot, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import add_kernel, kernel_reading
from bootscope.readers.formats.systemd_analyze import Said, boot_of, understands
from bootscope.readers.lines import split
from bootscope.readers.tally import MAX_BOOTS, Tally

NAME = "boot-time-wizard"
_START = "=== Machine Info ==="
_MESSAGES, _SYSTEMD = "KERNEL MESSAGES", "SYSTEMD INFO"
_HEADING = re.compile(
    rf"== ({_MESSAGES}|{_SYSTEMD}|UPTIME|GRAB-BOOT-DATA INFO|Kernel Info|OS|MEMORY|DISK USAGE|MOUNTS"
    r"|PROCESSES|INTERRUPTS|CORES|CONFIG|MODULES) ==\s*"
)
_MARK = re.compile(rb"^== GRAB-BOOT-DATA INFO ==", re.MULTILINE)
# Section, what a line begins with, and the fact behind it.
_FACTS = (
    ("GRAB-BOOT-DATA INFO", "GBD_MACHINE=", "machine"),
    ("GRAB-BOOT-DATA INFO", "GBD_LAB=", "lab"),
    ("GRAB-BOOT-DATA INFO", "GBD_TIMESTAMP=", "date"),
    ("GRAB-BOOT-DATA INFO", "GBD_VERSION=", "tool"),
    ("Kernel Info", "KERNEL_VERSION=", "kernel"),
    ("Kernel Info", "KERNEL_CMDLINE=", "command line"),
    ("OS", "PRETTY_NAME=", "distribution"),
    ("OS", "OS_RELEASE:PRETTY_NAME=", "distribution"),
    ("UPTIME", " ", "uptime"),
)


@dataclass
class _Section:
    """A section: its name, its lines, and the number, from 1, of the first of these."""

    name: str
    first: int
    lines: list[str] = field(default_factory=list)


def sure(source: Source) -> int:
    if source.head.startswith(_START.encode()):
        return 99
    return 90 if _MARK.search(source.head) else 0


def read(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data), Tally()
    boots: list[list[_Section]] = []
    for number, text in enumerate(lines, 1):
        heading = _HEADING.fullmatch(text)
        if text.startswith(_START):
            if len(boots) < MAX_BOOTS:
                boots.append([])
            tally.understood += 1
        elif heading:
            boots = boots or [[]]
            boots[-1].append(_Section(heading[1], number + 1))
            tally.understood += 1
        elif boots and boots[-1]:
            boots[-1][-1].lines.append(text)
        else:
            tally.line(number, text, understood=False)
    if not any(boots):
        raise FormatError(source.name, NAME, 1, "there is no section of a boot-data file")
    found = [_boot(sections, tally, lines.repairs) for sections in boots if sections]
    return tally.reading(found, lines.repairs)


def _boot(sections: Sequence[_Section], tally: Tally, repairs: list[Repair]) -> Boot:
    """A boot of all its sections; counts their lines."""
    said = Said()
    kernel: Boot | None = None
    facts: dict[str, str] = {}
    for section in sections:
        if section.name == _SYSTEMD:
            _systemd(section, said, tally)
        elif section.name == _MESSAGES and kernel is None:
            kernel = _messages(section, tally, repairs)
        else:
            _facts(section, facts, tally)
    boot = boot_of(said)
    if kernel is not None:
        # Spans of systemd's words are rounded to 1 ms; the kernel's lines are exact to 1 us.
        boot.clock = kernel.clock if boot.clock.name in ("none", "kernel") else boot.clock
        if boot.clock.name == "kernel":
            add_kernel(boot, kernel)
    if "tool" in facts:
        facts["tool"] = f"grab-boot-data.sh {facts['tool']}"
    boot.facts = {**boot.facts, **facts}
    return boot


def _systemd(section: _Section, said: Said, tally: Tally) -> None:
    for number, text in enumerate(section.lines, section.first):
        note = text.startswith("NOTE: systemd-analyze is not present")
        tally.line(number, text, note or understands(text, said))


def _messages(section: _Section, tally: Tally, repairs: list[Repair]) -> Boot | None:
    data = "".join(f"{text}\n" for text in section.lines).encode("utf-8", "backslashreplace")
    reading = kernel_reading(data)
    tally.understood += reading.lines_understood
    tally.empty += len(section.lines) - reading.lines_understood - len(reading.missed)
    for miss in reading.missed:
        tally.miss(miss.line + section.first - 1, miss.text)
    repairs += [Repair(r.what, r.count, r.first_line + section.first - 1) for r in reading.repairs]
    return reading.boots[0] if reading.boots else None


def _facts(section: _Section, facts: dict[str, str], tally: Tally) -> None:
    options = processors = 0
    for text in section.lines:
        tally.understood += bool(text.strip())
        tally.empty += not text.strip()
        for name, start, fact in _FACTS:
            if name == section.name and text.startswith(start):
                facts.setdefault(fact, text.removeprefix(start).strip().strip('"'))
        options += section.name == "CONFIG" and text.startswith("CONFIG_")
        processors += section.name == "CORES" and text.startswith("processor")
        if section.name == "MEMORY" and text.startswith("Mem:"):
            facts.setdefault("memory", f"{' '.join(text.split()[1:2])} KiB")
    if options:
        facts["kernel options set"] = str(options)
    if processors:
        facts["processors"] = str(processors)


READERS = (
    Reader(
        NAME,
        "boot-data file of boot-time-wizard",
        "grab-boot-data.sh -x -l LAB -m MACHINE",
        sure,
        read,
    ),
)
