# SPDX-License-Identifier: Apache-2.0
"""The text of a file that an editor saved as RTF (Rich Text Format): a console pasted into WordPad."""

from __future__ import annotations

import re

MARK = b"{\\rtf1"
# A control word with its number and one blank, a byte in hexadecimal, a control sign, a bracket, a line end.
_TOKEN = re.compile(rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|\r?\n")
_LINE_ENDS = (b"par", b"line")
_NO_TEXT = (b"fonttbl", b"colortbl", b"stylesheet", b"info", b"generator", b"pict")


def text_of(data: bytes) -> bytes:
    """The text of an RTF file, a line feed for each paragraph; bytes of its code page stay as they are."""
    found: list[bytes] = []
    depth = at = 0
    silent = 1 << 30
    for match in _TOKEN.finditer(data):
        if depth < silent:
            found.append(data[at : match.start()])
        at = match.end()
        word, _, byte, sign, bracket = match.groups()
        if bracket:
            depth += 1 if bracket == b"{" else -1
            silent = silent if depth >= silent else 1 << 30
        elif word in _NO_TEXT or sign == b"*":
            silent = min(silent, depth)
        elif depth < silent:
            found.append(_said(word, byte, sign))
    return b"".join(found)


def _said(word: bytes | None, byte: bytes | None, sign: bytes | None) -> bytes:
    if byte:
        return bytes.fromhex(byte.decode("ascii"))
    if word is not None:
        return b"\n" if word in _LINE_ENDS else b"\t" if word == b"tab" else b""
    return sign if sign in (b"\\", b"{", b"}") else b""
