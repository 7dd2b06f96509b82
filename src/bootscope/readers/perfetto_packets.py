# SPDX-License-Identifier: Apache-2.0
"""The packets that Perfetto traces are made of: told by their fields, and unpacked."""

from __future__ import annotations

import zlib

from bootscope.readers.proto_fields import DamagedError, fields, varint
from bootscope.readers.unpack import MAX_BYTES, Budget

PACKET = 1
"""The field of each packet in a trace."""
_FIRST = b"\x0a"
_PACKED = b"\x92\x03"
"""The tag of field 50, packets packed by zlib; a packet with it has nothing else."""
_PACKED_BYTES = 64 << 20
_HEAD_BYTES = 65_536
_KNOWN = frozenset(
    (1, 2, 3, 6, 8, 9, 10, 11, 12, 13, 33, 34, 35, 36, 38, 41, 42, 45, 50, 58, 59, 60, 69, 79, 87, 89)
)
"""Fields of packets that traces with events of the kernel or of programs have."""


def is_trace(data: bytes) -> bool:
    """Whether the first 64 KiB are a row of packets, each of fields that packets have."""
    if not data.startswith(_FIRST):
        return False
    head, packets, fits = data[:_HEAD_BYTES], 0, 0
    try:
        for field, start, end in fields(head, 0, len(head)):
            if field != PACKET or end < 0:
                return False
            packets += 1
            fits += any(number in _KNOWN for number, _, _ in fields(head, start, end))
    except DamagedError:
        if len(data) <= _HEAD_BYTES and packets < 3:
            return False
    return packets > 1 and fits * 10 >= packets * 9


def unpacked(data: bytes) -> bytes:
    """The trace with its packed packets in their places. Raises UserError for what unpacks to too much."""
    budget, parts, done = Budget(MAX_BYTES), [], 0
    try:
        for field, start, end in fields(data, 0, len(data)):
            if field != PACKET or end < 0 or not data.startswith(_PACKED, start, end):
                continue
            size, at = varint(data, start + len(_PACKED), end)
            body = zlib.decompressobj().decompress(data[at : min(end, at + size)], _PACKED_BYTES)
            budget.spend(len(body), "the trace")
            parts += [data[done : _head(data, start)], body]
            done = end
    except (DamagedError, zlib.error):
        pass  # what is behind that place is told of when the packets are read
    return b"".join([*parts, data[done:]]) if parts else data


def _head(data: bytes, start: int) -> int:
    """Where the packet whose fields begin at `start` begins: before its length."""
    return data.rindex(_FIRST, max(0, start - 11), start)
