# SPDX-License-Identifier: Apache-2.0
"""The one figure that a boot is told by: when it reached what it was to come to, by its own clock.

A boot's stored message was written while it was listened to; its time counts from wherever listening began.
What the capture itself tells is exact to the stated error, and it is what all verbs show.
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
    """A milestone of a boot: when it was reached, in ns from its zero, and by how much that may be off."""

    name: str
    ns: int
    error_ns: int


def reached(trace: Trace, until: str) -> Reached | None:
    """When the milestone that a boot was for was reached; None where its trace has none of that name."""
    found = [p for p in trace.points if p.kind == "milestone" and p.name == until]
    first = min(found, key=lambda point: point.at_ns, default=None)
    return Reached(first.name, first.at_ns, first.error_ns) if first else None


def reached_in(run: MeasuredRun, number: int) -> Reached | None:
    """The same of boot `number` (from 1) of a real board; None also where its capture cannot be read."""
    # The readers are not loaded by who needs none.
    from bootscope.importing.files import of_boot

    try:
        return reached(of_boot(run, number).trace(1, lines=False), until_of(run.info))
    except UserError:
        return None


def until_of(info: MeasuredInfo) -> str:
    """The name of the milestone that ends the boots of a run."""
    return END_TEXT if info.end_text else info.until


def with_own_figure(run: MeasuredRun, info: BootInfo) -> BootInfo:
    """A boot whose message tells the milestone's own figure."""
    found = reached_in(run, info.number) if info.complete else None
    return msgspec.structs.replace(info, message=with_figure(info.message, found)) if found else info


def with_figure(message: str, found: Reached | None) -> str:
    """A stored message with the milestone's own figure in it."""
    if found is None:
        return message
    return _FIGURE.sub(rf"\g<before>{seconds(found.ns)} s", message, count=1)
