# SPDX-License-Identifier: Apache-2.0
"""A console or kernel log of any tool, from bytes to boots: what all formats of that kind have in common."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from bootscope.loaders.console import ANY
from bootscope.readers import clock_mend, firmware_tables, journal_late, other_clocks
from bootscope.readers.base import (
    STAMPS,
    UNKNOWN,
    Boot,
    Clock,
    FormatError,
    Log,
    Miss,
    Options,
    Reading,
    Repair,
    Source,
)
from bootscope.readers.boots import Part, neutralise, parts
from bootscope.readers.convention import convention
from bootscope.readers.indent import console_lines
from bootscope.readers.journal_order import in_order
from bootscope.readers.kernel_log import describe
from bootscope.readers.known_texts import TEXTS
from bootscope.readers.lines import Lines, decode
from bootscope.readers.places import Places
from bootscope.readers.shared_rows import give_stamps
from bootscope.readers.stamp_forms import PRINTK, Columns, Form, best, read
from bootscope.timeline.kernel_lines import BEGINS

_HEAD_LINES_BYTES = 65536


@dataclass(frozen=True)
class Tool:
    """A tool that stamps console lines: its name, its forms, the most usual first.

    `known` tells of an unstamped line that it is the tool's own. `loose` says that lines without a stamp are
    lines like any other. `journal`: the tool is journald, which finds the kernel's first lines late.
    """

    name: str
    forms: Sequence[Form]
    known: Callable[[bytes], bool] = lambda line: False
    loose: bool = False
    journal: bool = False


@lru_cache(maxsize=4)
def clean_head(head: bytes) -> Lines:
    """The lines of a source's head or sample, for all readers that look at it."""
    whole = head[: head.rfind(b"\n") + 1] if len(head) >= _HEAD_LINES_BYTES else head
    return console_lines(whole or head)


_SPOKEN = re.compile(rb"^(?:" + f"{ANY}|{BEGINS}".encode() + rb")", re.MULTILINE)


def form_share(source: Source, forms: Sequence[Form]) -> tuple[Form | None, float]:
    """The form that most lines of a source have, and their share, by a sample of the whole.

    None where fewer than half have it, and boot loader and kernel speak without: whoever stamps a console
    stamps these too, so that the stamps are of a program that the board started.
    """
    form, share = best(clean_head(source.sample), forms)
    if form and share < 0.5 and not form.sparse and _SPOKEN.search(clean_head(source.head).blob):
        return None, 0.0
    return form, share


def read_console(source: Source, options: Options, tool: Tool, form: Form | None = None) -> Reading:
    """Reads a whole console log; `form` where it is known already.

    Raises FormatError when no line has a stamp of the tool.
    """
    lines = console_lines(source.data)
    form = form or _form(source, lines, tool)
    found = read(lines, form)
    lines, late = in_order(lines, found, form) if tool.journal else (lines, 0)
    if late:
        found = read(lines, form)
    if form is PRINTK:
        give_stamps(found)
    if form.pattern and len(found) and not found.dropped and 1 not in found.own:
        raise FormatError(source.name, tool.name, 1, "no line has a stamp of this tool")
    gaps = next((f for f in tool.forms if f.deltas and f.pattern == form.pattern), form)
    if not form.deltas and gaps.deltas and clock_mend.counts_gaps(found.at_ns, found.own):
        form = gaps
    result = reading(source, options, tool, form, lines, found)
    if late:
        result.repairs.append(Repair("lines that reached the journal late moved to their time", late, 1))
    return result


def _form(source: Source, lines: Lines, tool: Tool) -> Form:
    form, _ = form_share(source, tool.forms)
    if not form:
        form, _ = best(lines, tool.forms)
    if form:
        return form
    filled = next((n for n, line in enumerate(lines, 1) if line.strip()), 1)
    raise FormatError(source.name, tool.name, filled, "it has no stamp of this tool")


def reading(
    source: Source, options: Options, tool: Tool, form: Form, lines: Lines, found: Columns
) -> Reading:
    """Boots and counts of lines that are in columns already."""
    result = Reading([], repairs=list(lines.repairs))
    line_of = _numbers(lines, found) if found.dropped else range(1, len(found) + 1)
    _count(result, tool, form, lines, found, line_of)
    cut = parts(found)
    again = neutralise(found, cut.repeats)
    if again:
        what = "kernel lines printed again (dmesg), kernel stamps ignored"
        result.repairs.append(Repair(what, again, line_of[cut.repeats[0].end]))
    if len(cut.boots) > 1:
        what = f"{len(cut.boots)} boots in one file, read separately"
        result.repairs.append(Repair(what, len(cut.boots) - 1, line_of[cut.boots[1].first]))
    places = Places(found.blob, TEXTS)
    for part in cut.boots:
        if form is PRINTK:
            result.repairs += other_clocks.forget(found, part, line_of[part.first] if len(found) else 1)
        if tool.journal and form.pattern:
            result.repairs += journal_late.forget(found, form, part, line_of[part.first])
        if form.deltas:
            result.repairs += clock_mend.sum_gaps(found, form, part.first, part.end, line_of)
        clock_mend.lead(found.at_ns, found.own, part.first, part.end)
        result.repairs += clock_mend.mend(found, form, part.first, part.end, line_of)
        if form.repeats_kernel and form.pattern and form.clock.name == "kernel":
            _same_clock(found, part)
        result.boots.append(_boot(found, places, form, part, options, tool))
    _ask(result, options)
    return result


