# SPDX-License-Identifier: Apache-2.0
"""Consoles whose every line has a host's stamp in the kernel's own shape, ``[    1.252419] ``.

That is what serialchrono (a shell script of Adeneo) writes, and `bootscope record` into console.txt. The
kernel's own bracket follows it where the kernel speaks.
"""

from __future__ import annotations

import re

from bootscope.loaders.console import OWN_WORDS, SPOKEN
from bootscope.readers.base import UNKNOWN, Reader, Source
from bootscope.readers.console import Tool, clean_head, form_share, read_console
from bootscope.readers.stamp_forms import Form, clock_of

_BRACKET = rb"\[([ \d]{4}\d)\.(\d{6})\] "
# A second bracket, or a line that no kernel writes: the first bracket is not the kernel's.
_NOT_KERNEL = re.compile(
    rb"^" + _BRACKET + rb"(?:\[ {0,4}\d{1,5}\.\d{6}\](?!@)|" + f"{SPOKEN}|{OWN_WORDS}".encode() + rb")",
    re.MULTILINE,
)


_FORMS = (Form("serialchrono", _BRACKET, clock_of("host", "the start of the script", 6, UNKNOWN)),)


def _sure(source: Source) -> int:
    _, part = form_share(source, _FORMS)
    if part < 0.2 or not _NOT_KERNEL.search(clean_head(source.head).blob):
        return 0
    return int(92 * part)


READERS = (
    Reader(
        "serialchrono",
        "serialchrono log, or console.txt of bootscope",
        'serialchrono TTYS="/dev/ttyS0"',
        _sure,
        lambda source, options: read_console(source, options, Tool("serialchrono", _FORMS)),
    ),
)
