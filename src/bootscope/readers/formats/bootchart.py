# SPDX-License-Identifier: Apache-2.0
"""Archives of bootchart 1 and 2, of BusyBox' bootchartd, of bootchart-lite, and of bootscope-agent.

All sample /proc at a fixed rate and keep its text. Times are the uptime, in 1/100 s, which is the kernel's
clock; nothing is known between two samples but counters, and that is what the clock's resolution says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median_low

from bootscope.readers import bootchart_agent
from bootscope.readers.base import KERNEL, Boot, Clock, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.bootchart_load import cpu_tracks, disk_tracks
from bootscope.readers.bootchart_log import (
    TICK_NS,
    Logs,
    Seen,
    accounted_parents,
    blocks,
    command_lines,
    header,
    parents,
    sampled,
    stat_line,
    task_line,
)
from bootscope.readers.bootchart_processes import Processes
from bootscope.readers.console import add_kernel, kernel_reading
from bootscope.timeline.trace import Table

NAME = "bootchart"
_STAT, _DISKS, _PS, _TASKS = "proc_stat.log", "proc_diskstats.log", "proc_ps.log", "taskstats.log"
_MEMORY = "proc_meminfo.log"
_FACTS = {
    "title": "title",
    "system.uname": "kernel",
    "system.release": "distribution",
    "system.cpu": "machine",
    "system.kernel.options": "command line",
    "profile.process": "profiled process",
}
# A log of its own, without its archive: its name by its first lines.
_ALONE = (
    (_STAT, re.compile(rb"\s*\d{1,12}\n *cpu  ?\d")),
    (_PS, re.compile(rb"\s*\d{1,12}\n1 \([^\n]{1,64}\) [A-Za-z] 0 ")),
    (_TASKS, re.compile(rb"\s*\d{1,12}\n\d{1,7} \d{1,7} [^\n]{1,66} \d{1,18} \d{1,18} \d{1,18}\n")),
    (_DISKS, re.compile(rb"\s*\d{1,12}\n +\d{1,4} +\d{1,7} [a-z]\S{1,30}(?: \d{1,19}){11,17} *\n")),
)
_MEMORY_LINE = re.compile(rb"[A-Za-z0-9_()]{1,40}: +\d{1,18}(?: kB)? *")
_MEMORY_BLOCK = re.compile(rb"(?:[A-Za-z0-9_()]{1,40}: +\d{1,18}(?: kB)? *(?:\n|$))*+")
_MEMORY_SHOWN = re.compile(
    rb"^(MemTotal|MemFree|MemAvailable|Buffers|Cached|SwapTotal|SwapFree): +(\d{1,18})", re.MULTILINE
)


@dataclass
class _Archive:
    """The archive's files by their base name, and what was found in them."""

    files: Mapping[str, bytes]
    tally: Logs = field(default_factory=Logs)
    times: list[int] = field(default_factory=list)

    def text(self, name: str) -> bytes:
        return self.files.get(name, b"")


def sure(source: Source) -> int:
    names = set(_files(source))
    if not names & {_STAT, _PS, _TASKS}:
        return 0
    if not source.members:
        return 80
    return 99 if names & {"header", _DISKS} else 70


def _files(source: Source) -> dict[str, bytes]:
    """The logs by base name: archives hold them bare, below ``./`` or in a folder."""
    if not source.members:
        return {name: source.data for name, mark in _ALONE if mark.match(source.head)}
    return {name.rsplit("/", 1)[-1]: data for name, data in source.members.items()}


def read(source: Source, options: Options) -> Reading:
    archive = _Archive(_files(source))
    if not archive.files.keys() & {_STAT, _PS, _TASKS}:
        raise FormatError(source.name, NAME, 1, f"it holds none of {_STAT}, {_PS} and {_TASKS}")
    boot = Boot(KERNEL)
    _add_header(boot, archive)
    _add_loads(boot, archive)
    left_out = _add_processes(boot, archive)
    _add_memory(boot, archive)
    period_ns = median_low([b - a for a, b in pairwise(archive.times)] or [0])
    boot.clock = _clock(archive.times, period_ns)
    error_ns = bootchart_agent.clock_error_ns(archive.text("dmesg")) if "sources" in boot.facts else None
    if error_ns is not None:
        # Its events are exact; only the log's stamps are of another clock.
        boot.clock = replace(boot.clock, resolution_ns=error_ns)
    boot.facts["sample period"] = f"{period_ns // 1_000_000} ms ({len(archive.times)} samples)"
    kernel = kernel_reading(archive.text("dmesg"))
    if kernel.boots:
        add_kernel(boot, kernel.boots[0])
    return _reading(boot, archive, kernel, left_out)


