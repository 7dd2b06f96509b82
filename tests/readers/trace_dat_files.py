# SPDX-License-Identifier: Apache-2.0
"""Small trace.dat files of version 6 and 7, byte by byte, for what no fixture has."""

from __future__ import annotations

import struct
import zlib

PAGE = 4096
MAGIC = b"\x17\x08\x44tracing"
COMMON = (
    b"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    b"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    b"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    b"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
)
LEVEL = (
    b"name: initcall_level\nID: 300\nformat:\n"
    + COMMON
    + b"\tfield:__data_loc char[] level;\toffset:8;\tsize:4;"
    b'\tsigned:0;\n\nprint fmt: "level=%s", __get_str(level)\n'
)
PRINT = (
    b"name: print\nID: 5\nformat:\n" + COMMON + b"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
    b'\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: "%ps: %s", REC->ip, REC->buf\n'
)


class Ring:
    """One sub-buffer of a CPU, in the byte order `order` (< or >)."""

    def __init__(self, order: str = "<", stamp: int = 0, flags: int = 0, lost: int = 0) -> None:
        self.order, self._stamp, self._flags, self._lost = order, stamp, flags, lost
        self._body = b""

    def word(self, kind: int, delta: int) -> bytes:
        """The head of a record."""
        return struct.pack(self.order + "I", kind | delta << 5 if self.order == "<" else kind << 27 | delta)

    def add(self, delta: int, data: bytes) -> Ring:
        """A record, its length in its head if it fits there."""
        data += bytes(-len(data) % 4)
        if len(data) <= 28 * 4:
            self._body += self.word(len(data) // 4, delta) + data
        else:
            self._body += self.word(0, delta) + struct.pack(self.order + "I", len(data) + 4) + data
        return self

    def extend(self, delta: int, kind: int = 30) -> Ring:
        """A time that is longer than a head holds; of kind 31: an absolute one."""
        self._body += self.word(kind, delta & (1 << 27) - 1) + struct.pack(self.order + "I", delta >> 27)
        return self

    def discarded(self, size: int) -> Ring:
        """A record that was taken back."""
        self._body += self.word(29, 1) + struct.pack(self.order + "I", size + 4) + bytes(size)
        return self

    def level(self, delta: int, name: bytes, pid: int = 1) -> Ring:
        """The event initcall_level."""
        place = 12 | len(name) + 1 << 16
        return self.add(delta, struct.pack(self.order + "HBBiI", 300, 0, 0, pid, place) + name + b"\0")

    def mark(self, delta: int, text: bytes) -> Ring:
        """A line that somebody wrote into trace_marker."""
        return self.add(delta, struct.pack(self.order + "HBBiQ", 5, 0, 0, 1, 0xC000) + text + b"\0")

    def page(self) -> bytes:
        """The sub-buffer."""
        head = struct.pack(self.order + "QQ", self._stamp, len(self._body) | self._flags)
        return (head + self._body + struct.pack(self.order + "Q", self._lost)).ljust(PAGE, b"\0")


def header(order: str) -> bytes:
    """The descriptions that come first."""
    page = b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
    parts = ((b"header_page\0", page), (b"header_event\0", b""))
    return b"".join(name + struct.pack(order + "Q", len(text)) + text for name, text in parts)


def formats(order: str) -> bytes:
    """PRINT as an event of ftrace, LEVEL as one of the system initcall."""
    own = struct.pack(order + "IQ", 1, len(PRINT)) + PRINT
    return (
        own + struct.pack(order + "I", 1) + b"initcall\0" + struct.pack(order + "IQ", 1, len(LEVEL)) + LEVEL
    )


def old(pages: list[bytes], clock: bytes = b"[local] global", order: str = "<") -> bytes:
    """Version 6, a page for each CPU."""
    out = MAGIC + b"6\0" + bytes((order == ">", 8)) + struct.pack(order + "I", PAGE) + header(order)
    tasks = b"1 swapper/0\n"
    out += formats(order) + struct.pack(order + "IIQ", 0, 0, len(tasks)) + tasks
    out += struct.pack(order + "I", len(pages)) + b"options  \0"
    out += struct.pack(order + "HI", 4, len(clock)) + clock + struct.pack(order + "H", 0) + b"flyrecord\0"
    start = -(-(len(out) + 16 * len(pages)) // PAGE) * PAGE
    out += b"".join(struct.pack(order + "QQ", start + i * PAGE, PAGE) for i in range(len(pages)))
    return out.ljust(start, b"\0") + b"".join(pages)


def new(page: bytes, packed_by: bytes = b"zlib") -> bytes:
    """Version 7 with one CPU, its parts packed by zlib."""
    head = MAGIC + b"7\0\0\x08" + struct.pack("<I", PAGE) + packed_by + b"\x001\0"
    own, systems = struct.pack("<IQ", 1, len(PRINT)) + PRINT, formats("<")[12 + len(PRINT) :]
    out, places = bytearray(head + bytes(8)), {}
    for number, body in ((16, header("<")), (17, own), (18, systems)):
        places[number] = len(out)
        packed = zlib.compress(body)
        out += (
            struct.pack("<HHIQ", number, 1, 0, len(packed) + 8)
            + struct.pack("<II", len(packed), len(body))
            + packed
        )
    places[3] = len(out)
    packed = zlib.compress(page)
    out += struct.pack("<HHIQ", 3, 1, 0, len(packed) + 12)
    data_at = len(out)
    out += struct.pack("<III", 1, len(packed), len(page)) + packed
    options_at = len(out)
    buffer = (
        struct.pack("<Q", places[3])
        + b"\0mono\0"
        + struct.pack("<IIIQQ", PAGE, 1, 0, data_at, len(packed) + 12)
    )
    listed = [(n, struct.pack("<Q", places[n])) for n in (18, 17, 16)] + [(3, buffer), (0, bytes(8))]
    options = b"".join(struct.pack("<HI", n, len(body)) + body for n, body in listed)
    out += struct.pack("<HHIQ", 0, 0, 0, len(options)) + options
    out[len(head) : len(head) + 8] = struct.pack("<Q", options_at)
    return bytes(out)