def _numbers(lines: Lines, found: Columns) -> array[int]:
    """The number in the file of each line, where some lines are none of the console's."""
    number = {start: n for n, start in enumerate(lines.starts, 1)}
    result = array("q")
    last = 1
    for start in found.starts:
        last = number.get(start, last)
        result.append(last)
    return result


def _same_clock(found: Columns, part: Part) -> None:
    """The stamps of a spelling other than printk's are the kernel's own."""
    for index in range(part.first, part.end):
        if found.own[index]:
            found.kernel_ns[index] = found.at_ns[index]


def _boot(found: Columns, places: Places, form: Form, part: Part, options: Options, tool: Tool) -> Boot:
    a, b = part.first, part.end
    whole = (a, b) == (0, len(found))
    columns = (found.starts, found.ends, found.at_ns, found.level, found.kernel_ns)
    starts, ends, at_ns, level, kernel_ns = columns if whole else [c[a:b] for c in columns]
    # A stamp on a line of its own is that of all lines until the next.
    own = bytearray(b"\1") * (b - a) if form.sparse else found.own[a:b]
    log = Log.of_columns(found.blob, starts, ends, at_ns, level, kernel_ns, own, places)
    boot = Boot(form.clock, log)
    boot.clock = _clock(boot, options)
    boot.facts["tool"] = f"{tool.name} {form.name}".removesuffix(tool.name).removesuffix("printk").strip()
    describe(boot, found, part, form.repeats_kernel)
    boot.tables += firmware_tables.tables(boot.log, options)
    return boot


def _clock(boot: Boot, options: Options) -> Clock:
    """The clock with what its stamps mean: as told by the user, by the lines themselves, by the tool."""
    if boot.clock.name in ("kernel", "none"):
        return boot.clock
    if options.stamp in STAMPS:
        return replace(boot.clock, stamp=options.stamp)
    if boot.clock.stamp == UNKNOWN:
        return replace(boot.clock, stamp=convention(boot.log) or UNKNOWN)
    return boot.clock


def _ask(result: Reading, options: Options) -> None:
    if options.stamp is None and any(b.clock.stamp == UNKNOWN for b in result.boots):
        result.questions.append(
            "the stamps' moment is unknown: give --stamp first-byte, end-of-line or previous-newline"
        )


def _count(
    result: Reading, tool: Tool, form: Form, lines: Lines, found: Columns, line_of: Sequence[int]
) -> None:
    """Counts lines; those without a stamp are missed unless the form leaves them out."""
    result.lines_total = len(found) + found.dropped
    result.lines_understood = found.dropped
    unstamped = first = 0
    keep = tool.loose or form.sparse or not form.pattern
    for index in (m.start() for m in re.finditer(b"\0", found.own)):
        raw = found.blob[found.starts[index] : found.ends[index]]
        if not raw.strip():
            result.lines_empty += 1
        elif tool.known(raw):
            result.lines_understood += 1
        else:
            unstamped += 1
            first = first or line_of[index]
            if keep:
                result.lines_understood += 1
            else:
                result.missed.append(Miss(line_of[index], decode(raw)))
    result.lines_understood += sum(found.own)
    if unstamped and form.clock.name != "none" and not form.sparse:
        result.repairs.append(Repair("lines without a stamp got that of the line before", unstamped, first))


def kernel_reading(data: bytes) -> Reading:
    """Reads the text of `dmesg` in another file; a reading without a boot where there is nothing to read."""
    if not data.strip():
        return Reading([])
    try:
        return read_console(Source("dmesg", data), Options(), Tool("dmesg", (PRINTK,)), PRINTK)
    except FormatError:
        return Reading([])


def add_kernel(boot: Boot, kernel: Boot) -> None:
    """Puts what a kernel log told into `boot`, which is on the kernel's clock too."""
    boot.log = kernel.log
    boot.tracks += kernel.tracks
    boot.points += kernel.points
    for name, value in kernel.facts.items():
        if name != "tool":
            boot.facts.setdefault(name, value)
