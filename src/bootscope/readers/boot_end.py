# SPDX-License-Identifier: Apache-2.0
"""Where a boot ends in a log that goes on: what comes later belongs to no phase."""

from __future__ import annotations

from itertools import pairwise
from time import gmtime

from bootscope.readers.base import NO_STAMP, Boot, Log

ENDS = ("login", "console-ready", "systemd-finished")
"""Milestones that end a boot; the last of those that are there counts, and the user's own with them."""
_ELSE = "default-target"
_LONGEST_WAIT_NS = 120_000_000_000
"""No device is waited for so long (systemd waits for 90 s): a log that is silent longer is of a system that
runs."""
_FIRST_MINUTES = 5
_NEAR = 200
"""Lines on each side in which a kernel's stamp is looked for."""


def told(milestones: dict[str, int], own: frozenset[str]) -> str | None:
    """The milestone that ended a boot, of those that it reached (name -> ns); `own` are the user's. None
    where none of them does."""
    ends = [name for name in milestones if name in ENDS or name in own]
    return max(ends, key=milestones.__getitem__) if ends else _ELSE if _ELSE in milestones else None


def last_line(boot: Boot, first: int) -> int | None:
    """The last line of a boot that no line ends, from line `first` on: the one before a long silence; None
    where there is none."""
    log = boot.log
    if first >= len(log) or log.at_ns[-1] - log.at_ns[first] <= _LONGEST_WAIT_NS:
        return None
    calendar = boot.clock.name == "wall"
    gaps = enumerate(pairwise(log.at_ns[first:]), first)
    long = (index for index, (a, b) in gaps if b - a > _LONGEST_WAIT_NS)
    silent = (index for index in long if not _speaks(log, index))
    return next((i for i in silent if not calendar or not (_from_unset(log, i) or _set(log, i))), None)


def _speaks(log: Log, index: int) -> bool:
    """Whether lines without a stamp, of which `index` is the last, may fill the time to the next stamp."""
    since = log.stamped_line(index)
    return log.at_ns[index + 1] - log.at_ns[index] <= (index - since + 1) * _LONGEST_WAIT_NS


def _from_unset(log: Log, index: int) -> bool:
    """Whether the calendar may have been set after line `index`, from where boards begin that have no
    battery, which is no silence. One that counts minutes from the first midnight on was not."""
    before, after = (gmtime(at_ns // 1_000_000_000) for at_ns in log.at_ns[index : index + 2])
    counts = before.tm_min < _FIRST_MINUTES and (after.tm_yday, before.tm_hour, after.tm_hour) == (1, 0, 0)
    return _unset(log.at_ns[index]) and not counts


def _unset(at_ns: int) -> bool:
    """Whether a calendar shows the first of January: there boards begin that have no battery."""
    day = gmtime(at_ns // 1_000_000_000)
    return (day.tm_mon, day.tm_mday) == (1, 1)


def _set(log: Log, index: int) -> bool:
    """Whether the calendar was set after line `index`: by the kernel's stamps around it less time went by."""
    behind = log.kernel_ns[max(0, index + 1 - _NEAR) : index + 1][::-1]
    ahead = log.kernel_ns[index + 1 : index + 1 + _NEAR]
    before, after = (next((ns for ns in some if ns != NO_STAMP), NO_STAMP) for some in (behind, ahead))
    return before != NO_STAMP and 0 <= after - before <= _LONGEST_WAIT_NS
