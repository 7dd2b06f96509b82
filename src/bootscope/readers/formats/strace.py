# SPDX-License-Identifier: Apache-2.0
"""strace and ltrace: their lines with any stamp, and the tables of ``-c``."""

from __future__ import annotations

import re
from functools import partial

from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.calls import PREFIX, CallTrace
from bootscope.readers.lines import split
from bootscope.readers.tally import Tally, sample, share

_CALL = r"[A-Za-z_.][\w.@:>~-]{0,120}\(.{0,2000}(?:\) += |<unfinished \.\.\.>)"
_OTHER = r"<\.\.\. \S{1,80} resumed>|\+\+\+ \w.*\+\+\+$|--- [\w ().]{1,60}.*---$"
_ANY = re.compile(f"(?:{PREFIX} {{0,8}}(?:{_CALL}|{_OTHER})|strace: Process )".encode())
_TABLE = re.compile(
    rb"^(?:% time +seconds +usecs/call +calls|(?:syscall|function|calls|seconds) .*% time)", re.M
)
_LTRACE = re.compile(
    rb"\+\+\+ exited \(status|\) += <void>|\w->\w+\(|\bSYS_\w+\(|--- Called exec\(\) ---"
    rb"|(?:errors|calls) +function$",
    re.M,
)


def _sure(source: Source, *, ltrace: bool) -> int:
    lines = sample(source)
    fit = share(lines, _ANY)
    table = bool(_TABLE.search(source.head))
    sure = max(fit, 90 if table else 0) if fit >= 30 or table else 0
    is_ltrace = bool(_LTRACE.search(source.head))
    return sure if is_ltrace == ltrace else sure // 3


def _read(source: Source, _options: Options, *, name: str, what: str) -> Reading:
    lines = split(source.data)
    tally = Tally()
    trace = CallTrace(tally, what)
    trace.read(lines)
    tally.require(source, name, lines, f"{name} output")
    boot = trace.finish()
    boot.facts["tool"] = name
    if not boot.tracks:
        tally.ask(f"the file has no stamps: run {name} with -f -ttt -T")
    elif not any(t.kind == "function" for t in boot.tracks):
        tally.ask(f"the file has no durations of calls: run {name} with -T")
    return tally.reading([boot], lines.repairs)


READERS = tuple(
    Reader(
        name,
        f"{what} of programs",
        f"{name} -f -ttt -T -o FILE COMMAND",
        partial(_sure, ltrace=name == "ltrace"),
        partial(_read, name=name, what=what),
    )
    for name, what in (("strace", "system calls"), ("ltrace", "library calls"))
)
