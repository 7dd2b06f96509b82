# SPDX-License-Identifier: Apache-2.0
"""A console that no host stamped: the order of its lines, and the kernel's time where it speaks."""

from __future__ import annotations

import re

from bootscope.loaders.console import SPOKEN
from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.console import Tool, clean_head, read_console
from bootscope.readers.indent import console_lines
from bootscope.readers.stamp_forms import PLAIN, PRINTK, STRICT_KERNEL_STAMP, filled
from bootscope.timeline.kernel_lines import BEGINS, LOGIN

_PRINTK = re.compile(rb"^(?:<\d{1,3}>)?" + STRICT_KERNEL_STAMP, re.MULTILINE)
_OTHER_STAMP = re.compile(rb"^(?:\[\d|\d[\d:T.-]{5}|[A-Z][a-z]{2} [ \d]\d \d\d:)", re.MULTILINE)
_BOOT = re.compile(
    f"^(?:{SPOKEN}|Uncompressing Linux|{BEGINS})".encode(),
    re.MULTILINE,
)
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
        return 15
    # A log of the kernel alone is dmesg's.
    return 70 if marks and kernel < lines else 50 if marks else int(50 * kernel / lines)


def _read(source: Source, options: Options) -> Reading:
    stamped = _PRINTK.search(console_lines(source.data).blob)
    return read_console(source, options, _TOOL, PRINTK if stamped else PLAIN)


READERS = (
    Reader("plain", "console without stamps", "picocom --logfile console.log /dev/ttyUSB0", _sure, _read),
)
