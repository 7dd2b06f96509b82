# SPDX-License-Identifier: Apache-2.0
"""A console that no host stamped: the order of its lines, and the kernel's time where it speaks."""

from __future__ import annotations

import re

from bootscope.loaders.console import SPOKEN
from bootscope.readers.base import WHOLE_FILE_SURE, Options, Reader, Reading, Source
from bootscope.readers.console import Tool, clean_head, read_console
from bootscope.readers.indent import console_lines
from bootscope.readers.stamp_forms import KERNEL_STAMP, PLAIN, PRINTK, STRICT_KERNEL_STAMP, filled
from bootscope.timeline.kernel_lines import BEGINS, FREED, INIT, LOGIN

_PRINTK = re.compile(rb"^(?:<\d{1,3}>)?" + STRICT_KERNEL_STAMP, re.MULTILINE)
_OTHER_STAMP = re.compile(rb"^(?:\[\d|\d[\d:T.-]{5}|[A-Z][a-z]{2} [ \d]\d \d\d:)", re.MULTILINE)
_SPEAKS = rf"(?:<\d{{1,3}}>)?(?:{BEGINS}|{FREED}|{INIT}|systemd\[1\]: systemd \d)"
_BOOT = re.compile(rf"^(?:{SPOKEN}|Uncompressing Linux|{_SPEAKS})".encode(), re.MULTILINE)
# A stamp is the kernel's before its own first words, however many places it has.
_KERNEL = re.compile(rb"(?:<\d{1,3}>)?" + KERNEL_STAMP + rb" ?(?:" + BEGINS.encode() + rb")")
_FIRST_WORDS = (b"Linux version ", b"Booting Linux on ")
_TIMES = 64
"""Places looked at where the kernel's first words stand."""
# What no kernel log holds: systemd's lines for people, and a prompt.
_USER_SPACE = re.compile(rf"^(?:\[  OK  \] |{LOGIN})".encode(), re.MULTILINE)
_TOOL = Tool("plain", (), loose=True)


def _sure(source: Source) -> int:
    blob = clean_head(source.sample).blob
    lines = filled(blob)
    kernel = len(_PRINTK.findall(blob))
    marks = bool(_BOOT.search(clean_head(source.head).blob) or (kernel >= 3 and _USER_SPACE.search(blob)))
    if not lines or not (marks or kernel >= 3):
        return 0
    if len(_OTHER_STAMP.findall(blob)) * 5 > lines:
        return WHOLE_FILE_SURE
    # A log of the kernel alone is dmesg's.
    return 70 if marks and kernel < lines else 50 if marks else int(50 * kernel / lines)


def _by_whole_file(source: Source) -> int:
    """A kernel's log with much else in the file is to be read as a console too."""
    return WHOLE_FILE_SURE if _kernel_begins(source.data) else 0


def _kernel_begins(blob: bytes) -> bool:
    """Whether a line of the kernel's log is its first one, however much else is in the file (reports)."""
    for words in _FIRST_WORDS:
        at = -1
        for _ in range(_TIMES):
            at = blob.find(words, at + 1)
            if at < 0:
                break
            if _KERNEL.match(blob, blob.rfind(b"\n", 0, at) + 1):
                return True
    return False


def _read(source: Source, options: Options) -> Reading:
    blob = console_lines(source.data).blob
    stamped = _PRINTK.search(blob) or _kernel_begins(blob)
    return read_console(source, options, _TOOL, PRINTK if stamped else PLAIN)


READERS = (
    Reader(
        "plain",
        "console without stamps",
        "picocom --logfile console.log /dev/ttyUSB0",
        _sure,
        _read,
        _by_whole_file,
    ),
)
