# SPDX-License-Identifier: Apache-2.0
"""Where a boot ends in a log that goes on: what comes later belongs to no phase."""

from __future__ import annotations

from itertools import pairwise

from bootscope.readers.base import Boot

ENDS = ("login", "console-ready", "systemd-finished")
"""Milestones that end a boot; the last of those that are there counts, and the user's own with them."""
_ELSE = "default-target"
_LONGEST_WAIT_NS = 120_000_000_000
"""No device is waited for so long (systemd waits for 90 s): a log that is silent longer is of a system that
runs."""


def told(milestones: dict[str, int], own: frozenset[str]) -> str | None:
    """The milestone that ended a boot, of those that it reached (name -> ns); `own` are the user's. None
    where none of them does."""
    ends = [name for name in milestones if name in ENDS or name in own]
    return max(ends, key=milestones.__getitem__) if ends else _ELSE if _ELSE in milestones else None


def last_line(boot: Boot, first: int) -> int | None:
    """The last line of a boot that no line ends, from line `first` on: the one before a long silence; None
    where there is none."""
    stamps = boot.log.at_ns
    if first >= len(stamps) or stamps[-1] - stamps[first] <= _LONGEST_WAIT_NS:
        return None
    gaps = enumerate(pairwise(stamps[first:]), first)
    return next((index for index, (a, b) in gaps if b - a > _LONGEST_WAIT_NS), None)
