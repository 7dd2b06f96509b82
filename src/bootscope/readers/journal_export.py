# SPDX-License-Identifier: Apache-2.0
"""The journal export format (systemd's docs: JOURNAL_EXPORT_FORMATS): records of fields.

A field is ``NAME=value``, or, for values that are not plain text, its name, a length of eight bytes
(least first) and the bytes. An empty line ends a record.
"""

from __future__ import annotations

from collections.abc import Iterator

_LONGEST_VALUE = 1 << 24
_MOST_FIELDS = 1000


def records(data: bytes) -> Iterator[dict[str, object]]:
    """The records of an export, field -> text with ``\\xNN`` for bytes that are no UTF-8. Never raises."""
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
