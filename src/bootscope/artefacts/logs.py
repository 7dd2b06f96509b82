# SPDX-License-Identifier: Apache-2.0
"""Console and kernel logs, by the readers that `import` has."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from bootscope.analysis.gaps import reason
from bootscope.artefacts.file_facts import Piece
from bootscope.capture.imported import Answers, Raw
from bootscope.core.errors import UserError, printable
from bootscope.importing.files import FileRead, Understood, understand
from bootscope.inventory.bootlog import BootLog, log_line
from bootscope.inventory.inventory import Part
from bootscope.inventory.log_indicators import countdown_s
from bootscope.loaders.console import COUNTDOWN
from bootscope.readers.base import Boot
from bootscope.readers.boot_end import ENDS as END_MILESTONES
from bootscope.readers.detect import recognised
from bootscope.readers.markers import split_line
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget
from bootscope.timeline import kernel_lines
from bootscope.timeline.trace import Trace

_MOST_LINES = 200_000
INIT = re.compile(f"{kernel_lines.INIT}|{kernel_lines.FREED}|systemd\\[1\\]: ")
_REST_NS = 15_000_000_000
_NO_REASON = ("same-probe", "usb-enumeration", "usb-enumerated", "random", "link-up")
"""Kinds of gaps that say nothing of a boot that goes on."""
_SMP = re.compile(r"^Linux version .* #\d\S* (SMP\b)?", re.MULTILINE)


def is_log(name: str, data: bytes) -> bool:
    """Whether a reader of `import` takes this for its own."""
    found = opened(name, data, Budget())
    return bool(recognised(found.source))


def read(raws: Sequence[Raw]) -> list[Piece]:
    """All logs together, as `import` would join them: the one that tells the first boot best, and the rest.

    Raises UserError when none of them is a log with lines.
    """
    return of_understood(understand(raws, Answers(), strict=True))


def of_understood(found: Understood, boots: int = 0) -> list[Piece]:
    """The pieces of files that were read; the run has `boots`, or as many as these files tell of."""
    best = _with_lines(found)
    trace = found.trace(1, lines=False) if found.joined.groups else None
    fields = {"init": "systemd"} if any(f.reader.name.startswith("system") for f in found.files) else {}
    if best is None:
        if trace and (trace.tracks or trace.tables):
            told = [Piece(f.name, "log", f.reader.title, fields) for f in found.files]
            return [replace(told[0], trace=trace), *told[1:]]
        names = ", ".join(f"{printable(f.name)} ({f.reader.title})" for f in found.files[:3])
        raise UserError(f"no lines of a boot found in: {names}", hint="audit reads console and kernel logs")
    file, boot = best
    log = _log(boot, boots or found.boots, file.reader.name, _ends(found, boot, trace))
    # What is timed by name is told with the lines beside which it is.
    pieces = [Piece(f.name, "log", _beside(f), fields) for f in found.files if f is not file]
    return [replace(_piece(file, boot, log), trace=trace), *pieces]


def _beside(file: FileRead) -> str:
    timed = any(boot.tracks or boot.tables for boot in file.reading.boots)
    return file.reader.title if timed else f"{file.reader.title}, not read"


def _with_lines(found: Understood) -> tuple[FileRead, Boot] | None:
    """The file and boot whose lines tell the first of the boots best."""
    for group in found.joined.groups:
        for member in group.members:
            file = found.files[member.file]
            boot = file.reading.boots[member.boot]
            if len(boot.log):
                return file, boot
    return None


def _ends(found: Understood, boot: Boot, trace: Trace | None) -> int | None:
    """After how many lines of its log the first boot was through; None where no clock tells."""
    log, way = found.log(1)
    if log is not boot.log or not trace or not trace.timed:
        return None
    ends = max(1, bisect_right(log.at_ns, way.inverse().at(trace.total_ns)))
    told = any(name in END_MILESTONES for name in trace.milestones())
    return ends if told else _before_rest(boot, ends)


def _before_rest(boot: Boot, ends: int) -> int:
    """Of a log in which no line tells the end of the boot: the kernel's alone is silent for long when the
    system is up, and says what happens to it then."""
    log = boot.log
    if boot.clock.name != "kernel":
        return ends
    first = next((i for i in range(ends) if INIT.search(log.text(i))), ends)
    for index in range(first, ends - 1):
        gap_ns = log.at_ns[index + 1] - log.at_ns[index]
        # A program's line without a stamp tells that the boot goes on.
        if gap_ns > _REST_NS and log.kernel_ns[index] >= 0:
            before, after = (split_line(log.text(i))[1] for i in (index, index + 1))
            found = reason(before, after, gap_ns)
            if not found or found.kind in _NO_REASON:
                return index + 1
    return ends


def _log(boot: Boot, boots: int, tool: str, ends: int | None) -> BootLog:
    log = boot.log
    count = min(len(log), _MOST_LINES)
    lines = [log_line(log.at_ns[i], log.text(i), log.kernel_ns[i], log.level[i]) for i in range(count)]
    return BootLog(lines, boot.clock.name, boot.clock.stamp, boots, tool, boot.clock.resolution_ns, ends)


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
    """Symbols of configurations that the lines give away."""
    found: dict[str, dict[str, str]] = {}
    banner = _SMP.search(log.text)
    if banner:
        found["kernel"] = {"SMP": "y" if banner[1] else "n"}
    at = log.index(COUNTDOWN)
    delay = countdown_s(log.lines[at].text) if at >= 0 else None
    if delay is not None:
        found["uboot"] = {"BOOTDELAY": str(delay)}
    return found
