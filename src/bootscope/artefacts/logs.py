# SPDX-License-Identifier: Apache-2.0
"""Console and kernel logs, read by the readers of `import`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bootscope.analysis.gaps import reason
from bootscope.artefacts.file_facts import Piece
from bootscope.capture.imported import Answers, Raw
from bootscope.core.errors import UserError, printable
from bootscope.core.text import span
from bootscope.importing.files import FileRead, Understood, understand
from bootscope.inventory.bootlog import BootLog, log_line
from bootscope.inventory.inventory import Part
from bootscope.inventory.log_indicators import countdown_s
from bootscope.loaders.console import COUNTDOWN
from bootscope.readers.base import Boot
from bootscope.readers.boot_end import ENDS as END_MILESTONES
from bootscope.readers.detect import recognised
from bootscope.readers.fit import Map
from bootscope.readers.markers import split_line
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget
from bootscope.timeline import kernel_lines
from bootscope.timeline.failure import Failure
from bootscope.timeline.trace import Trace

_MOST_LINES = 200_000
INIT = re.compile(f"{kernel_lines.INIT}|{kernel_lines.FREED}|systemd\\[1\\]: ")
_REST_NS = 15_000_000_000
_NO_REASON = ("same-probe", "usb-enumeration", "usb-enumerated", "random", "link-up")
"""Kinds of gaps that also occur in a system that is up, and so do not show that a boot continues."""
_SMP = re.compile(r"^Linux version .* #\d\S* (SMP\b)?", re.MULTILINE)


def is_log(name: str, data: bytes) -> bool:
    """Whether a reader of `import` accepts this."""
    found = opened(name, data, Budget())
    return bool(recognised(found.source))


def read(raws: Sequence[Raw]) -> list[Piece]:
    """All logs together, joined as by `import`: the one that describes the first boot best, and the rest.

    Raises UserError when none of them is a log with lines.
    """
    return of_understood(understand(raws, Answers(), strict=True))


def of_understood(found: Understood, boots: int = 0, number: int = 0) -> list[Piece]:
    """The pieces of files that were read, of boot `number` (from 1; 0: the one shown by default); the run has
    `boots`, or as many as these files contain."""
    number = number or found.shown
    best = _with_lines(found, number)
    trace = found.trace(number, lines=False) if found.joined.groups else None
    fields = {"init": "systemd"} if any(f.reader.name.startswith("system") for f in found.files) else {}
    if best is None:
        if trace and (trace.tracks or trace.tables):
            told = [Piece(f.name, "log", f.reader.title, fields) for f in found.files]
            return [replace(told[0], trace=trace), *told[1:]]
        names = ", ".join(f"{printable(f.name)} ({f.reader.title})" for f in found.files[:3])
        raise UserError(f"no lines of a boot found in: {names}", hint="audit reads console and kernel logs")
    file, boot = best
    own = _own(found, number, boot, trace)
    log = _log(boot, boots or found.boots, file.reader.name, own)
    piece = _piece(file, boot, log)
    which = (f"boot {number} of {found.boots} is looked at",) if found.boots > 1 else ()
    piece = replace(piece, notes=(*piece.notes, *which, *own.notes), trace=trace)
    # The timings in the other files are in the trace of the first piece.
    pieces = [Piece(f.name, "log", _beside(f), fields) for f in found.files if f is not file]
    return [piece, *pieces]


def _beside(file: FileRead) -> str:
    timed = any(boot.tracks or boot.tables for boot in file.reading.boots)
    return file.reader.title if timed else f"{file.reader.title}, not read"


def _with_lines(found: Understood, number: int) -> tuple[FileRead, Boot] | None:
    """The file and boot with the best lines for boot `number`, else the first one that has lines."""
    groups = found.joined.groups
    for group in (*groups[number - 1 : number], *groups):
        for member in group.members:
            file = found.files[member.file]
            boot = file.reading.boots[member.boot]
            if len(boot.log):
                return file, boot
    return None


@dataclass(frozen=True)
class _Own:
    """Which lines of a log belong to one boot: from `first`, before `ends` (None: unknown)."""

    first: int = 0
    ends: int | None = None
    failure: Failure | None = None
    running: bool = False
    notes: tuple[str, ...] = ()
    way: Map = field(default_factory=Map)
    """From the log's stamps to the clock of the boot's trace."""


def _own(found: Understood, number: int, boot: Boot, trace: Trace | None) -> _Own:
    """The lines that belong to boot `number`, as far as a clock says."""
    log, way = found.log(number, trace.other_ns if trace else 0)
    if log is not boot.log or trace is None:
        return _Own()
    failed = None if trace.failure and trace.failure.after else trace.failure
    if not trace.timed:
        return _Own(failure=failed)
    back = way.inverse()
    begins = trace.begins_ns or trace.other_ns
    first = bisect_left(log.at_ns, back.at(trace.begins_ns)) if begins else 0
    ends = max(first + 1, bisect_right(log.at_ns, back.at(trace.total_ns)))
    told = failed or any(name in END_MILESTONES for name in trace.milestones())
    rests = ends if told else _before_rest(boot, ends)
    notes = trace.bounds
    if rests < ends:
        gap_ns = log.at_ns[rests] - log.at_ns[rests - 1]
        notes = (
            *notes,
            f"the boot is taken to end before a silence of {span(gap_ns)}: what follows is left out",
        )
    return _Own(first, rests, failed, trace.running, notes, way)


def _before_rest(boot: Boot, ends: int) -> int:
    """The end of the boot in a log without a line that marks it: the kernel's log alone is silent for long
    once the system is up, and later lines are about the running system."""
    log = boot.log
    if boot.clock.name != "kernel":
        return ends
    first = next((i for i in range(ends) if INIT.search(log.text(i))), ends)
    for index in range(first, ends - 1):
        gap_ns = log.at_ns[index + 1] - log.at_ns[index]
        # A program's line without a stamp shows that the boot continues.
        if gap_ns > _REST_NS and log.kernel_ns[index] >= 0:
            before, after = (split_line(log.text(i))[1] for i in (index, index + 1))
            found = reason(before, after, gap_ns)
            if not found or found.kind in _NO_REASON:
                return index + 1
    return ends


def _log(boot: Boot, boots: int, tool: str, own: _Own) -> BootLog:
    log = boot.log
    numbers = range(own.first, min(len(log), own.first + _MOST_LINES))
    at, kernel_ns = own.way.at, log.kernel_ns
    lines = [log_line(at(log.at_ns[i]), log.text(i), kernel_ns[i], log.level[i]) for i in numbers]
    return BootLog(
        lines,
        boot.clock.name,
        boot.clock.stamp,
        boots,
        tool,
        boot.clock.resolution_ns,
        None if own.ends is None else own.ends - own.first,
        own.failure,
        own.running,
        own.way.inverse().at(0) if boot.clock.name == "kernel" else 0,
    )


def _piece(file: FileRead, boot: Boot, log: BootLog) -> Piece:
    parts = {Part.LOG}
    fields: dict[str, object] = {"log": log}
    if log.command_line is not None:
        fields["command_line"] = log.command_line
        parts.add(Part.COMMAND_LINE)
    configs = _told_symbols(log)
    if configs:
        fields |= {"configs": configs, "partial": frozenset(configs)}
    told = f"{file.reader.title}: {len(boot.log):,} lines, {log.boots} boot{'s' if log.boots > 1 else ''}"
    kernel = boot.facts.get("kernel")
    told += f", Linux {printable(kernel)[:40]}" if kernel else ""
    notes = [f"only its first {_MOST_LINES:,} lines are looked at"] if len(boot.log) > _MOST_LINES else []
    if log.clock == "none":
        notes.append("its lines have no time stamps: times are only known from their length")
    return Piece(file.name, "log", told, fields, frozenset(parts), tuple(notes))


def _told_symbols(log: BootLog) -> dict[str, dict[str, str]]:
    """Symbols of configurations that the lines imply."""
    found: dict[str, dict[str, str]] = {}
    banner = _SMP.search(log.text)
    if banner:
        found["kernel"] = {"SMP": "y" if banner[1] else "n"}
    at = log.index(COUNTDOWN)
    delay = countdown_s(log.lines[at].text) if at >= 0 else None
    if delay is not None:
        found["uboot"] = {"BOOTDELAY": str(delay)}
    return found
