# SPDX-License-Identifier: Apache-2.0
"""How a boot of a real board ends: what was asked for, and what may come instead."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.boards.line_rate import proposed
from bootscope.boards.line_watch import LineWatch
from bootscope.boards.live_edges import Edge, LiveEdges
from bootscope.readers.markers import Marker
from bootscope.report.text import seconds

NS = 1_000_000_000
_STILL_NS = 100_000_000
"""A line that has not ended and nothing followed for so long is a prompt."""
_AFTER_NS = 300_000_000
"""Listened to after a panic, for its last lines."""
_PROMPT_NS = 3_000_000_000
"""A boot loader that has said nothing for so long after its prompt waits for a person."""


@dataclass(frozen=True)
class End:
    """What ends a boot well: a line, an edge of a pin, a silence, or a time since power on; in ns.
    `timeout_ns` is when to give up. `words` say it for people."""

    marker: Marker | None
    words: str
    text: str = ""
    """The text that ends it, where it was told as one."""
    edge: Edge | None = None
    """An edge that a logic analyser tells while it comes."""
    silence_ns: int = 0
    after_ns: int = 0
    timeout_ns: int = 120 * NS


@dataclass
class SoFar:
    """What a boot under way has told, in ns of the monotonic clock."""

    watch: LineWatch
    rate: int = 0
    """At which the line is listened to, in baud; 0 for unknown."""
    zero_ns: int = 0
    """When its power was switched on."""
    lost_ns: int = 0
    """Since when the port is gone; 0 while it is there."""
    pins: LiveEdges | None = None
    """Where edges are told while they come."""


def verdict(end: End, boot: SoFar, now_ns: int) -> tuple[str, str] | None:
    """How a boot has ended by `now_ns` of the monotonic clock, and a message; None while it goes on."""
    watch = boot.watch
    if end.edge and (found := _at_edge(end, boot)):
        return found
    since, quiet = now_ns - boot.zero_ns, now_ns - (watch.last_ns or boot.zero_ns)
    at = f"{seconds(max(0, watch.last_ns - boot.zero_ns))} s" if watch.heard else "never"
    if watch.reached or (watch.waiting and quiet > _STILL_NS):
        again = f"; the board started more than once: {_starts(watch)}" if watch.restarted else ""
        return "milestone", f"{end.words} at {at}{again}"
    if watch.panicked and quiet > _AFTER_NS:
        return "panic", f"the kernel panicked at {at}"
    if watch.loops:
        return "loop", f"the board starts again and again: {_starts(watch)}"
    if watch.garbled:
        return "garbled", _garbled(boot)
    if end.silence_ns and watch.heard and quiet > end.silence_ns:
        return "milestone", f"{end.words}, from {at} on"
    if end.after_ns and since > end.after_ns:
        return "milestone", end.words
    if watch.at_prompt and quiet > _PROMPT_NS:
        return "prompt", f"the boot loader waits for a command since {at}; was a key sent to it?"
    return _given_up(end, boot, since) if since > end.timeout_ns else None


def source_ended(end: End, boot: SoFar, listens: str) -> tuple[str, str]:
    """The same where nothing will come any more from what `listens`, in words for people."""
    if boot.watch.waiting:
        # Nothing can follow the prompt any more.
        return "milestone", f"{end.words} at {seconds(max(0, boot.watch.last_ns - boot.zero_ns))} s"
    if boot.watch.heard and end.marker is None and end.edge is None:
        return "milestone", "the source ended"
    return "died", f"{listens} ended before {end.words}"


def _at_edge(end: End, boot: SoFar) -> tuple[str, str] | None:
    """The same where an edge is waited for, as far as that decides it."""
    assert end.edge
    at_ns = boot.pins.first_ns(end.edge, boot.zero_ns) if boot.pins else None
    if at_ns is not None:
        return "milestone", f"{end.words} at {seconds(at_ns - boot.zero_ns)} s"
    if boot.pins is None or not boot.pins.lives():
        return "died", f"the logic analyser ended before it told {end.words}"
    return None


def _given_up(end: End, boot: SoFar, since_ns: int) -> tuple[str, str]:
    within = f"within {seconds(since_ns, 0)} s"
    if boot.lost_ns:
        return "lost", f"the console's port vanished and did not come back {within}"
    if not boot.watch.heard:
        return "silent", (
            f"the board said nothing {within}: is it switched on, is its transmit line on this port, are the "
            "grounds joined?"
        )
    return "timeout", f"{end.words} was not reached {within}; the last byte came at " + (
        f"{seconds(max(0, boot.watch.last_ns - boot.zero_ns))} s"
    )


def _starts(watch: LineWatch) -> str:
    name, count = max(watch.starts.items(), key=lambda item: item[1])
    return f"{count} times {name}"


def _garbled(boot: SoFar) -> str:
    message = "what comes is no text"
    if boot.rate:
        others = " or ".join(str(r) for r in proposed(boot.watch.sample, boot.rate))
        message += f": {boot.rate} baud is the wrong rate" + (f", try --rate {others}" if others else "")
    return message
