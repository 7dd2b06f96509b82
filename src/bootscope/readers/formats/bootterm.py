# SPDX-License-Identifier: Apache-2.0
"""bootterm's captures and screens with timestamps.

A capture (-c) is stamped at the first byte of a line; on the terminal (-T) the stamp is the moment of the
newline before. The two look alike.
"""

from __future__ import annotations

import re

from bootscope.readers.base import UNKNOWN, Reader, Source
from bootscope.readers.console import Tool, clean_head, form_share, read_console
from bootscope.readers.stamp_forms import Form, clock_of, epoch_s

# Padded to six digits before the point, one more than printk.
_DECIMAL = rb"\[([ \d]{5}\d|\d{7,10})\.(\d{6})\] "


def _date(text: bytes) -> int | None:
    """Seconds of ``YYYYMMDD-HHMMSS`` since 1970."""
    time = b":".join((text[9:11], text[11:13], text[13:15]))
    return epoch_s(int(text[:4]), int(text[4:6]), int(text[6:8]), time)


_FORMS = (
    Form("init", _DECIMAL, clock_of("host", "the start of bootterm", 6, UNKNOWN)),
    Form("line", _DECIMAL, clock_of("host", "the first line", 6, UNKNOWN), deltas=True),
    Form(
        "abs",
        rb"\[(\d{8}-\d{6})\.(\d{6})\] ",
        clock_of("wall", "1970, by the computer's local time", 6, UNKNOWN),
        _date,
    ),
)

_OWN = (b"Trying port ", b"Escape character is ", b"Port ", b"Connected to ")
_TOOL = Tool("bootterm", _FORMS, known=lambda raw: raw.startswith(_OWN))


def _sure(source: Source) -> int:
    form, part = form_share(source, _FORMS)
    if not form or part < 0.2:
        return 0
    # Without padding it may be any seconds.
    padded = form.name == "abs" or re.search(
        rb"^\[ {1,5}\d{1,5}\.", clean_head(source.head).blob, re.MULTILINE
    )
    return int(92 * part) if padded else 0


READERS = (
    Reader(
        "bootterm",
        "bootterm capture",
        "bt -c fixed -t init /dev/ttyUSB0",
        _sure,
        lambda source, options: read_console(source, options, _TOOL),
    ),
)
