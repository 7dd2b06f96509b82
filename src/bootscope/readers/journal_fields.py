# SPDX-License-Identifier: Apache-2.0
"""The fields of a journal's record that tell when which program said what, and the record as a line of the
kernel's log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from bootscope.readers.json_objects import text_of

_LONGEST_WAY_US = 60_000_000
_LATEST_US = 10**15 - 1
_LEVELS = frozenset("01234567")
_MOST_DIGITS = 18


class Fields(msgspec.Struct, frozen=True, gc=False):
    """The fields as text, None for those that are not there; bytes that are no UTF-8 are surrogates."""

    boot: str | None = msgspec.field(default=None, name="_BOOT_ID")
    message: str | None = msgspec.field(default=None, name="MESSAGE")
    level: str | None = msgspec.field(default=None, name="PRIORITY")
    who: str | None = msgspec.field(default=None, name="SYSLOG_IDENTIFIER")
    pid: str | None = msgspec.field(default=None, name="_PID")
    source_boottime: str | None = msgspec.field(default=None, name="_SOURCE_BOOTTIME_TIMESTAMP")
    source_monotonic: str | None = msgspec.field(default=None, name="_SOURCE_MONOTONIC_TIMESTAMP")
    monotonic: str | None = msgspec.field(default=None, name="__MONOTONIC_TIMESTAMP")
    source_realtime: str | None = msgspec.field(default=None, name="_SOURCE_REALTIME_TIMESTAMP")
    realtime: str | None = msgspec.field(default=None, name="__REALTIME_TIMESTAMP")


_NAMES = tuple(field.encode_name for field in msgspec.structs.fields(Fields))


def fields_of(record: Mapping[str, object]) -> Fields:
    """The fields of a record whose values are texts or lists of byte values."""
    values = (text_of(record.get(name)) for name in _NAMES)
    return Fields(*(value.decode("utf-8", "surrogateescape") or None for value in values))


def micro(fields: Fields) -> int | None:
    """When a record was written, in microseconds of the monotonic clock; None where nothing tells.

    That is the kernel's own time where the record has it; else when it reached the journal, less how long it
    was under way by the calendar, where that is less than a minute (else the calendar was set).
    """
    for own in (fields.source_boottime, fields.source_monotonic):
        if own is not None and (found := _number(own)) is not None:
            return found
    reached = _number(fields.monotonic)
    if reached is None or fields.source_realtime is None:
        return reached
    sent, arrived = _number(fields.source_realtime), _number(fields.realtime)
    if sent is None or arrived is None:
        return reached
    under_way = arrived - sent
    return reached - under_way if 0 <= under_way < min(_LONGEST_WAY_US, reached) else reached


def _number(text: str | None) -> int | None:
    if text is None or len(text) > _MOST_DIGITS or not text.isascii() or not text.isdigit():
        return None
    return int(text)


def printk(fields: Fields, at_us: int) -> bytes:
    """A record, written at `at_us`, as lines of the kernel's log; empty when it has no message."""
    if not fields.message:
        return b""
    level, speaker = _around(fields.level, fields.who, fields.pid)
    prefix = b"%b[%5d.%06d] %b" % (level, *divmod(min(at_us, _LATEST_US), 1_000_000), speaker)
    message = fields.message.encode("utf-8", "surrogateescape")
    if b"\n" in message:
        message = message.rstrip(b"\n").replace(b"\n", b"\n" + prefix)
    return b"%b%b\n" % (prefix, message)


@lru_cache(maxsize=10_000)
def _around(level: str | None, who: str | None, pid: str | None) -> tuple[bytes, bytes]:
    """What stands before a stamp, and between it and the message."""
    before = f"<{level}>".encode() if level in _LEVELS else b""
    if not who or who == "kernel":
        return before, b""
    number = f"[{pid[:12]}]" if pid and pid.isascii() and pid.isdigit() else ""
    name = who.encode("utf-8", "surrogateescape").replace(b"\n", b" ")[:100]
    return before, name + f"{number}: ".encode()
