# SPDX-License-Identifier: Apache-2.0
"""Stamps before console lines: how tools write them, and all lines of a file read in one go."""

from __future__ import annotations

import calendar
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, compress, repeat
from operator import add

from bootscope.loaders.console import ANY
from bootscope.readers.base import FIRST_BYTE, KERNEL, NO_STAMP, Clock
from bootscope.readers.line_blocks import blocks
from bootscope.readers.lines import Lines, Memo
from bootscope.readers.months import MONTHS
from bootscope.readers.ubi_attach import NOTED as UBI
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
_NOTED = (
    rb"(?:calling  |initcall |probe of |entering initcall level|Run /|Freeing unused |Freeing init |"
    rb"VFS: Mounted |Linux version |Booting Linux on |Kernel command line: |OF: fdt: Machine model: |"
    rb"Machine model: |Starting kernel |" + UBI + rb"|" + ANY.encode() + rb")"
)
_NOTABLE = rb"(" + _NOTED + rb")?"
_WORDS_OF_LINE = re.compile(_CALLER + rb"(?:(" + _NOTED + rb"[^\n]*)|[^\n]*)\n")
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
RECORDS = replace(PRINTK)
"""The lines of records that tell the time on the kernel's clock: no stamp can be of another one."""


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
    """Any line: level, seconds and fraction of the host's stamp; the text behind it, or behind the kernel's
    stamp; of that level, seconds and microseconds; the text from notable words on."""
    words = _CALLER + rb"(?:(" + _NOTED + rb"[^\n]*)|[^\n]*)"
    if not form.pattern:
        return re.compile(rb"()()()" + _KERNEL + rb"(?=([^\n]*))" + words + rb"\n")
    return re.compile(rb"(?:(?:<(\d{1,3})>)?" + form.pattern + rb")?(" + _KERNEL + words + rb")\n")


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
    whole_ns, levels = Memo(partial(_whole_ns, form)), Memo(_level)
    begin = now_ns = 0
    # Some thousand lines column by column, which takes less than all columns line by line.
    for block in blocks(lines.blob):
        columns = zip(*pattern.findall(block), strict=True)
        if hosted:
            early, whole, part, text, level, kernel_s, kernel_us, notable = columns
            level = tuple([a or b for a, b in zip(level, early, strict=True)]) if any(early) else level
        else:
            _, _, _, level, kernel_s, kernel_us, text, notable = columns
        kernel_ns = _kernel_ns(kernel_s, kernel_us)
        stamps = _host_ns(list(map(whole_ns.__getitem__, whole)), part) if hosted else kernel_ns
        ends = _ends(found, block, begin, notable)
        starts = [end - len(one) for end, one in zip(ends[1:], text, strict=True)]
        if hosted and NO_STAMP in stamps:
            # What looks like a stamp and is no time is text.
            starts = [a if ns >= 0 else end + 1 for a, ns, end in zip(starts, stamps, ends[:-1], strict=True)]
        found.starts.extend(starts)
        if NO_STAMP in stamps:
            found.own += bytes(map(NO_STAMP.__lt__, stamps))
            stamps = [now_ns := ns if ns >= 0 else now_ns for ns in stamps]
        else:
            found.own += b"\1" * len(stamps)
        found.at_ns.extend(stamps)
        now_ns = stamps[-1]
        found.level.extend([levels[raw] for raw in level] if any(level) else repeat(-1, len(level)))
        found.kernel_ns.extend(kernel_ns)
        begin += len(block)
    return _without_stamp_lines(found) if form.sparse else found


def _kernel_ns(seconds: Sequence[bytes], micros: Sequence[bytes]) -> list[int]:
    if b"" in seconds:
        return [int(s + us) * 1000 if s else NO_STAMP for s, us in zip(seconds, micros, strict=True)]
    return [us * 1000 for us in map(int, map(add, seconds, micros))]


def _host_ns(whole_ns: Sequence[int], part: Sequence[bytes]) -> list[int]:
    """Times of stamps, of which these are the whole seconds in ns, and the digits behind the point."""
    digits = len(part[0])
    if NO_STAMP not in whole_ns and digits and all([len(one) == digits for one in part]):
        unit_ns = _FRACTION_NS[digits]
        return [ns + more * unit_ns for ns, more in zip(whole_ns, map(int, part), strict=True)]
    return [
        ns if ns < 0 or not one else ns + int(one) * _FRACTION_NS[len(one)]
        for ns, one in zip(whole_ns, part, strict=True)
    ]


def _ends(found: Columns, block: bytes, begin: int, notable: Sequence[bytes]) -> list[int]:
    """Takes the ends of the lines of `block`, which begins at `begin`, and the places of their `notable`
    words into `found`; returns where each line ends, before them where the line before did."""
    ends = list(accumulate([len(line) + 1 for line in block.split(b"\n")], initial=begin - 1))
    # What stands behind the last end is no line.
    ends.pop()
    told = list(compress(range(len(notable)), notable))
    first = len(found.ends)
    found.notable.extend([first + index for index in told])
    found.words.extend([ends[index + 1] - len(notable[index]) for index in told])
    found.ends.extend(ends[1:])
    return ends


def at_kernel_times(lines: Lines, at_us: Iterable[int], levels: Iterable[str]) -> Columns:
    """All lines, of which the times on the kernel's clock are known, and what printk would write before them
    to tell their levels (nothing for none): what :func:`read` finds where both stand there."""
    found = Columns(lines.blob)
    begin = 0
    for block in blocks(lines.blob):
        ends = _ends(found, block, begin, _WORDS_OF_LINE.findall(block))
        found.starts.extend([end + 1 for end in ends[:-1]])
        begin += len(block)
    found.at_ns.extend(map((1000).__mul__, at_us))
    found.kernel_ns = found.at_ns[:]
    known: Memo[str, int] = Memo(lambda level: _level(level.strip("<>").encode()))
    found.level.extend(map(known.__getitem__, levels))
    found.own = bytearray(b"\1") * len(found.starts)
    return found


def at_host_times(lines: Lines, at_ns: array[int]) -> Columns:
    """All lines, of which these are the times by a host (NO_STAMP: none): what :func:`read` finds where its
    stamps stand before the lines."""
    found = read(lines, PLAIN)
    found.starts = array("q", [end + 1 for end in (-1, *found.ends[:-1])][: len(found)])
    found.own = bytearray(map(NO_STAMP.__lt__, at_ns))
    now_ns = 0
    found.at_ns = array("q", [now_ns := ns if ns >= 0 else now_ns for ns in at_ns])
    return found


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
