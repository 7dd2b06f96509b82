# SPDX-License-Identifier: Apache-2.0
"""The one figure that sums up a boot: when it reached the milestone that it was for, by its own clock.

A boot's stored message was written during recording; its time counts from the beginning of recording. The
capture itself gives a figure that is exact to the stated error, and all verbs show that one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from bootscope.capture.measured import END_TEXT, MeasuredInfo
from bootscope.capture.record import BootInfo
from bootscope.capture.stored import MeasuredRun
from bootscope.core.errors import UserError
from bootscope.core.text import seconds
from bootscope.timeline.trace import Trace

_FIGURE = re.compile(r"(?P<before> at )-?\d+\.\d{3} s(?=;|$)")


@dataclass(frozen=True, slots=True)
class Reached:
    """A milestone of a boot: when it was reached, in ns from its zero, and the error of that, in ns."""

    name: str
    ns: int
    error_ns: int


def reached(trace: Trace, until: str) -> Reached | None:
    """When the milestone that a boot was for was reached; None if its trace has no such milestone."""
    found = [p for p in trace.points if p.kind == "milestone" and p.name == until]
    first = min(found, key=lambda point: point.at_ns, default=None)
    return Reached(first.name, first.at_ns, first.error_ns) if first else None


def reached_in(run: MeasuredRun, number: int) -> Reached | None:
    """The same for boot `number` (from 1) of a real board; None also if its capture cannot be read."""
    # The readers are loaded only where they are needed.
    from bootscope.importing.files import of_boot

    try:
        return reached(of_boot(run, number).trace(1, lines=False), until_of(run.info))
    except UserError:
        return None


def until_of(info: MeasuredInfo) -> str:
    """The name of the milestone that ends the boots of a run."""
    return END_TEXT if info.end_text else info.until


def with_own_figure(run: MeasuredRun, info: BootInfo) -> BootInfo:
    """A boot with the milestone's own figure in its message."""
    found = reached_in(run, info.number) if info.complete else None
    return msgspec.structs.replace(info, message=with_figure(info.message, found)) if found else info


def with_figure(message: str, found: Reached | None) -> str:
    """A stored message with the milestone's own figure in it."""
    if found is None:
        return message
    return _FIGURE.sub(rf"\g<before>{seconds(found.ns)} s", message, count=1)
