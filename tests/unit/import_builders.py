# SPDX-License-Identifier: Apache-2.0
"""Readings built by hand, and a reader of a format that is as simple as can be."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

from bootscope.readers.base import (
    FIRST_BYTE,
    WHEN_LOGGED,
    Boot,
    Clock,
    FormatError,
    Log,
    Miss,
    Options,
    Reader,
    Reading,
    Repair,
    Source,
)
from bootscope.readers.join import File
from bootscope.readers.markers import split_line

MS, S = 1_000_000, 1_000_000_000
HOST = Clock("host", "first byte received", 1_000, FIRST_BYTE)
KERNEL = Clock("kernel", "when the kernel's clock began", 1_000, WHEN_LOGGED)
LOG = b"""stamped log
0.000 U-Boot 2025.01 (x)
1.500 Starting kernel ...
1.750 [    0.100000] hello \x1b[31m [red]world[/red]
2.000 [    0.350000] Run /sbin/init as init process
what is this?

4.000 board login:"""


def boot(clock: Clock, lines: Iterable[tuple[int, str]]) -> Boot:
    """A boot of lines."""
    log = Log()
    for at_ns, text in lines:
        kernel_ns, words = split_line(text)
        if clock.name == "kernel":
            kernel_ns = at_ns
        log.add(at_ns, words if kernel_ns >= 0 else text, kernel_ns=kernel_ns)
    return Boot(clock, log)


def file(name: str, reader: str, *boots: Boot) -> File:
    """A file that was read."""
    return File(name, reader, Reading(list(boots)))


def kernel_lines(seed: int = 1, count: int = 200) -> list[tuple[int, str]]:
    """What a kernel said in 3 s: its stamps, whole µs, and words."""
    rng = random.Random(seed)
    stamps = sorted(rng.sample(range(1, 3_000_000), count))
    said = [
        (0, "Booting Linux on physical CPU 0x0"),
        *((at * 1000, f"driver{n}: registered") for n, at in enumerate(stamps)),
    ]
    return [*said, (3 * S, "Run /sbin/init as init process"), (3 * S + 100 * MS, "random: crng init done")]


def on_console(
    said: Iterable[tuple[int, str]], offset_ns: int, *, stamps: bool, ppm: int = 0, seed: int = 5
) -> list[tuple[int, str]]:
    """The same as a host saw it, after a boot loader; with the kernel's stamps in the lines or without."""
    rng = random.Random(seed)
    lines = [(0, "U-Boot SPL 2025.01 (Jan 01 2025)"), (100 * MS, "U-Boot 2025.01 (Jan 01 2025)")]
    lines.append((offset_ns - 300 * MS, "Starting kernel ..."))
    for at_ns, words in said:
        seen_ns = offset_ns + at_ns + at_ns * ppm // 1_000_000 + rng.randrange(400_000)
        # The console starts 200 ms after the kernel: what came before arrives then.
        seen_ns = max(seen_ns, offset_ns + 200 * MS)
        text = f"[{at_ns // S:5}.{at_ns % S // 1000:06}] {words}" if stamps else words
        lines.append((seen_ns, text))
    return [*lines, (offset_ns + 5 * S, "board login: ")]


_LINE = re.compile(rb"(-?\d{1,9})\.(\d{3}) (.*)")


def _sure(source: Source) -> int:
    return 80 if source.data.startswith(b"stamped log\n") else 0


def _read(source: Source, options: Options) -> Reading:
    first, *lines = source.data.split(b"\n")
    if first != b"stamped log":
        raise FormatError(source.name, "stamped", 1, "it is not 'stamped log'")
    clock = Clock(options.values.get("clock", "host"), "power on", MS, options.stamp or FIRST_BYTE)
    reading = Reading([Boot(clock)], lines_total=len(lines) + 1, lines_understood=1)
    for number, line in enumerate(lines, 2):
        match = _LINE.fullmatch(line)
        if line == b"again":
            reading.boots.append(Boot(clock))
            reading.lines_understood += 1
        elif match:
            reading.boots[-1].log.add(
                int(match[1]) * S + int(match[2]) * MS, match[3].decode("utf-8", "backslashreplace")
            )
            reading.lines_understood += 1
        elif line:
            reading.missed.append(Miss(number, line.decode("utf-8", "backslashreplace")))
        else:
            reading.lines_empty += 1
    if "clock" not in options.values and len(reading.boots) > 1:
        reading.repairs.append(Repair("the clock began again", 1, 2))
    reading.questions.append("which clock is it? --option clock=host or clock=kernel")
    return reading


STAMPED = Reader("stamped", "a log for tests", "echo", _sure, _read)
OTHER = Reader("other", "like stamped", "echo", lambda s: _sure(s) // 2, _read)
