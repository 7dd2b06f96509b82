# SPDX-License-Identifier: Apache-2.0
"""The plain part of YAML that our CI files keep to: nested mappings and lists of one-line texts.

Anything else (anchors, flow style, blocks of text, tabs, keys that come twice) is an error, so that a file
that is read here means the same to every YAML parser.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"([A-Za-z.][A-Za-z0-9_.-]*):(?: (.*))?")
_NOT_PLAIN = tuple("&*!|>@`%[]{},#?")


def parse(text: str) -> dict[str, Any]:
    """The mapping in a file. Raises ValueError for what is not plain, with its line."""
    lines = [
        (number, len(line) - len(line.lstrip(" ")), line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if "\t" in text:
        raise ValueError("tabs")
    found, rest = _block(lines, 0)
    if rest or not isinstance(found, dict):
        raise ValueError(f"line {rest[0][0] if rest else 1}: not a mapping")
    return found


Lines = list[tuple[int, int, str]]


def _block(lines: Lines, indent: int) -> tuple[Any, Lines]:
    if lines[0][1] != indent:
        raise ValueError(f"line {lines[0][0]}: indented by {lines[0][1]}, not {indent}")
    return _items(lines, indent) if lines[0][2].startswith("- ") else _mapping(lines, indent)


def _items(lines: Lines, indent: int) -> tuple[list[Any], Lines]:
    found: list[Any] = []
    value: Any
    while lines and lines[0][1] == indent and lines[0][2].startswith("- "):
        number, _, text = lines[0]
        inner = text[2:]
        if _KEY.fullmatch(inner):
            value, lines = _mapping([(number, indent + 2, inner), *lines[1:]], indent + 2)
        else:
            value, lines = _scalar(number, inner), lines[1:]
        found.append(value)
    return found, lines


def _mapping(lines: Lines, indent: int) -> tuple[dict[str, Any], Lines]:
    found: dict[str, Any] = {}
    while lines and lines[0][1] == indent:
        number, _, text = lines[0]
        match = _KEY.fullmatch(text)
        if not match or match[1] in found:
            raise ValueError(f"line {number}: '{text}' is no new key")
        lines = lines[1:]
        if match[2] is not None:
            found[match[1]] = _scalar(number, match[2])
        else:
            found[match[1]], lines = _block(lines, lines[0][1] if lines else indent)
    if lines and lines[0][1] > indent:
        raise ValueError(f"line {lines[0][0]}: indented too far")
    return found, lines


def _scalar(number: int, text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] == '"' and "\\" not in text and '"' not in text[1:-1]:
        return text[1:-1]
    if text.startswith((*_NOT_PLAIN, '"', "'")) or ": " in text or " #" in text or text.endswith(":"):
        raise ValueError(f"line {number}: '{text}' is not plain")
    return text
