# SPDX-License-Identifier: Apache-2.0
"""The kernel's trace ring buffer as trace-cmd stores it: sub-buffers of one CPU, one after the other.

A sub-buffer begins with a time stamp (64 bits) and how many bytes are in use (a long of the kernel's). Each
record has a word of 5 bits type and 27 bits of time since the one before. The files header_event and
header_page in /sys/kernel/tracing/events describe both, and kernel/trace/ring_buffer.c has the flags.
https://docs.kernel.org/trace/ring-buffer-design.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

_PADDING, _EXTEND, _STAMP = 29, 30, 31
_DELTA_BITS = 27
_LENGTH = (1 << _DELTA_BITS) - 1
_MISSED, _MISSED_STORED = 1 << 31, 1 << 30
_STAMP_BITS = 59
"""An absolute stamp has no more; those above are the sub-buffer's."""


Record = tuple[int, int, int, int, bytes]
"""Stamp, CPU, start and end of the record's data, and the bytes that these are places in."""


@dataclass
class CpuBuffer:
    """All that was kept of one CPU: `data` is whole sub-buffers of `page_bytes`; `lost` counts, after
    :func:`records` has run, the places where events were overwritten, and how many are known to be."""

    cpu: int
    data: bytes
    page_bytes: int
    long_bytes: int
    order: str
    lost: list[int] = field(default_factory=list)
    cut: bool = False


def records(buffer: CpuBuffer) -> Iterator[Record]:
    """Each record, in the order in which they were written.

    Stamps are what the trace's clock counts. Records that reach behind their sub-buffer are left out, with
    what follows them in it (`buffer.cut`).
    """
    data, head_bytes = buffer.data, 8 + buffer.long_bytes
    head = struct.Struct(buffer.order + ("QQ" if buffer.long_bytes == 8 else "QI"))
    for at in range(0, len(data) - head_bytes + 1, buffer.page_bytes):
        stamp, commit = head.unpack_from(data, at)
        start = at + head_bytes
        used = commit & _LENGTH
        end = min(start + used, at + buffer.page_bytes, len(data))
        if end < start + used:
            buffer.cut = True
        if commit & _MISSED:
            buffer.lost.append(_lost(buffer, end) if commit & _MISSED_STORED else 0)
        yield from _page(buffer, start, end, stamp)


def _lost(buffer: CpuBuffer, at: int) -> int:
    count = buffer.data[at : at + buffer.long_bytes]
    return int.from_bytes(count, "little" if buffer.order == "<" else "big")


def _page(buffer: CpuBuffer, at: int, end: int, stamp: int) -> Iterator[Record]:
    data, cpu, word, little = buffer.data, buffer.cpu, struct.Struct(buffer.order + "I"), buffer.order == "<"
    get = word.unpack_from
    while at + 4 <= end:
        (head,) = get(data, at)
        kind, delta = (head & 31, head >> 5) if little else (head >> _DELTA_BITS, head & _LENGTH)
        at += 4
        if 0 < kind < _PADDING:
            stop = at + kind * 4
        elif at + 4 > end or (kind == _PADDING and not delta):
            return
        else:
            (more,) = get(data, at)
            if kind == 0:
                at, stop = at + 4, at + (more + 3 & ~3)
            elif kind == _PADDING:
                stamp, at = stamp + delta, at + more
                continue
            else:
                long = (more << _DELTA_BITS) + delta
                stamp = stamp + long if kind == _EXTEND else stamp >> _STAMP_BITS << _STAMP_BITS | long
                at += 4
                continue
        if stop > end or stop < at:
            buffer.cut = True
            return
        stamp += delta
        yield stamp, cpu, at, stop, data
        at = stop
