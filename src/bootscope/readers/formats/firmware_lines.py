# SPDX-License-Identifier: Apache-2.0
"""Firmware that prints its stages as lines: Slim Bootloader's table, TI's boot tracker in the kernel log."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from bootscope.readers.base import Boot, Clock, FormatError, Options, Reader, Reading, Source
from bootscope.readers.marks import place_marks
from bootscope.readers.tally import Tally, sample, share

SLIM, TRACKER = "slim-bootloader", "ti-boot-tracker"
_SLIM_ROW = re.compile(r" {0,8}([0-9A-Fa-f]{1,5}) \| {1,10}(\d{1,9}) ms \| {1,10}(\d{1,9}) ms \| ?(.{0,120})")
_SLIM_AROUND = re.compile(
    r" {0,8}Id +\| Time \(ms\) +\| Delta \(ms\) \| Description *| {0,8}-{2,8}(?:\+-{4,60}){3}"
)
_TRACKED = re.compile(r"(?:.{0,80}?)\[BOOT TRACKER\] ?-? ?ID: ?(\d{1,9}), ?([^=]{1,80}?) ?= ?(\d{1,15})\s*")
_FITS = re.compile(
    rb" {0,8}[0-9A-Fa-f]{1,5} \| {1,10}\d{1,9} ms \| |.{0,80}\[BOOT TRACKER\]"
    rb"| {0,8}Id +\| Time \(ms\)| {0,8}--+\+--"
)

Marks = list[tuple[int, str]]


def _slim(line: str, marks: Marks) -> bool:
    row = _SLIM_ROW.fullmatch(line)
    if row:
        marks.append((int(row[2]) * 1_000_000, row[4].strip() or f"id {row[1]}"))
    return bool(row or _SLIM_AROUND.fullmatch(line))


def _tracked(line: str, marks: Marks) -> bool:
    found = _TRACKED.fullmatch(line)
    if found:
        marks.append((int(found[3]) * 1_000, found[2].strip()))
    return bool(found)


def _read(source: Source, name: str, take: Callable[[str, Marks], bool], title: str, clock: Clock) -> Reading:
    tally = Tally()
    marks: Marks = []
    repairs = tally.lines(
        source, name, f"output of {title}", lambda _, line: len(line) < 400 and take(line, marks)
    )
    if not marks:
        raise FormatError(source.name, name, 1, "there is no stage in it")
    boot = Boot(clock, facts={"firmware": title})
    place_marks(boot, sorted(marks, key=lambda mark: mark[0]), name, title, tally)
    return tally.reading([boot], repairs)


def _read_slim(source: Source, _options: Options) -> Reading:
    clock = Clock("counter", "the counter's zero, near the reset", 1_000_000)
    return _read(source, SLIM, _slim, "Slim Bootloader", clock)


def _read_tracker(source: Source, options: Options) -> Reading:
    counter = options.values.get("counter_id", "")
    clock = Clock("counter", "the zero of the board's timer", 1_000, counter_id=counter)
    return _read(source, TRACKER, _tracked, "TI's boot tracker", clock)


def _sure(source: Source, sign: bytes) -> int:
    return max(12, share(sample(source), _FITS) * 95 // 100) if sign in source.head else 0


READERS = (
    Reader(
        SLIM,
        "stages of Slim Bootloader",
        "perf (in OsLoader's shell)",
        partial(_sure, sign=b"| Delta (ms) | Description"),
        _read_slim,
    ),
    Reader(
        TRACKER, "stages of TI's boot tracker", "dmesg", partial(_sure, sign=b"[BOOT TRACKER]"), _read_tracker
    ),
)
