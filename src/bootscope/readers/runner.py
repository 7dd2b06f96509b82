# SPDX-License-Identifier: Apache-2.0
"""Consoles inside the log of a job: what a runner says before the board does is no part of a boot."""

from __future__ import annotations

import re
from dataclasses import replace

from bootscope.loaders.console import SPOKEN
from bootscope.readers.base import Options, Reading, Repair, Source
from bootscope.readers.console import Tool, form_share, read_console
from bootscope.readers.lines import split
from bootscope.readers.stamp_forms import STRICT_KERNEL_STAMP, Form
from bootscope.timeline.kernel_lines import BEGINS

LEFT_OUT = "lines of the runner before the boot left out"
_BOOT = rb"(?:(?:" + STRICT_KERNEL_STAMP + rb" ?)?(?:" + BEGINS.encode() + rb")|" + SPOKEN.encode() + rb")"


def read_job(source: Source, options: Options, tool: Tool) -> Reading:
    """Reads a job's log, from the first line of a boot on; the whole of it where there is none.

    Raises FormatError when no line has a stamp of the tool.
    """
    form, _ = form_share(source, tool.forms)
    lines = split(source.data)
    start = _boot_starts(lines.blob, form) if form else 0
    result = read_console(replace(source, data=lines.blob[start:]), options, tool)
    result.repairs[:0] = lines.repairs
    if before := lines.blob.count(b"\n", 0, start):
        result.lines_total += before
        result.lines_understood += before
        result.missed = [replace(miss, line=miss.line + before) for miss in result.missed]
        result.repairs = [replace(r, first_line=r.first_line + before) for r in result.repairs]
        result.repairs.append(Repair(LEFT_OUT, before, 1))
    return result


def _boot_starts(blob: bytes, form: Form) -> int:
    """Where the first line of a boot begins; 0 where no line is one."""
    found = re.compile(form.pattern + _BOOT, re.MULTILINE)
    for match in found.finditer(blob):
        start = match.start()
        if not start or blob[start - 1] == ord("\n"):
            return start
    return 0
