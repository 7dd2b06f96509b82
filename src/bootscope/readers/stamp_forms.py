# SPDX-License-Identifier: Apache-2.0
"""Stamps before console lines: how tools write them, and all lines of a file read in one go."""

from __future__ import annotations

import calendar
import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bootscope.loaders.console import ANY
from bootscope.readers.base import FIRST_BYTE, KERNEL, NO_STAMP, Clock
from bootscope.readers.lines import Lines, Memo
from bootscope.readers.months import MONTHS
from bootscope.timeline.kernel_lines import CALLER

NS = 1_000_000_000
DAY_NS = 86_400 * NS
_LATEST_S = 8_000_000_000
LATEST_NS = _LATEST_S * NS
"""No stamp is later: all times fit 64 bits with room to add."""
_FRACTION_NS = [10 ** (9 - digits) for digits in range(10)]

# What printk puts before its text: level, seconds and microseconds, and who called it. The width is bounded
# so that no line costs more than its length.
# Amlogic's kernels put the CPU behind it (`[    0.000000@0]`).
KERNEL_STAMP = rb"\[ {0,11}(\d{1,9})\.(\d{6})(?:@\d{1,3})?\]"
# As current kernels write it: at least five places before the point.
STRICT_KERNEL_STAMP = rb"\[([ \d]{4}\d|\d{6,9})\.(\d{6})(?:@\d{1,3})?\]"
_LEVEL = rb"(?:<\d{1,3}>)?"
_KERNEL = rb"(?:<(\d{1,3})>)?(?:" + KERNEL_STAMP + rb" ?)?"
_CALLER = CALLER.encode()
# Beginnings of the lines that a closer look pays for.
_NOTABLE = (
    rb"(calling  |initcall |probe of |entering initcall level|Run /|Freeing unused |Freeing init |"
    rb"VFS: Mounted |Linux version |Booting Linux on |Kernel command line: |OF: fdt: Machine model: |"
    rb"Machine model: |Starting kernel |" + ANY.encode() + rb")?"
)
WORDS = re.compile(_CALLER + _NOTABLE)
"""What may follow a stamp of the kernel; the group is there when the line is worth a closer look."""


def decimal_s(text: bytes) -> int | None:
    """Whole seconds of ``12`` or ``  12``, or None when blanks stand between the digits."""
    return int(text) if text.lstrip(b" ").isdigit() else None


def clock_s(text: bytes) -> int | None:
    """Seconds of ``HH:MM:SS`` since midnight, or None when there is no such time."""
    hours, minutes, seconds = int(text[:2]), int(text[3:5]), int(text[6:8])
    if hours > 23 or minutes > 59 or seconds > 60:
        return None
    return hours * 3600 + minutes * 60 + seconds


def date_s(text: bytes) -> int | None:
    """Seconds of ``YYYY-MM-DD HH:MM:SS`` (or with T) since 1970, without regard to time zones."""
    return epoch_s(int(text[:4]), int(text[5:7]), int(text[8:10]), text[11:19])


def epoch_s(year: int, month: int, day: int, time: bytes) -> int | None:
    """Seconds from 1970 to a date and an ``HH:MM:SS``, or None when there is no such day."""
    seconds = clock_s(time)
    if seconds is None or not 1 <= month <= 12 or year < 1970:
        return None
    if not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return calendar.timegm((year, month, day, 0, 0, 0)) + seconds


def month_s(text: bytes) -> int | None:
    """Seconds of ``Nov 21 11:02:03`` or ``Nov 21 11:02:03 2026``; with no year 2000 is taken, a leap year."""
    name, _, rest = text.partition(b" ")
    month = MONTHS.get(name)
    return epoch_s(int(rest[12:] or 2000), month, int(rest[:2]), rest[3:11]) if month else None


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a tool stamps lines.

    `pattern` matches a stamp with what follows it up to the text; its two groups are the whole seconds,
    read by `seconds`, and the digits of the fraction (which may be empty or missing).
    """

    name: str
    pattern: bytes
    clock: Clock
    seconds: Callable[[bytes], int | None] = decimal_s
    deltas: bool = False
    """Stamps count from the line before."""
    wrap_ns: int = 0
    """Stamps start again at 0 after so long."""
    restarts: bool = False
    """Stamps may start again at 0, and then count from the line before."""
    sparse: bool = False
    """A stamp stands on a line of its own and holds for the lines that follow."""
    repeats_kernel: bool = False
    """The stamp is the kernel's own, as printk wrote it or spelled otherwise."""
    records: bool = False
    """Each line is a record of the program that it names, with that program's time: not all are in order."""

    def at_line_start(self) -> re.Pattern[bytes]:
        """The pattern where a line begins."""
        return re.compile(rb"^" + _LEVEL + self.pattern, re.MULTILINE)