def _add_header(boot: Boot, archive: _Archive) -> None:
    found = header(archive.text("header"), archive.tally)
    boot.facts.update({name: found[key] for key, name in _FACTS.items() if found.get(key)})
    boot.facts["tool"] = f"bootchart {found['version']}" if found.get("version") else "bootchart"
    boot.facts.update(bootchart_agent.facts(found))
    bootchart_agent.losses(found, archive.tally)


def _add_loads(boot: Boot, archive: _Archive) -> None:
    tally = archive.tally
    tracks, tables, archive.times = cpu_tracks(blocks(_STAT, archive.text(_STAT), tally), tally)
    boot.tracks += tracks
    boot.tables += tables
    tracks, tables = disk_tracks(blocks(_DISKS, archive.text(_DISKS), tally), tally)
    boot.tracks += tracks
    boot.tables += tables


def _add_processes(boot: Boot, archive: _Archive) -> int:
    """Tracks of all processes; how many samples did not fit into memory's bound."""
    tally = archive.tally
    processes = Processes()
    log: str
    parse: Callable[[bytes], Seen | None]
    # The better of the two where an archive has both: nanoseconds instead of 1/100 s.
    log, parse = (_TASKS, task_line) if archive.text(_TASKS).strip() else (_PS, stat_line)
    events = bootchart_agent.read_events(archive.text(bootchart_agent.LOG), tally)
    times = bootchart_agent.fill(processes, events, sampled(log, archive.text(log), parse, tally))
    known = accounted_parents(archive.text("kernel_pacct"), tally)
    known.update(parents(archive.text("paternity.log"), tally))
    processes.finish(known, command_lines(archive.text("cmdline2.log"), tally))
    boot.tracks += processes.tracks()
    if processes.all:
        boot.tables.append(processes.table())
    # bootscope's collector reads the load of the CPUs less often than what processes do.
    archive.times = times if events.samples else archive.times or times
    return processes.left_out


def _add_memory(boot: Boot, archive: _Archive) -> None:
    first: dict[str, int] = {}
    least: dict[str, int] = {}
    last: dict[str, int] = {}
    for block in blocks(_MEMORY, archive.text(_MEMORY), archive.tally):
        text = b"\n".join(block.lines)
        # Fifty lines a sample, of which a few are shown: looked at one by one only when one is odd.
        if _MEMORY_BLOCK.fullmatch(text):
            archive.tally.understood += len(block.lines)
        else:
            for number, line in enumerate(block.lines, block.line):
                archive.tally.count(_MEMORY, number, line, _MEMORY_LINE.fullmatch(line))
        for match in _MEMORY_SHOWN.finditer(text):
            name, size = match[1].decode(), int(match[2])
            first.setdefault(name, size)
            least[name] = min(size, least.get(name, size))
            last[name] = size
    rows = tuple((name, size, least[name], last[name]) for name, size in first.items())
    if rows:
        columns = ("of", "first KiB", "least KiB", "last KiB")
        boot.tables.append(Table("Memory, by samples", columns, rows))


def _clock(times: list[int], period_ns: int) -> Clock:
    """A sample is stamped to 10 ms; what it says is true for a time between it and the one before."""
    resolution_ns = max(TICK_NS, period_ns)
    if times and times[0] < TICK_NS:
        # bootchart2's collector counts from its own start when told to (-r, by `bootchartd start`).
        return Clock("collector", "the start of the collector", resolution_ns)
    return replace(KERNEL, resolution_ns=resolution_ns)


def _reading(boot: Boot, archive: _Archive, kernel: Reading, left_out: int) -> Reading:
    tally = archive.tally
    tally.understood += kernel.lines_understood
    tally.empty += kernel.lines_empty
    for miss in kernel.missed:
        tally.miss(miss.line, f"dmesg: {miss.text}")
    reading = tally.reading([boot])
    reading.repairs += [replace(r, what=f"dmesg: {r.what}") for r in kernel.repairs]
    if left_out:
        reading.repairs.append(Repair("samples of processes left out: too many to keep", left_out, 1))
    return reading


READERS = (
    Reader(
        NAME,
        "bootchart, bootchart2, BusyBox bootchartd, Android's init, bootchart-lite, bootscope-agent",
        "init=/sbin/bootchartd on the kernel's command line; /var/log/bootlog.tgz",
        sure,
        read,
    ),
)
