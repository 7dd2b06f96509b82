# SPDX-License-Identifier: Apache-2.0
"""The records of `journalctl -o export` and `-o verbose`, each as its fields: name -> text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bootscope.readers.lines import decode, split

_LONGEST_VALUE = 1 << 24
_MOST_FIELDS = 1000


def exported(data: bytes) -> Iterator[dict[str, object]]:
    """The records of an export (systemd's docs: JOURNAL_EXPORT_FORMATS): field -> text, with ``\\xNN`` for
    bytes that are no UTF-8. Never raises.

    A field is ``NAME=value``, or, for values that are not plain text, its name, a length of eight bytes
    (least first) and the bytes. An empty line ends a record.
    """
    at = 0
    record: dict[str, object] = {}
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        line = data[at:end]
        at = end + 1
        if not line.strip():
            if record:
                yield record
            record = {}
            continue
        name, equals, value = line.partition(b"=")
        if not equals:
            value, at = _binary(data, at)
        if len(record) < _MOST_FIELDS:
            record[name[:64].decode("ascii", "replace")] = value.decode("utf-8", "backslashreplace")
    if record:
        yield record


def _binary(data: bytes, at: int) -> tuple[bytes, int]:
    """A value with its length before it, and where the next line begins.

    Where the length cannot be (NUL bytes were taken out of the file), the value ends with its line.
    """
    size = int.from_bytes(data[at : at + 8], "little")
    end = at + 8 + size
    if size <= _LONGEST_VALUE and data[end : end + 1] == b"\n":
        return data[at + 8 : end], end + 1
    # The record goes on until an empty line; what is left of the length is a few control characters.
    end = data.find(b"\n\n", at)
    end = len(data) if end < 0 else end
    return data[at:end].lstrip(bytes(range(1, 32))), end + 1


# A record of `-o verbose` begins with its date and its cursor (systemd's src/shared/logs-show.c and
# src/libsystemd/sd-journal/sd-journal.c): b is the boot, m the monotonic time in microseconds, both
# hexadecimal.
_CURSOR = re.compile(
    rb"(?:\(no timestamp\)|[^\s\[\]]{1,40} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} [^\s\[\]]{1,40}) "
    rb"\[(?:s=[0-9a-f]{32};)?i=[0-9a-f]{1,16};b=([0-9a-f]{32});m=([0-9a-f]{1,16});t=([0-9a-f]{1,16});"
    rb"x=[0-9a-f]{1,16}\]"
)
VERBOSE = re.compile(rb"^" + _CURSOR.pattern + rb"$", re.MULTILINE)
"""The first line of a record of `-o verbose`."""
_FIELD = re.compile(rb"    (?! )([A-Z0-9_]{1,64})=(.*)")
_CATALOG = ("░░ ".encode(), b"-- ")


def verbose(data: bytes) -> Iterator[dict[str, object] | None]:
    """The records of `-o verbose`: field -> text, with the times of the cursor as an export names them; None
    for a line that is of no record. Never raises.

    A field is ``    NAME=value``, its further lines indented as far as its first. Lines of the catalog
    (`-x`) are left out.
    """
    record: dict[str, object] = {}
    last = ""
    for text in split(data, once=False):
        line = text.encode()
        if begin := _CURSOR.fullmatch(line):
            if record:
                yield record
            record, last = _of_cursor(begin), ""
        elif record and (field := _FIELD.fullmatch(line)):
            last = field[1].decode("ascii")
            if len(record) < _MOST_FIELDS:
                record[last] = decode(field[2])
        elif last and line.startswith(b" " * (len(last) + 5)):
            record[last] = f"{record[last]}\n{text[len(last) + 5 :]}" if last in record else text
        elif line.strip() and not line.startswith(_CATALOG):
            yield None
    if record:
        yield record


def _of_cursor(begin: re.Match[bytes]) -> dict[str, object]:
    boot, monotonic, realtime = begin.groups()
    return {
        "_BOOT_ID": boot.decode("ascii"),
        "__MONOTONIC_TIMESTAMP": str(int(monotonic, 16)),
        "__REALTIME_TIMESTAMP": str(int(realtime, 16)),
    }
