# SPDX-License-Identifier: Apache-2.0
"""How a boot of a real board ends: at the requested end, or earlier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bootscope.capture.record import BootEnd
from bootscope.core.text import seconds
from bootscope.hardware.console_monitor import LineWatch
from bootscope.hardware.line_rate import proposed
from bootscope.hardware.live_edges import Edge, LiveEdges
from bootscope.readers.markers import Marker

NS = 1_000_000_000
_STILL_NS = 100_000_000
"""An unfinished line that nothing has followed for this long is a prompt."""
_AFTER_NS = 300_000_000
"""Time to listen after a panic, for its last lines."""
_PROMPT_NS = 3_000_000_000
"""A boot loader that has been silent for this long after its prompt waits for a person."""


@dataclass(frozen=True)
class End:
    """What ends a boot well: a line, an edge of a pin, a silence, or a time since power-on; in ns.
    `timeout_ns`: when to give up. `words` describe it for people."""

    marker: Marker | None
    words: str
    text: str = ""
    """The text that ends it, where the user gave one."""
    edge: Edge | None = None
    """An edge that a logic analyser reports as it comes."""
    silence_ns: int = 0
    after_ns: int = 0
    timeout_ns: int = 120 * NS


@dataclass
class SoFar:
    """The state of a boot in progress, in ns of the monotonic clock."""

    watch: LineWatch
    rate: int = 0
    """The rate at which the line is listened to, in baud; 0 for unknown."""
    zero_ns: int = 0
    """When its power was switched on, or a person was asked to do that."""
    told_when: bool = True
    """Whether power came on at `zero_ns`; False where a person switches it some time later."""
    lost_ns: int = 0
    """Since when the port is gone; 0 while it is there."""
    pins: LiveEdges | None = None
    """Set where edges are reported as they come."""

    @property
    def begun_ns(self) -> int:
        """The origin of its times: power-on, or the first byte where the moment of power-on is unknown."""
        return self.zero_ns if self.told_when else self.watch.first_ns or self.zero_ns


class Ended(NamedTuple):
    """How a boot has ended, and the message: `words`, the moment that they refer to, `more`.

    `at_ns` is on the monotonic clock, None where the words refer to no moment.
    """

    how: BootEnd
    words: str
    at_ns: int | None = None
    more: str = ""

    def message(self, zero_ns: int) -> str:
        """The message, with times that count from `zero_ns`."""
        at = "" if self.at_ns is None else f" {seconds(max(0, self.at_ns - zero_ns))} s"
        return f"{self.words}{at}{self.more}"


def verdict(end: End, boot: SoFar, now_ns: int) -> Ended | None:
    """How a boot has ended by `now_ns` of the monotonic clock; None while it goes on."""
    watch = boot.watch
    if end.edge and (found := _at_edge(end, boot)):
        return found
    since, quiet = now_ns - boot.zero_ns, now_ns - (watch.last_ns or boot.zero_ns)
    if watch.reached or (watch.waiting and quiet > _STILL_NS):
        again = f"; the board started more than once: {_starts(watch)}" if watch.restarted else ""
        return Ended(BootEnd.MILESTONE, f"{end.words} at", watch.last_ns, again)
    if watch.panicked and quiet > _AFTER_NS:
        return Ended(BootEnd.PANIC, "the kernel panicked at", watch.last_ns)
    if watch.loops:
        return Ended(BootEnd.LOOP, f"the board restarts repeatedly: {_starts(watch)}")
    if watch.garbled:
        return Ended(BootEnd.GARBLED, _garbled(boot))
    if end.silence_ns and watch.heard and quiet > end.silence_ns:
        return Ended(BootEnd.MILESTONE, f"{end.words}, from", watch.last_ns, " on")
    if end.after_ns and since > end.after_ns:
        return Ended(BootEnd.MILESTONE, end.words)
    if watch.at_prompt and quiet > _PROMPT_NS:
        asked = "; was a key sent to it?"
        return Ended(BootEnd.PROMPT, "the boot loader waits for a command since", watch.last_ns, asked)
    return _given_up(end, boot, since) if since > end.timeout_ns else None


def source_ended(end: End, boot: SoFar, listens: str) -> Ended:
    """How the boot has ended when nothing more can come from the source; `listens` names it for people."""
    if boot.watch.waiting:
        # Nothing can follow the prompt any more.
        return Ended(BootEnd.MILESTONE, f"{end.words} at", boot.watch.last_ns)
    if boot.watch.heard and end.marker is None and end.edge is None:
        return Ended(BootEnd.MILESTONE, "the source ended")
    return Ended(BootEnd.DIED, f"{listens} ended before {end.words}")


def _at_edge(end: End, boot: SoFar) -> Ended | None:
    """How the boot has ended where it waits for an edge, if that decides it."""
    assert end.edge
    at_ns = boot.pins.first_ns(end.edge, boot.zero_ns) if boot.pins else None
    if at_ns is not None:
        return Ended(BootEnd.MILESTONE, f"{end.words} at", at_ns)
    if boot.pins is None or not boot.pins.lives():
        return Ended(BootEnd.DIED, f"the logic analyser ended before {end.words}")
    return None


def _given_up(end: End, boot: SoFar, since_ns: int) -> Ended:
    within = f"within {seconds(since_ns, 0)} s"
    if boot.lost_ns:
        return Ended(BootEnd.LOST, f"the console's port vanished and did not come back {within}")
    if not boot.watch.heard:
        return Ended(
            BootEnd.SILENT,
            f"no console output {within}: is the board on, its transmit line on this port, and "
            "ground connected?",
        )
    words = f"{end.words} was not reached {within}; the last byte came at"
    return Ended(BootEnd.TIMEOUT, words, boot.watch.last_ns)


def _starts(watch: LineWatch) -> str:
    name, count = max(watch.starts.items(), key=lambda item: item[1])
    return f"{count} times {name}"


def _garbled(boot: SoFar) -> str:
    message = "the console output is not text"
    if boot.rate:
        others = " or ".join(str(r) for r in proposed(boot.watch.sample, boot.rate))
        message += f": {boot.rate} baud is the wrong rate" + (f", try --rate {others}" if others else "")
    return message
