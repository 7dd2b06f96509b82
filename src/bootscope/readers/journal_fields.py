# SPDX-License-Identifier: Apache-2.0
"""The fields of a journal's record that tell when which program said what, and its lines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated

import msgspec

from bootscope.readers.json_objects import text_of

_LONGEST_WAY_US = 60_000_000
_LATEST_US = 10**15 - 1
_LEVELS = frozenset("01234567")
_MOST_DIGITS = 18
_Micros = Annotated[int, msgspec.Meta(ge=0, lt=10**_MOST_DIGITS)]


class Fields(msgspec.Struct, frozen=True, gc=False):
    """The fields as text, times as microseconds, None for those that are not there or are none; bytes that
    are no UTF-8 are surrogates."""

    boot: str | None = msgspec.field(default=None, name="_BOOT_ID")
    message: str | None = msgspec.field(default=None, name="MESSAGE")
    level: str | None = msgspec.field(default=None, name="PRIORITY")
    who: str | None = msgspec.field(default=None, name="SYSLOG_IDENTIFIER")
    pid: str | None = msgspec.field(default=None, name="_PID")
    source_boottime: _Micros | None = msgspec.field(default=None, name="_SOURCE_BOOTTIME_TIMESTAMP")
    source_monotonic: _Micros | None = msgspec.field(default=None, name="_SOURCE_MONOTONIC_TIMESTAMP")
    monotonic: _Micros | None = msgspec.field(default=None, name="__MONOTONIC_TIMESTAMP")
    source_realtime: _Micros | None = msgspec.field(default=None, name="_SOURCE_REALTIME_TIMESTAMP")
    realtime: _Micros | None = msgspec.field(default=None, name="__REALTIME_TIMESTAMP")


_NAMES = tuple(field.encode_name for field in msgspec.structs.fields(Fields))
_FIRST_TIME = _NAMES.index("_SOURCE_BOOTTIME_TIMESTAMP")


def decoder() -> msgspec.json.Decoder[Fields]:
    """What takes a record as `journalctl -o json` prints it, whose times are texts. Raises
    msgspec.ValidationError for a value of another kind."""
    return msgspec.json.Decoder(Fields, strict=False)


def fields_of(record: Mapping[str, object]) -> Fields:
    """The fields of a record whose values are texts or lists of byte values."""
    texts = [text_of(record.get(name)).decode("utf-8", "surrogateescape") for name in _NAMES]
    times = map(_number, texts[_FIRST_TIME:])
    boot, message, level, who, pid = (text or None for text in texts[:_FIRST_TIME])
    return Fields(boot, message, level, who, pid, *times)


def lines_of(fields: Fields) -> tuple[int, str, str] | None:
    """When a record was written, in microseconds of the monotonic clock, what stands before a stamp of the
    kernel's log to tell its level, and its lines; None where it has no message or nothing tells when.

    The time is the kernel's own where the record has it; else when it reached the journal, less how long it
    was under way by the calendar, where that is less than a minute (else the calendar was set).
    """
    text = fields.message
    at_us = fields.source_boottime
    if at_us is None:
        at_us = fields.source_monotonic
    if at_us is None:
        at_us = _reached(fields)
    if not text or at_us is None:
        return None
    level, speaker = _around(fields.level, fields.who, fields.pid)
    if "\n" in text:
        text = text.rstrip("\n").replace("\n", "\n" + speaker)
    return at_us if at_us < _LATEST_US else _LATEST_US, level, speaker + text


def _reached(fields: Fields) -> int | None:
    """When a record without the kernel's own time was written, as its way to the journal tells."""
    reached = fields.monotonic
    sent, arrived = fields.source_realtime, fields.realtime
    if reached is None or sent is None or arrived is None:
        return reached
    under_way = arrived - sent
    return reached - under_way if 0 <= under_way < min(_LONGEST_WAY_US, reached) else reached


def _number(text: str) -> int | None:
    if len(text) > _MOST_DIGITS or not text.isascii() or not text.isdigit():
        return None
    return int(text)


@lru_cache(maxsize=10_000)
def _around(level: str | None, who: str | None, pid: str | None) -> tuple[str, str]:
    """What stands before a stamp, and between it and the message."""
    before = f"<{level}>" if level in _LEVELS else ""
    if not who or who == "kernel":
        return before, ""
    number = f"[{pid[:12]}]" if pid and pid.isascii() and pid.isdigit() else ""
    name = who.encode("utf-8", "surrogateescape").replace(b"\n", b" ")[:100]
    return before, f"{name.decode('utf-8', 'surrogateescape')}{number}: "
