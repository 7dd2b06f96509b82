# SPDX-License-Identifier: Apache-2.0
"""speedscope's file format: the stacks as a sampled profile, each row of a track as an evented one.

https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count

import msgspec

from bootscope import __version__
from bootscope.export.base import Subject
from bootscope.export.collapsed import in_order
from bootscope.export.lanes import edges, lanes
from bootscope.export.text import plain
from bootscope.timeline.trace import Span, Stack

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


Frames = dict[str, int]
"""The frames that all profiles share -> their numbers; a new frame gets the next number."""


def _sampled(stacks: list[Stack], frames: Frames) -> dict[str, object]:
    kept = [stack for stack in stacks if stack.ns > 0]
    return {
        "type": "sampled",
        "name": "where the time went",
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": sum(stack.ns for stack in kept),
        "samples": [[frames[plain(name)] for name in stack.frames] for stack in kept],
        "weights": [stack.ns for stack in kept],
    }


def _evented(name: str, lane: list[Span], total_ns: int, frames: Frames) -> dict[str, object]:
    events = [
        {"type": "O" if edge.begin else "C", "frame": frames[plain(edge.span.name)], "at": edge.at_ns}
        for edge in edges(lane)
    ]
    return {
        "type": "evented",
        "name": name,
        "unit": "nanoseconds",
        "startValue": min(0, lane[0].start_ns),
        "endValue": max(total_ns, *(span.end_ns for span in lane)),
        "events": events,
    }


def make(subject: Subject) -> bytes:
    """The bytes of a .speedscope.json file."""
    trace, frames = subject.trace, defaultdict[str, int](count().__next__)
    profiles = [_sampled(in_order(trace), frames)] if trace.stacks else []
    for track in trace.tracks:
        for index, lane in enumerate(lanes(track)):
            name = plain(track.title) + (f" ({index + 1})" if index else "")
            profiles.append(_evented(name, lane, trace.total_ns, frames))
    document = {
        "$schema": SCHEMA,
        "exporter": f"bootscope@{__version__}",
        "name": plain(trace.title),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
    }
    return msgspec.json.encode(document) + b"\n"
