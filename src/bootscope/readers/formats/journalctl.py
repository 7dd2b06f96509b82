# SPDX-License-Identifier: Apache-2.0
"""journalctl's output: short forms, JSON, export, verbose (systemd's src/shared/logs-show.c).

The structured forms hold the monotonic time of every record, which is the clock of the kernel's own stamps
(``<6>[    1.234567] text``); boots are told apart by their ids. The short forms with a calendar
keep that as their clock.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain

from bootscope.readers.base import KERNEL, WHEN_LOGGED, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import Tool, clean_head, read_console, reading
from bootscope.readers.journal_fields import Fields, decoder, fields_of, lines_of
from bootscope.readers.journal_order import Records, Written
from bootscope.readers.journal_records import VERBOSE, exported, verbose
from bootscope.readers.json_objects import structs
from bootscope.readers.lines import Lines, split
from bootscope.readers.months import OTHERS
from bootscope.readers.stamp_forms import (
    PRINTK,
    RECORDS,
    STRICT_KERNEL_STAMP,
    Form,
    at_kernel_times,
    best,
    clock_of,
    date_s,
    month_s,
)
from bootscope.timeline.kernel_lines import BEGINS, INIT

# The host, then who said it: `kernel: `, `systemd[1]: `.
# BusyBox' syslogd puts facility and level between the two (sysklogd/syslogd.c).
_FACILITY = (
    rb"(?:(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d)"
    rb"\.(?:emerg|alert|crit|err|warn|notice|info|debug) )?"
)
# sysklogd's own words have no tag, or one with a blank.
_TAG = rb"[^\s\[\]]{1,255}(?:\[\d{1,10}\])?: |syslogd \d|exiting on signal \d"
_WHO = rb"(?:[^\s\[\]:]{1,64} )?" + _FACILITY + rb"(?=" + _TAG + rb")(?:kernel: )?"
_SAID = rb"(?:([^\s\[\]:]{1,64}) )?" + _FACILITY + rb"([^\s\[\]]{1,255}?)(\[\d{1,10}\])?: "
_DATE = rb"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)"
_MONTH = rb"((?:[A-Z][a-z]{2}|" + OTHERS + rb") [ \d]\d \d\d:\d\d:\d\d)"
_ZONE = rb"(?:Z|[+-]\d\d:?\d\d| [A-Z]{2,5}| [+-]\d\d)"


_wall = partial(clock_of, "wall", stamp=WHEN_LOGGED)
_YEAR = "the first of January of an unknown year"
_LOCAL = "1970, by the reader's time zone"
# The first line of a boot has no gap; one that is not sure has a star.
_DELTA = rb"\[([ \d]{4}\d|\d{6,9})\.(\d{6})(?: {16}| <[ \d]{4,11}\d\.\d{6}[ *]>)\] "
_DAY = rb"(?:[A-Z][a-z]{2} )"
_STAMPS = (
    Form("-o short-monotonic", STRICT_KERNEL_STAMP + rb" ", KERNEL),
    Form("-o short-delta", _DELTA, KERNEL),
    Form("-o short-iso-precise", _DATE + rb"\.(\d{6})" + _ZONE + rb" ", _wall(_LOCAL, 6), date_s),
    Form("-o short-iso", _DATE + rb"()" + _ZONE + rb" ", _wall(_LOCAL, 0), date_s),
    Form("-o short-full", _DAY + _DATE + rb"()" + _ZONE + rb" ", _wall(_LOCAL, 0), date_s),
    Form("-o short-precise", _MONTH + rb"\.(\d{6}) ", _wall(_YEAR, 6), month_s),
    Form("-o short", _MONTH + rb"() ", _wall(_YEAR, 0), month_s),
    Form("-o short-unix", rb"(\d{9,11})\.(\d{6}) ", _wall("1970, UTC", 6)),
)
_FORMS = tuple(
    replace(form, pattern=form.pattern + _WHO, repeats_kernel=True, records=True) for form in _STAMPS
)
_MARK = re.compile(rb"-- (?:Boot [0-9a-f]{32}|Reboot|Journal begins|Logs begin|No entries|cursor:)")
_NEW_BOOT = re.compile(rb"^-- (?:Boot [0-9a-f]{32}|Reboot) --$", re.MULTILINE)
_STARTS = re.compile(rb" kernel: (?:\[[ \d.]{12}\] )?(?:" + f"{BEGINS}|{INIT}".encode() + rb")")
_JSON_START = re.compile(rb"\s*(?:\x1e|data: )?\{\s*\"[A-Z0-9_]{2,64}\" ?:")
# Lines of the catalog (`-x`), in UTF-8 and without it.
_CATALOG = re.compile(rb"^(?:\xe2\x96\x91\xe2\x96\x91|--)(?: [^\n]*)?\n", re.MULTILINE)
_MOST_BOOTS = 1000
_SYSLOG = 80
"""How sure that a syslog with a kernel's lines in it is one, whatever else is there."""


