# SPDX-License-Identifier: Apache-2.0
"""Lengths of phases in words: known, bounded, or not known."""

from __future__ import annotations

from bootscope.core.text import seconds
from bootscope.timeline.trace import LENGTH, NOT_KNOWN, OR_LESS, OR_MORE, Span

_BOUNDS = {OR_MORE: "≥ ", OR_LESS: "≤ ", NOT_KNOWN: None}


def length_words(span: Span) -> str:
    """A phase's length in seconds; with a sign if it is a bound: `1.234`, `≥ 1.234`, `not known`."""
    sign = _BOUNDS.get(str(span.detail.get(LENGTH, "")), "")
    return NOT_KNOWN if sign is None else f"{sign}{seconds(span.duration_ns)}"


def share_words(part_ns: int, whole_ns: int | None) -> str:
    """A phase's share of the boot, `12.3 %`; `-` if the whole is unknown."""
    return "-" if whole_ns is None else f"{100 * part_ns / (whole_ns or 1):.1f} %"
