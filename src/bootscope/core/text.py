# SPDX-License-Identifier: Apache-2.0
"""Text from a target or a file, made safe to display."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from bootscope.core.errors import printable


def visible(data: bytes | str, limit: int = 400) -> str:
    """Console bytes, or text of a file, as one line of printable text.

    Terminal escapes and other control characters become visible escapes, bytes that are not UTF-8 become
    \\xNN, tabs become blanks, and text longer than `limit` characters is cut.
    """
    data = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    cut = data[: limit * 4]
    text = cut.decode("utf-8", "backslashreplace").expandtabs(8)
    shown = printable(text)
    if len(shown) > limit or len(cut) < len(data):
        shown = shown[:limit] + f"… ({len(data):,} bytes)"
    return shown


def cut(text: str, limit: int) -> str:
    """Text in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def cut_beside(a: str, b: str, limit: int) -> tuple[str, str]:
    """Two texts that differ, each in at most `limit` characters, including the first difference: if that
    would be cut off, both begin later, at a word if there is one."""
    same = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if max(len(a), len(b)) <= limit or same < limit // 2:
        return cut(a, limit), cut(b, limit)
    begin = max(a.rfind(" ", 0, same) + 1, same - limit // 2)
    return cut(f"…{a[begin:]}", limit), cut(f"…{b[begin:]}", limit)


def listed(names: Sequence[str], most: int = 4) -> str:
    """A list of names, of many only the first few: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def setting(text: str) -> str:
    """A recorded setting in words: lists without Python's brackets, `none` for an empty one."""
    if not text.startswith(("(", "[", "{")):
        return {"True": "yes", "False": "no", "None": "none"}.get(text, text)
    try:
        found = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    if isinstance(found, dict):
        return ", ".join(f"{key}: {value}" for key, value in found.items()) or "none"
    return ", ".join(map(str, found)) or "none"


def seconds(ns: int, digits: int = 3) -> str:
    """Nanoseconds as seconds, rounded half away from zero: 1234567890 -> `1.235`."""
    unit = 10 ** (9 - digits)
    rounded = (abs(ns) + unit // 2) // unit
    whole, part = divmod(rounded, 10**digits)
    sign = "-" if ns < 0 and rounded else ""
    return f"{sign}{whole}.{part:0{digits}d}"


def span(ns: int) -> str:
    """A length of time with a unit that fits: `1.235 s`, `12.3 ms`, `45.0 µs`, `8 ns`."""
    size = abs(ns)
    # The limits are where the smaller unit would round up to a thousand.
    if size >= 999_950_000:
        return f"{seconds(ns)} s"
    if size >= 999_950:
        return f"{ns / 1e6:.1f} ms"
    if size >= 1_000:
        return f"{ns / 1e3:.1f} µs"
    return f"{ns} ns"


def error_words(error_ns: int, or_more: bool = False) -> str:
    """How far off a time may be: `±12.0 µs`; `≥1.0 µs` if that is the minimum; "" for exact."""
    return f"{'≥' if or_more else '±'}{span(error_ns)}" if error_ns else ""


def signed(ns: int) -> str:
    """A change: `+12.3 ms`, `-8 ns`, `0`."""
    return f"{'+' if ns > 0 else '-'}{span(abs(ns))}" if ns else "0"


def between(low_ns: int, high_ns: int) -> str:
    """A range of changes in the unit of the larger one: `-144.0 to -80.0 ms`; `0` if both are 0."""
    largest = max(abs(low_ns), abs(high_ns))
    if not largest:
        return "0"
    unit = span(largest).split()[1]
    factor, digits = {"s": (10**9, 3), "ms": (10**6, 1), "µs": (10**3, 1), "ns": (1, 0)}[unit]
    low, high = (f"{ns / factor:+.{digits}f}" if ns else "0" for ns in (low_ns, high_ns))
    return f"{low} to {high} {unit}"


def duration(host_s: float) -> str:
    """A length of host time, to the second: `45 s`, `2 min 15 s`, `1 h 4 min`."""
    minutes, rest = divmod(round(host_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def size(count: int) -> str:
    """A number of bytes with a unit: `5.3 MB`, `812 kB`, `34 B` (powers of ten)."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor - factor // 20_000 and count >= 1000:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"