def _known(line: bytes) -> bool:
    return bool(_MARK.match(line) or _CATALOG.match(line + b"\n")) or line.startswith(b" " * 10)


_TOOL = Tool("journalctl", _FORMS, known=_known, journal=True)
_Record = Fields | Mapping[str, object] | None
_RECORDS: Mapping[str, Callable[[bytes], Iterable[Iterable[_Record]]]] = {
    "-o json": partial(structs, decoder=decoder()),
    "-o export": lambda data: [exported(data)],
    "-o verbose": lambda data: [verbose(data)],
}
"""The records of a journal in each of its forms, some at a time."""


def _structured(source: Source) -> str:
    head = source.head
    if VERBOSE.search(clean_head(head).blob):
        return "-o verbose"
    if b"__MONOTONIC_TIMESTAMP" not in head:
        return ""
    if _JSON_START.match(head):
        return "-o json"
    return "-o export" if re.search(rb"^__MONOTONIC_TIMESTAMP=\d", head, re.MULTILINE) else ""


def _sure(source: Source) -> int:
    if _structured(source):
        return 99
    lines = Lines(_CATALOG.sub(b"", clean_head(source.sample).blob))
    form, part = best(lines, _FORMS)
    if not form or part < 0.3 or not _is_journal(lines.blob, _STAMPS[_FORMS.index(form)]):
        return 0
    # A monotonic stamp with a host and a speaker behind it cannot be dmesg's; others may be syslog's.
    sure = int((97 if form.clock is KERNEL else 85) * part)
    return max(sure, _SYSLOG) if form.clock.name == "wall" and _has_kernel(lines.blob, form) else sure


def _has_kernel(blob: bytes, form: Form) -> bool:
    """Whether a fifth of the stamped lines are the kernel's, behind a host's name."""
    kernels = len(re.findall(rb"^" + form.pattern + rb"(?<= kernel: )", blob, re.MULTILINE))
    return kernels * 5 >= len(form.at_line_start().findall(blob)) > 0


def _is_journal(blob: bytes, stamp: Form) -> bool:
    """Whether nearly all stamps are followed by one host (by two where an initrd had another name), or by
    none, and mostly by the kernel or a process with its number. The kernel's own messages look like a host
    and a speaker too: ``usb 1-1: ``."""
    stamped = len(stamp.at_line_start().findall(blob))
    said = re.findall(rb"^" + stamp.pattern + _SAID, blob, re.MULTILINE)
    common = Counter(host for *_, host, _, _ in said).most_common(2) or [(b"", 0)]
    hosts, count = {host for host, _ in common}, sum(count for _, count in common)
    own = [(who, pid) for *_, one, who, pid in said if one in hosts]
    known = sum(who == b"kernel" or pid != b"" for who, pid in own)
    # Without a host, only the kernel's name tells a journal from a kernel log with lines of systemd's.
    named = any(hosts) or stamp.clock is not KERNEL or any(who == b"kernel" for who, _ in own)
    kernels = sum(who == b"kernel" for who, _ in own)
    return named and (kernels * 5 >= stamped or (count * 5 >= stamped * 4 and known * 2 >= count))


