# SPDX-License-Identifier: Apache-2.0
"""A moment of a boot in board time, and the emulator's virtual time at it."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from bootscope.analysis.evidence import Evidence
from bootscope.boards.changed import waits_for_devices
from bootscope.core.errors import UserError, similar
from bootscope.core.text import seconds

_UNITS_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_TIME = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))? ?(s|ms|us|ns)?")


BEFORE = "power-on and ROM"
"""What the board spends before the first instruction."""


@dataclass(frozen=True)
class Moment:
    """`board_ns`: as requested; `virtual_ns`: of the emulator; `inside`: what the board waits for at that
    moment, in words, if a device takes the time; `exact`: whether the virtual time is known, not
    interpolated."""

    board_ns: int
    virtual_ns: int
    inside: str
    exact: bool


def moment(evidence: Evidence, asked: str, option: str = "--at") -> Moment:
    """The moment given to an option: board time as 2.345s, 12 ms, 2.345 (seconds), or a milestone.

    Raises UserError for anything else, and for a time outside the recording.
    """
    if not evidence.records:
        raise UserError(f"{option} {asked}: the recording of this boot is empty")
    board_ns = _board_ns(evidence, asked, option)
    last, records = len(evidence.records) - 1, evidence.recorded
    if not 0 <= board_ns <= evidence.clock.before(last):
        end = seconds(evidence.clock.before(last), 9)
        raise UserError(f"{option} {asked}: the boot was recorded from 0 to {end} s of board time")
    virtual_ns = board_ns - evidence.run.board.power_on_ns.value
    if waits_for_devices(evidence.run.board) and virtual_ns >= 0:
        # Such a boot's clock is that of the board.
        return Moment(board_ns, virtual_ns, "", True)
    index = evidence.index_at(board_ns)
    if evidence.clock.before(index) == board_ns:
        return Moment(board_ns, records[index].time_ns, "", True)
    if index == 0:
        return Moment(board_ns, 0, BEFORE, True)
    before, after = index - 1, evidence.clock.after(index - 1)
    if board_ns < after:
        # The instruction that gave the device its command has been executed.
        costs = evidence.costs
        cost = costs[bisect_left(costs, before, key=lambda c: c.index)]
        return Moment(board_ns, records[before].time_ns + evidence.run.board.tick_ns, cost.kind, True)
    passed, took = board_ns - after, evidence.records[index].time_ns - evidence.records[before].time_ns
    virtual = records[index].time_ns - records[before].time_ns
    inside = passed if took == virtual else passed * virtual // max(1, took)
    return Moment(board_ns, records[before].time_ns + inside, "", took == virtual)


def _board_ns(evidence: Evidence, asked: str, option: str) -> int:
    milestones = evidence.timeline.milestones
    if asked in milestones:
        return milestones[asked]
    match = _TIME.fullmatch(asked.strip())
    if not match:
        close = similar(asked, milestones)
        raise UserError(
            f"{option} {asked}: neither a time nor a milestone of this boot",
            hint=f"2.345s, 345ms, or {' or '.join(close or list(milestones))}",
        )
    whole, part, unit = match[1], match[2] or "", _UNITS_NS[match[3] or "s"]
    return int(whole) * unit + int(part.ljust(9, "0")) * unit // 10**9
