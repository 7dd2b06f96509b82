# SPDX-License-Identifier: Apache-2.0
"""Android's boot properties: when init started each service, and how long the boot loader's stages took."""

from __future__ import annotations

import re

from bootscope.readers.base import Boot, Clock, Options, Reader, Reading, Source
from bootscope.readers.lines import split
from bootscope.readers.tally import Tally, sample, share
from bootscope.readers.timespan import LONGEST_NS
from bootscope.timeline.trace import Point, Table

NAME = "android-getprop"
_MS_NS = 1_000_000
_LINE = re.compile(rb"\[[^\]\n]{1,200}\]: \[")
_PROPERTY = re.compile(r"\[([^\]]{1,200})\]: \[(.*)\]?", re.DOTALL)
_STARTED = re.compile(r"ro\.boottime\.(.{1,200})")
_STAGE = re.compile(r"([A-Za-z0-9_]{1,20}):(\d{1,12})", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)
_FACTS = {
    "ro.product.model": "machine",
    "ro.build.fingerprint": "distribution",
    "ro.bootloader": "boot loader",
    "ro.kernel.version": "kernel",
    "ro.boot.bootreason": "boot reason",
}


def sure(source: Source) -> int:
    likely = share(sample(source), _LINE)
    # The whole file is searched only where its beginning may be one.
    timed = likely and (b"[ro.boottime." in source.data or b"[ro.boot.boottime]" in source.data)
    return likely if timed else 0


def read(source: Source, options: Options) -> Reading:
    lines, tally = split(source.data), Tally()
    boot = Boot(Clock("kernel", "when the kernel's clock began (it counts on in sleep)", 1))
    durations: list[tuple[str | int | None, ...]] = []
    inside = False
    for number, text in enumerate(lines, 1):
        match = _PROPERTY.fullmatch(text)
        if match:
            _take(boot, match[1], match[2].removesuffix("]"), durations)
        # A value may have several lines, such as a certificate.
        understood = bool(match) or inside
        inside = understood and not text.endswith("]")
        tally.line(number, text, understood)
    tally.require(source, NAME, lines, "output of getprop")
    if durations:
        boot.tables.append(Table("What init measured, in its own units", ("of", "value"), tuple(durations)))
    return tally.reading([boot], lines.repairs)


def _take(boot: Boot, name: str, value: str, durations: list[tuple[str | int | None, ...]]) -> None:
    if name in _FACTS and value:
        boot.facts.setdefault(_FACTS[name], value)
    elif name == "ro.boot.boottime":
        stages = tuple((m[1], int(m[2]) * _MS_NS) for m in _STAGE.finditer(value))
        if stages:
            boot.tables.append(Table("Stages of the boot loader", ("stage", "ns"), stages))
    elif (match := _STARTED.fullmatch(name)) and _NUMBER.fullmatch(value):
        # ro.boottime.init.X are durations, in ms or ns by the version of Android; the rest are moments in ns.
        if match[1].startswith("init."):
            durations.append((match[1], int(value)))
        elif int(value) <= LONGEST_NS:
            kind = "milestone" if match[1] == "init" else "mark"
            boot.points.append(
                Point(int(value), match[1] if kind == "milestone" else f"start {match[1]}", kind)
            )


READERS = (Reader(NAME, "Android's boot properties", "adb shell getprop", sure, read),)
