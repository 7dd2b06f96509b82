# SPDX-License-Identifier: Apache-2.0
"""What kind of bytes a file holds, and its text as UTF-8 without the marks of other encodings."""

from __future__ import annotations

from bootscope.readers import rtf
from bootscope.readers.base import Repair
from bootscope.readers.lines import without_nuls

_SAMPLE = 65536
# What a console log may hold besides text: BEL, BS, TAB, LF, VT, FF, CR, ESC; and NUL.
_HARMLESS = bytes((0, 7, 8, 9, 10, 11, 12, 13, 27))
_CONTROL = bytes(c for c in range(32) if c not in _HARMLESS) + b"\x7f"
_UTF8_MARK = b"\xef\xbb\xbf"


def is_text(data: bytes) -> bool:
    """Whether bytes look like text, perhaps with line noise: few control characters in the head."""
    head = data[:_SAMPLE].replace(b"\0", b"")
    controls = len(head) - len(head.translate(None, _CONTROL))
    return bool(head) and controls * 20 <= len(head)


def encoding(data: bytes) -> str:
    """`UTF-8`, `ASCII`, `UTF-16LE`, `UTF-16BE`, `Latin-1 or another 8-bit encoding` or `binary`."""
    head = data[:_SAMPLE]
    if found := _utf16(head):
        return found[0]
    if not is_text(head):
        return "binary"
    if head.isascii():
        return "ASCII"
    try:
        # The last character of the sample may be cut.
        head[:-4].decode("utf-8") if len(data) > _SAMPLE else head.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) > _SAMPLE and error.start >= len(head) - 8:
            return "UTF-8"
        return "Latin-1 or another 8-bit encoding"
    return "UTF-8"


def _utf16(head: bytes) -> tuple[str, int] | None:
    """The byte order of UTF-16 text and the length of its mark, or None."""
    for mark, name, zero in ((b"\xff\xfe", "UTF-16LE", 1), (b"\xfe\xff", "UTF-16BE", 0)):
        sample = head[: len(head) & ~1]
        if head.startswith(mark) and is_text(sample[2:].decode(name, "ignore").encode()):
            return name, 2
        # Without a mark: every other byte is zero, and the rest is plain text.
        high, low = sample[zero::2], sample[1 - zero :: 2]
        plain = len(low) >= 8 and low.isascii() and b"\0" not in low and is_text(low)
        if plain and not high.strip(b"\0"):
            return name, 0
    return None


def as_utf8(data: bytes) -> tuple[bytes, list[Repair]]:
    """Text as UTF-8 without byte order mark and NUL bytes; other bytes unchanged. Lists what it did."""
    if found := _utf16(data[:_SAMPLE]):
        name, skip = found
        text = data[skip:].decode(name, "backslashreplace")
        return text.encode("utf-8", "backslashreplace"), [Repair(f"{name} read as text", 1, 1)]
    repairs: list[Repair] = []
    if data.startswith(_UTF8_MARK):
        data = data[len(_UTF8_MARK) :]
        repairs.append(Repair("UTF-8 byte order mark removed", 1, 1))
    if data.startswith(rtf.MARK):
        data = rtf.text_of(data)
        repairs.append(Repair("RTF read as text", 1, 1))
    if b"\0" in data and is_text(data):
        data = without_nuls(data, repairs)
    return data, repairs
