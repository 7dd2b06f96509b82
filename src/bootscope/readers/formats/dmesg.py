# SPDX-License-Identifier: Apache-2.0
"""The kernel's log as `dmesg` (util-linux, BusyBox) or /dev/kmsg spell it.

All spellings that keep the kernel's time are brought to one, ``<6>[    1.234567] text``, before they are
read; the others have a clock of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from bootscope.readers.base import WHEN_LOGGED, FormatError, Options, Reader, Reading, Repair, Source
from bootscope.readers.console import Tool, clean_head, read_console
from bootscope.readers.indent import console_lines
from bootscope.readers.json_objects import objects, text_of
from bootscope.readers.lines import Lines
from bootscope.readers.stamp_forms import (
    KERNEL_STAMP,
    PRINTK,
    STRICT_KERNEL_STAMP,
    Form,
    best,
    clock_of,
    date_s,
    filled,
    month_s,
)

_LEVELS = (b"emerg", b"alert", b"crit", b"err", b"warn", b"notice", b"info", b"debug")

_FACILITY = re.compile(rb"^[a-z0-9]{1,10} *:([a-z]{1,7}) *: ?", re.MULTILINE)
_BOTH = re.compile(rb"^((?:<\d{1,3}>)?\[ {0,11}\d{1,10}\.\d{6}) <[ \d]{1,12}\.\d{6}>\] ", re.MULTILINE)
# LG's kernels put the calendar's time behind the kernel's.
_DATED = re.compile(
    rb"^((?:<\d{1,3}>)?\[ {0,11}\d{1,10}\.\d{6}) / \d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]", re.MULTILINE
)
_KMSG = re.compile(rb"^(\d{1,4}),\d{1,20},(\d{1,16}),[^;\n]{0,80};", re.MULTILINE)
_PRINTK = re.compile(rb"^(?:<\d{1,3}>)?" + KERNEL_STAMP, re.MULTILINE)
_STRICT = re.compile(rb"^(?:<\d{1,3}>)?" + STRICT_KERNEL_STAMP, re.MULTILINE)
_TWO_STAMPS = re.compile(rb"^" + STRICT_KERNEL_STAMP + rb" " + STRICT_KERNEL_STAMP + rb"(?!@)", re.MULTILINE)
_REST = re.compile(rb"\n(?=<\d{1,3}>\[ {0,11}\d{1,10}\.\d{6}\])")
_GAP = rb"< {0,12}(\d{1,10})\.(\d{6})>\] "


_FIRST = clock_of("kernel", "the first line of the log", 6, WHEN_LOGGED)
_CTIME = rb"\[[A-Z][a-z]{2} ([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})"


_WALL = "1970, by the target's local time"
_form = partial(Form, repeats_kernel=True)
_FORMS = (
    _form("-d -T", rb"\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4} " + _GAP, _FIRST, deltas=True),
    _form("-T", _CTIME + rb"()\] ", clock_of("wall", _WALL, 0, WHEN_LOGGED), month_s),
    _form("--time-format delta", rb"\[" + _GAP, _FIRST, deltas=True),
    # A line in a new minute has that instead of the gap.
    _form(
        "-e",
        rb"\[(?: {0,12}\+(\d{1,10})\.(\d{6})|[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d)\] ",
        _FIRST,
        deltas=True,
    ),
    _form(
        "--time-format iso",
        rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),(\d{6})(?:Z|[+-]\d\d:?\d\d) ",
        clock_of("wall", _WALL, 6, WHEN_LOGGED),
        date_s,
    ),
)
_TOOL = Tool("dmesg", _FORMS, loose=True)


@dataclass(frozen=True, slots=True)
class _Spelling:
    """A way of writing the log: how its lines look, and how they become the usual ones."""

    name: str
    line: re.Pattern[bytes]
    usual: Callable[[bytes], bytes]


def _level(match: re.Match[bytes]) -> bytes:
    return b"<%d>" % _LEVELS.index(match[1]) if match[1] in _LEVELS else match[0]


def _kmsg(match: re.Match[bytes]) -> bytes:
    micro = int(match[2])
    return b"<%d>[%5d.%06d] " % (int(match[1]), micro // 1_000_000, micro % 1_000_000)


def _printk_of_kmsg(blob: bytes) -> bytes:
    # Lines that begin with a blank are properties of the record before.
    return re.sub(rb"^ [A-Z][^\n]*$", b"", _KMSG.sub(_kmsg, blob), flags=re.MULTILINE)


_SPELLINGS = (
    _Spelling("-x", _FACILITY, partial(_FACILITY.sub, _level)),
    _Spelling("-d", _BOTH, partial(_BOTH.sub, rb"\1] ")),
    _Spelling("with dates", _DATED, partial(_DATED.sub, rb"\1]")),
    _Spelling("/dev/kmsg", _KMSG, _printk_of_kmsg),
)


def _usual(blob: bytes) -> tuple[bytes, list[str]]:
    """The log with levels and stamps where `dmesg -r` has them, and the options that it was made with."""
    head = blob[:65536]
    names = []
    for spelling in _SPELLINGS:
        if len(spelling.line.findall(head)) * 2 > filled(head):
            blob, head = spelling.usual(blob), spelling.usual(head)
            names.append(spelling.name)
    return blob, names


def _is_json(head: bytes) -> bool:
    return bool(re.match(rb'\s*\{\s*"dmesg"\s*:\s*\[', head))


def _printk_of_json(data: bytes, broken: list[int]) -> Iterator[bytes]:
    for number, item in enumerate(objects(data, b'"dmesg"'), 1):
        if item is None:
            broken.append(number)
            continue
        stamp = text_of(item.get("time")).strip()
        whole, _, fraction = stamp.partition(b".")
        if not whole.isdigit() or len(whole) > 9 or not fraction.isdigit():
            broken.append(number)
            continue
        level = text_of(item.get("pri"))
        prefix = b"<%d>" % _LEVELS.index(level) if level in _LEVELS else b""
        prefix = b"<%d>" % (int(level) & 7) if level.isdigit() and len(level) < 4 else prefix
        prefix += b"[%5d.%s] " % (int(whole), fraction[:6].ljust(6, b"0"))
        # util-linux 2.38 with -F puts the rest of the file behind each message.
        message = _REST.split(text_of(item.get("msg")), maxsplit=1)[0].rstrip(b"\n")
        for line in message.split(b"\n"):
            yield prefix + line + b"\n"


def _sure(source: Source) -> int:
    if _is_json(source.head):
        return 98
    blob, names = _usual(clean_head(source.sample).blob)
    lines = filled(blob)
    if not lines:
        return 0
    printk = len(_STRICT.findall(blob)) / lines
    _, other = best(Lines(blob), _FORMS)
    if other > printk:
        return int(90 * other) if other >= 0.5 else 0
    # Two such brackets: the first is a host's.
    if printk < 0.5 or len(_TWO_STAMPS.findall(blob)) * 5 > lines:
        return 0
    return int((95 if names else 90) * printk) if printk > 0.97 else int(60 * printk)


def _read(source: Source, options: Options) -> Reading:
    if _is_json(source.head):
        broken: list[int] = []
        data = b"".join(_printk_of_json(source.data, broken))
        result = read_console(replace(source, data=data), options, _TOOL, PRINTK)
        if broken:
            result.repairs.append(Repair("broken records left out", len(broken), broken[0]))
        return _named(result, ["--json"])
    lines = console_lines(source.data)
    blob, names = _usual(lines.blob)
    if _PRINTK.search(blob):
        form = PRINTK
    elif any(f.at_line_start().search(blob) for f in _FORMS):
        form = None
    else:
        raise FormatError(source.name, "dmesg", 1, "no line has a stamp of the kernel")
    result = read_console(replace(source, data=blob), options, _TOOL, form)
    result.repairs[:0] = lines.repairs
    return _named(result, names)


def _named(result: Reading, names: list[str]) -> Reading:
    for boot in result.boots:
        boot.facts["tool"] = " ".join([boot.facts["tool"], *names])
    return result


READERS = (Reader("dmesg", "kernel log", "dmesg", _sure, _read),)
