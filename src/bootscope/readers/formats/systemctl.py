# SPDX-License-Identifier: Apache-2.0
"""`systemctl show` of the manager and of units: the richest that systemd tells, also on small systems.

Text of ``Key=Value`` lines, units apart by an empty line. Times are CLOCK_MONOTONIC in microseconds, 0 for
never; firmware and loader count backwards from the kernel's start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from bootscope.readers.base import KERNEL, Boot, Options, Reader, Reading, Source
from bootscope.readers.lines import split
from bootscope.readers.systemd_units import (
    US_NS,
    Unit,
    blame_table,
    milestone,
    phase_track,
    took,
    track_of,
    unit_tracks,
)
from bootscope.readers.tally import MAX_BOOTS, Tally, sample
from bootscope.timeline.trace import Point, Span, Track

NAME = "systemctl"
_PROPERTY = re.compile(r"([A-Z][A-Za-z0-9_]{1,80})=(.*)", re.DOTALL)
_MANAGER_KEYS = frozenset(
    f"{n}TimestampMonotonic" for n in ("Userspace", "Kernel", "Finish", "GeneratorsStart")
)
_MARK = re.compile(rb"(?:InactiveExit|Userspace|UnitsLoadFinish|ActiveEnter)TimestampMonotonic=\d")
_TIME = re.compile(r"\d{1,15}", re.ASCII)
# What the manager did between its phases: span name, and the keys' beginning.
_WORK = (
    ("security", "Security"),
    ("generators", "Generators"),
    ("load units", "UnitsLoad"),
    ("security (initrd)", "InitRDSecurity"),
    ("generators (initrd)", "InitRDGenerators"),
    ("load units (initrd)", "InitRDUnitsLoad"),
)
_FACTS = {"Version": "systemd", "Architecture": "architecture", "Virtualization": "virtualization"}


@dataclass
class _Found:
    """What belongs to one boot: the manager's properties, and the units'."""

    manager: dict[str, str] = field(default_factory=dict)
    units: list[dict[str, str]] = field(default_factory=list)


def sure(source: Source) -> int:
    lines = sample(source)
    if not lines or not _MARK.search(source.head):
        return 0
    fit = sum(bool(_PROPERTY.match(line.decode("utf-8", "backslashreplace"))) for line in lines)
    return 97 * fit // len(lines)


def read(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data), Tally()
    boots, block = [_Found()], dict[str, str]()
    for number, text in enumerate(lines, 1):
        match = _PROPERTY.fullmatch(text)
        tally.line(number, text, bool(match))
        if match:
            # `systemctl show` ends without an empty line: what is appended to it begins anew.
            if match[1] in block and match[1].endswith("TimestampMonotonic"):
                _close(block, boots)
                block = {}
            block.setdefault(match[1], match[2])
        elif not text.strip():
            _close(block, boots)
            block = {}
    _close(block, boots)
    tally.require(source, NAME, lines, "output of systemctl show")
    _ask(boots, tally)
    return tally.reading([_boot(found) for found in boots], lines.repairs)


def _close(block: dict[str, str], boots: list[_Found]) -> None:
    """Takes in a finished block: the manager's, a unit's, or one after the other without a gap."""
    if _MANAGER_KEYS & block.keys():
        if boots[-1].manager and len(boots) < MAX_BOOTS:
            boots.append(_Found())
        boots[-1].manager = block
    if "Id" in block:
        boots[-1].units.append(block)


def _ask(boots: list[_Found], tally: Tally) -> None:
    if not any(found.units for found in boots):
        tally.ask("`systemctl show '*'` gives the units too: import its output beside this")
    if not any(found.manager for found in boots):
        tally.ask("`systemctl show` without a name gives systemd's own phases: import its output beside this")


def _boot(found: _Found) -> Boot:
    boot = Boot(KERNEL)
    boot.facts.update({name: found.manager[key] for key, name in _FACTS.items() if found.manager.get(key)})
    units = [_unit(block) for block in found.units]
    boot.tracks += _phases(found.manager)
    boot.tracks += unit_tracks(units)
    boot.points += _milestones(found.manager)
    if blame := took(units):
        boot.tables.append(blame_table(blame))
    return boot


def _at(block: Mapping[str, str], key: str) -> int | None:
    """A monotonic stamp in ns, or None for 0, an empty and a missing one."""
    text = block.get(f"{key}TimestampMonotonic", "")
    return int(text) * US_NS or None if _TIME.fullmatch(text) else None


def _unit(block: Mapping[str, str]) -> Unit:
    detail: dict[str, str | int] = {k.lower(): block[k] for k in ("Description", "Type") if block.get(k)}
    for name, key in (("main process from_ns", "ExecMainStart"), ("main process until_ns", "ExecMainExit")):
        at_ns = _at(block, key)
        if at_ns is not None:
            detail[name] = at_ns
    return Unit(
        block["Id"],
        _at(block, "InactiveExit"),
        _at(block, "ActiveEnter"),
        _at(block, "ActiveExit"),
        _at(block, "InactiveEnter"),
        _names(block.get("After", "")),
        _at(block, "Condition"),
        detail,
    )


def _names(text: str) -> tuple[str, ...]:
    """A list of units; names with a backslash stand in quotes, with the backslash doubled."""
    return tuple(name.strip('"').replace("\\\\", "\\") for name in text.split())


def _phases(manager: Mapping[str, str]) -> list[Track]:
    """systemd's phases and, below them, what its manager did itself."""
    user_ns, finish_ns = _at(manager, "Userspace"), _at(manager, "Finish")
    if user_ns is None:
        return []
    firmware_ns, loader_ns = _at(manager, "Firmware") or 0, _at(manager, "Loader") or 0
    initrd_ns = _at(manager, "InitRD")
    bounds = []
    if firmware_ns > loader_ns:
        bounds.append(("firmware", -firmware_ns, -loader_ns))
    if loader_ns:
        bounds.append(("loader", -loader_ns, 0))
    bounds.append(("kernel", 0, initrd_ns or user_ns))
    if initrd_ns is not None:
        bounds.append(("initrd", initrd_ns, user_ns))
    if finish_ns is not None:
        bounds.append(("userspace", user_ns, finish_ns))
    work = _work(manager)
    return [phase_track(bounds)] + (
        [track_of("systemd:manager", "service", "systemd itself", work, "systemd")] if work else []
    )


def _work(manager: Mapping[str, str]) -> list[Span]:
    spans = []
    for name, key in _WORK:
        start_ns, end_ns = _at(manager, f"{key}Start"), _at(manager, f"{key}Finish")
        if start_ns is not None and end_ns is not None and end_ns >= start_ns:
            spans.append(Span(start_ns, end_ns, name))
    return spans


def _milestones(manager: Mapping[str, str]) -> list[Point]:
    named = (("initrd", "InitRD"), ("systemd", "Userspace"), ("systemd-finished", "Finish"))
    found = ((name, _at(manager, key)) for name, key in named)
    return [milestone(at_ns, name) for name, at_ns in found if at_ns is not None]


READERS = (
    Reader(
        NAME,
        "systemctl show: times of systemd and its units",
        "systemctl show; systemctl show '*'",
        sure,
        read,
    ),
)
