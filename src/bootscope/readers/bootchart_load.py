# SPDX-License-Identifier: Apache-2.0
"""CPU and disk load out of samples of /proc/stat and /proc/diskstats."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.devices.model import SECTOR_BYTES
from bootscope.readers.bootchart_log import TICK_NS, Block, Logs
from bootscope.readers.lines import decode
from bootscope.readers.timespan import LONGEST_NS
from bootscope.timeline.trace import Span, Table, Track

_MAX_TICKS = 10**10
_MS_NS = 1_000_000
# Of a line "cpu ..." in /proc/stat (man proc_stat), by what the time went to.
_CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_WHOLE_CPU = re.compile(rb"cpu +(\d{1,11}(?: +\d{1,19}){3,15})\s{0,8}")
_STAT_LINE = re.compile(rb"(?:cpu\d{0,5}|intr|ctxt|btime|processes|procs_\w+|softirq|page|swap|disk_io:?)\b")
_DISK = re.compile(rb"\s*\d{1,6}\s+\d{1,7}\s+(\S{1,40})\s+(\d{1,19}(?:\s+\d{1,19}){10,16})\s*")
_DISK_OLD = re.compile(rb"\s*\d{1,6}\s+\d{1,7}\s+\S{1,40}(?:\s+\d{1,19}){4}\s*")
_DETAIL = ("reads", "bytes read", "writes", "bytes written", "busy_ns")
# What has no storage of its own: RAM disks, loop and device mapper devices; and partitions of disks.
_NO_DISK = re.compile(r"ram\d|loop\d|dm-\d|zram\d|fd\d|sr\d")
_PARTITION = re.compile(
    r"(?:[hsv]d[a-z]{1,3}|xvd[a-z])\d+|(?:mmcblk\d+|nvme\d+n\d+|nbd\d+)p\d+|mtdblock\d+p\d+"
)


def cpu_tracks(blocks: Iterator[Block], tally: Logs) -> tuple[list[Track], list[Table], list[int]]:
    """Load of all CPUs together between samples; the totals; the moments of the samples, in ns."""
    times: list[int] = []
    spans: list[Span] = []
    last: tuple[int, tuple[int, ...]] | None = None
    first: tuple[int, ...] | None = None
    for block in blocks:
        times.append(block.at_ns)
        ticks = _cpu_ticks(block, tally)
        if ticks is None:
            continue
        if last is not None:
            used = tuple(max(0, b - a) for a, b in zip(last[1], ticks, strict=True))
            if sum(used):
                spans.append(_cpu_span(last[0], block.at_ns, used))
        first = first or ticks
        last = (block.at_ns, ticks)
    if first is None or last is None:
        return [], [], times
    total = tuple(max(0, b - a) for a, b in zip(first, last[1], strict=True))
    rows = tuple((name, n * TICK_NS) for name, n in zip(_CPU_FIELDS, total, strict=True))
    table = Table("CPU time of all CPUs, from first sample to last", ("spent in", "ns"), rows)
    return [Track("cpu", "cpu", "CPU load, by samples", tuple(spans))], [table], times


def _cpu_ticks(block: Block, tally: Logs) -> tuple[int, ...] | None:
    found = None
    for number, line in enumerate(block.lines, block.line):
        if match := _WHOLE_CPU.fullmatch(line):
            numbers = [min(int(x), _MAX_TICKS) for x in match[1].split()][: len(_CPU_FIELDS)]
            found = (*numbers, *([0] * (len(_CPU_FIELDS) - len(numbers))))
        tally.count("proc_stat.log", number, line, match or _STAT_LINE.match(line))
    return found


def _cpu_span(start_ns: int, end_ns: int, used: tuple[int, ...]) -> Span:
    by_name = dict(zip(_CPU_FIELDS, used, strict=True))
    total = sum(used)
    waiting = 100 * by_name["iowait"] // total
    busy = 100 * (total - by_name["idle"] - by_name["iowait"]) // total
    name = f"{busy} % busy" + (f", {waiting} % waiting for storage" if waiting else "")
    return Span(start_ns, end_ns, name, {f"{k}_ns": n * TICK_NS for k, n in by_name.items() if n})


@dataclass(slots=True)
class _Disk:
    """A disk's counters at its first sample and at the last, and the stretches in which it worked."""

    first: tuple[int, ...]
    last: tuple[int, ...]
    spans: list[Span]


def disk_tracks(blocks: Iterator[Block], tally: Logs) -> tuple[list[Track], list[Table]]:
    """What each disk read and wrote between samples, and its totals."""
    disks: dict[str, _Disk] = {}
    before_ns: int | None = None
    for block in blocks:
        for number, line in enumerate(block.lines, block.line):
            match = _DISK.fullmatch(line)
            tally.count("proc_diskstats.log", number, line, match or _DISK_OLD.fullmatch(line))
            name = decode(match[1]) if match else ""
            if match and not _NO_DISK.match(name) and not _PARTITION.fullmatch(name):
                _sample(disks, name, _figures(match[2]), before_ns, block.at_ns)
        before_ns = block.at_ns
    used = {name: disk for name, disk in disks.items() if disk.last[0] or disk.last[2]}
    if not used:
        return [], []
    tracks = [
        Track(f"disk:{name}", "storage", f"{name}, by samples", tuple(disk.spans))
        for name, disk in used.items()
    ]
    columns = ("disk", "reads", "bytes read", "writes", "bytes written", "busy ns")
    rows: list[tuple[str | int | None, ...]] = [
        (name, *_change(disk.first, disk.last)) for name, disk in used.items()
    ]
    return tracks, [Table("Disks, from first sample to last", columns, tuple(rows))]


def _figures(text: bytes) -> tuple[int, ...]:
    """Reads, bytes read, writes, bytes written, busy ns: fields 1, 3, 5, 7, 10 of Linux' iostats.rst."""
    n = [int(x) for x in text.split()]
    return tuple(
        min(x, LONGEST_NS) for x in (n[0], n[2] * SECTOR_BYTES, n[4], n[6] * SECTOR_BYTES, n[9] * _MS_NS)
    )


def _sample(
    disks: dict[str, _Disk], name: str, now: tuple[int, ...], before_ns: int | None, at_ns: int
) -> None:
    disk = disks.get(name)
    if disk is None:
        disks[name] = _Disk(now, now, [])
        return
    grown = _change(disk.last, now)
    reads, bytes_read, writes, bytes_written, busy_ns = grown
    disk.last = now
    if before_ns is not None and (reads or writes or busy_ns):
        words = [f"{verb} {n >> 10} KiB" for verb, n in (("read", bytes_read), ("wrote", bytes_written)) if n]
        detail = dict(zip(_DETAIL, grown, strict=True))
        disk.spans.append(Span(before_ns, at_ns, ", ".join(words) or "busy", detail))


def _change(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """By how much counters grew; one that went back was reset and counts as 0."""
    return tuple(max(0, y - x) for x, y in zip(a, b, strict=True))