def _read(source: Source, options: Options) -> Reading:
    how = _structured(source)
    if not how:
        return _read_short(source, options)
    boots: dict[str, Records] = {}
    broken = 0
    for record in chain.from_iterable(_RECORDS[how](source.data)):
        fields = record if record is None or isinstance(record, Fields) else fields_of(record)
        line = lines_of(fields) if fields else None
        if not fields or not line:
            broken += 1
            continue
        boot = boots.get(fields.boot or "")
        if boot is None:
            if len(boots) >= _MOST_BOOTS:
                continue
            boot = boots[fields.boot or ""] = Records()
        boot.add(*line)
    result = Reading([])
    count = len(boots)
    if not count:
        raise FormatError(source.name, "journalctl", 1, "no record has a time and a message")
    for records in boots.values():
        _merge(result, _console(source, options, records.in_order()), how)
    if broken:
        result.repairs.append(Repair("records without a time or a message left out", broken, 1))
    return _counted(result, count)


def _console(source: Source, options: Options, written: Written) -> Reading:
    """Lines of one boot whose times the journal told."""
    tool = Tool("journalctl", (), loose=True)
    lines = split(written.text, once=False)
    if lines.blob.count(b"\n") != len(written.at_us):
        # Carriage returns ended lines as well, so that the times are not one a line any more.
        return read_console(replace(source, data=written.stamped()), options, tool, PRINTK)
    return reading(
        source, options, tool, RECORDS, lines, at_kernel_times(lines, written.at_us, written.levels)
    )


def _read_short(source: Source, options: Options) -> Reading:
    lines = split(source.data)
    cuts = _boots(lines.blob, [0, *(m.start() for m in _NEW_BOOT.finditer(lines.blob))][:_MOST_BOOTS])
    result = Reading([], repairs=list(lines.repairs))
    first_line = 1
    for start, end in zip(cuts, [*cuts[1:], len(lines.blob)], strict=True):
        piece = lines.blob[start:end]
        if start == end or (start == 0 and len(cuts) > 1 and not best(split(piece), _FORMS)[0]):
            result.lines_total += piece.count(b"\n")
            result.lines_understood += piece.count(b"\n")
        else:
            one = read_console(replace(source, data=piece), options, _TOOL)
            one.missed = [replace(m, line=m.line + first_line - 1) for m in one.missed]
            one.repairs = [replace(r, first_line=r.first_line + first_line - 1) for r in one.repairs]
            _merge(result, one, "")
        first_line += piece.count(b"\n")
    return _counted(result, len(cuts))


def _boots(blob: bytes, cuts: list[int]) -> list[int]:
    """The cuts before pieces in which a system starts, if it does so in any of them.

    The others hold the end of the one before, or records that came into another boot.
    """
    if len(cuts) == 1:
        return cuts
    starts = [
        at for at, end in zip(cuts, [*cuts[1:], len(blob)], strict=True) if _STARTS.search(blob, at, end)
    ]
    return [0, *starts[1:]] if starts else cuts


def _counted(result: Reading, boots: int) -> Reading:
    if boots > 1:
        result.repairs.append(Repair(f"{boots} boots in one journal, read separately", boots - 1, 1))
    return result


def _merge(result: Reading, one: Reading, how: str) -> None:
    for boot in one.boots:
        boot.facts["tool"] = f"{boot.facts['tool']} {how}".strip()
    result.boots += one.boots
    result.lines_total += one.lines_total
    result.lines_understood += one.lines_understood
    result.lines_empty += one.lines_empty
    result.missed += one.missed
    result.repairs += one.repairs


READERS = (Reader("journalctl", "systemd journal", "journalctl -b -o json", _sure, _read),)
