# SPDX-License-Identifier: Apache-2.0
"""Texts from a target and times, as all formats need them.

:func:`plain` comes first in every format, the format's own escaping after it: its result has no control
character, no terminal escape, no half of a surrogate pair and nothing that XML forbids.
"""

from __future__ import annotations

import re

from bootscope.core.errors import printable

MAX_TEXT = 400
MAX_KEY = 80


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """`text` on one line of printable characters, at most about `limit` of them."""
    return printable(text if len(text) <= limit else text[:limit] + "…")


def decimal(value: int, digits: int) -> str:
    """``value / 10**digits`` as a decimal number, exact, without trailing zeros: 1500, 3 -> `1.5`."""
    whole, part = divmod(abs(value), 10**digits)
    fraction = f"{part:0{digits}d}".rstrip("0") if digits else ""
    return f"{'-' if value < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


def seconds(ns: int) -> str:
    """Nanoseconds as seconds, exact."""
    return decimal(ns, 9)


def identifier(text: str) -> str:
    """`text` as a word of lower-case letters, digits and underscores, for the names of labels."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    return word if word[:1].isalpha() else f"x_{word}"
