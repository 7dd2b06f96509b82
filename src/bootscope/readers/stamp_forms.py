# SPDX-License-Identifier: Apache-2.0
"""Stamps before console lines: how tools write them, and all lines of a file read in one go."""

from __future__ import annotations

import calendar
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, compress, islice

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
_AT_ONCE = 500
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


def _line_pattern(form: Form) -> re.Pattern[bytes]:
    """Any line: level, seconds and fraction of the host's stamp; the same of the kernel's; an empty group
    where the text begins, before the kernel's stamp or behind it; notable words."""
    words = _CALLER + _NOTABLE + rb"[^\n]*\n"
    if not form.pattern:
        return re.compile(rb"()()()" + _KERNEL + rb"()" + words)
    return re.compile(rb"(?:(?:<(\d{1,3})>)?" + form.pattern + rb")?()" + _KERNEL + words)


def _whole_ns(form: Form, raw: bytes) -> int:
    """The whole seconds of a stamp in ns; NO_STAMP where there are none, or no such time."""
    seconds = form.seconds(raw) if raw else None
    return NO_STAMP if seconds is None or seconds > _LATEST_S else seconds * NS


def _level(raw: bytes) -> int:
    return int(raw) & 7 if raw else -1


def read(lines: Lines, form: Form) -> Columns:
    """All lines, stamped as `form` says.

    The text of a line keeps the kernel's stamp when another clock stamped the line.
    """
    found = Columns(lines.blob)
    pattern, hosted = _line_pattern(form), bool(form.pattern)
    matches = pattern.finditer(lines.blob)
    whole_ns, levels = Memo(partial(_whole_ns, form)), Memo(_level)
    now_ns = 0
    # Some hundred lines column by column, which takes less than all columns line by line.
    while some := list(islice(matches, _AT_ONCE)):
        columns = zip(*[match.groups(b"") for match in some], strict=True)
        if hosted:
            early, whole, part, _, level, kernel_s, kernel_us, notable = columns
            level = tuple([a or b for a, b in zip(level, early, strict=True)])
        else:
            _, whole, part, level, kernel_s, kernel_us, _, notable = columns
        kernel_ns = [int(s + us) * 1000 if s else NO_STAMP for s, us in zip(kernel_s, kernel_us, strict=True)]
        stamps = kernel_ns
        if hosted:
            stamps = [
                ns if (ns := whole_ns[w]) < 0 or not p else ns + int(p) * _FRACTION_NS[len(p)]
                for w, p in zip(whole, part, strict=True)
            ]
        for index in compress(range(len(some)), notable):
            found.notable.append(len(found) + index)
            found.words.append(some[index].start(pattern.groups))
        found.starts.extend(_starts(some, whole, stamps) if hosted else [match.start(7) for match in some])
        found.ends.extend([match.end() - 1 for match in some])
        found.at_ns.extend([now_ns := ns if ns >= 0 else now_ns for ns in stamps])
        found.level.extend([levels[raw] for raw in level])
        found.kernel_ns.extend(kernel_ns)
        found.own += bytes(map(NO_STAMP.__lt__, stamps))
    return _without_stamp_lines(found) if form.sparse else found


def _starts(some: list[re.Match[bytes]], whole: Sequence[bytes], stamps: list[int]) -> list[int]:
    """Where the texts begin: behind the host's stamp. What looks like one and is no time is text."""
    starts = [match.start(4) for match in some]
    if NO_STAMP in stamps:
        for index in compress(range(len(some)), whole):
            if stamps[index] < 0:
                starts[index] = some[index].start()
    return starts


def _without_stamp_lines(found: Columns) -> Columns:
    """Takes out the lines that hold a stamp for those that follow and nothing else; the lines before the
    first have its time."""
    first = found.own.find(1)
    if first < 0:
        return found
    found.at_ns[:first] = array("q", [found.at_ns[first]]) * first
    text = [not own for own in found.own]
    place = list(accumulate(text, initial=0))
    rest = Columns(found.blob, dropped=len(text) - place[-1], own=bytearray(place[-1]))
    for column, kept in ((found.starts, rest.starts), (found.ends, rest.ends), (found.at_ns, rest.at_ns)):
        kept.extend(compress(column, text))
    rest.level.extend(compress(found.level, text))
    rest.kernel_ns.extend(compress(found.kernel_ns, text))
    for index, words in zip(found.notable, found.words, strict=True):
        if text[index]:
            rest.notable.append(place[index])
            rest.words.append(words)
    return rest


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