PLAIN = Form("plain", b"", Clock("none", "nothing: the lines have no stamps", 0))
PRINTK = Form("printk", b"", KERNEL, repeats_kernel=True)


@dataclass
class Columns:
    """Lines of a file in columns: line `i` (file line ``numbers[i]``) is ``blob[starts[i]:ends[i]]``.

    `own[i]` is 1 where the line has a stamp of its own. `notable` are the lines worth a closer look,
    and `words` where their words begin, after everything that printk put before them.
    """

    blob: bytes
    starts: array[int] = field(default_factory=lambda: array("q"))
    ends: array[int] = field(default_factory=lambda: array("q"))
    at_ns: array[int] = field(default_factory=lambda: array("q"))
    level: array[int] = field(default_factory=lambda: array("b"))
    kernel_ns: array[int] = field(default_factory=lambda: array("q"))
    own: bytearray = field(default_factory=bytearray)
    notable: array[int] = field(default_factory=lambda: array("q"))
    words: array[int] = field(default_factory=lambda: array("q"))
    dropped: int = 0
    """Lines that held a stamp and nothing else."""

    def __len__(self) -> int:
        return len(self.at_ns)


def _line_pattern(form: Form, between: bytes) -> re.Pattern[bytes]:
    host = rb"(?:(?:<(\d{1,3})>)?" + form.pattern + rb")?" if form.pattern else rb"()()()"
    return re.compile(host + rb"()" + between + _KERNEL + rb"()" + _CALLER + _NOTABLE + rb"[^\n]*\n")


def read(lines: Lines, form: Form, between: bytes = b"") -> Columns:
    """All lines, stamped as `form` says; `between` matches what stands between stamp and kernel stamp.

    The text of a line keeps the kernel's stamp when another clock stamped the line.
    """
    found = Columns(lines.blob)
    seconds = Memo(form.seconds)  # stamps of one second are many
    pattern = _line_pattern(form, between)
    now_ns = 0
    cut = 4 if form.pattern else 8
    add_start, add_end, add_at = found.starts.append, found.ends.append, found.at_ns.append
    add_level, add_kernel, add_own = found.level.append, found.kernel_ns.append, found.own.append
    fractions, ns = _FRACTION_NS, NS
    for match in pattern.finditer(lines.blob):
        early, whole, fraction, _, level, kernel_s, kernel_us, _, notable = match.groups()
        kernel_ns = int(kernel_s + kernel_us) * 1000 if kernel_s is not None else NO_STAMP
        start = match.start(cut)
        own = 0
        if whole:
            second = seconds[whole]
            if second is None or second > _LATEST_S:
                start = match.start()
            else:
                own = 1
                now_ns = second * ns + (int(fraction) * fractions[len(fraction)] if fraction else 0)
                if form.sparse:
                    if not found.dropped:
                        found.at_ns = array("q", [now_ns]) * len(found.at_ns)
                        add_at = found.at_ns.append
                    found.dropped += 1
                    continue
        elif cut == 8 and kernel_ns >= 0:
            own, now_ns = 1, kernel_ns
        if notable is not None:
            found.notable.append(len(found.at_ns))
            found.words.append(match.start(9))
        add_start(start)
        add_end(match.end() - 1)
        add_at(now_ns)
        level = level or early
        add_level(int(level) & 7 if level else -1)
        add_kernel(kernel_ns)
        add_own(own)
    return found


def filled(blob: bytes) -> int:
    """How many lines are not empty."""
    return len(re.findall(rb"^.*\S", blob, re.MULTILINE))


def best(head: Lines, forms: Iterable[Form]) -> tuple[Form | None, float]:
    """The form that most lines of `head` have, and their share of the lines that are not empty; the first
    of several alike."""
    counts = ((form, len(form.at_line_start().findall(head.blob))) for form in forms)
    form, most = max(counts, key=lambda item: item[1], default=(None, 0))
    return (form, most / filled(head.blob)) if most else (None, 0.0)


def clock_of(name: str, zero: str, digits: int, stamp: str = FIRST_BYTE) -> Clock:
    """A clock whose stamps have so many digits after the point."""
    return Clock(name, zero, 10 ** (9 - digits), stamp)
