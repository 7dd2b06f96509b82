# SPDX-License-Identifier: Apache-2.0
"""What a cluster did for a search: builds and boots, how many were repeated, and how many were in vain."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from bootscope.cluster.orders import Answer


@dataclass
class Counts:
    """`built`: id of a step -> how often workers built it; `booted`: build that was recorded -> how often.
    `again`: tasks that were repeated because a worker was lost, had a full disk, or sent something wrong."""

    built: Counter[str] = field(default_factory=Counter)
    booted: Counter[str] = field(default_factory=Counter)
    workers: Counter[str] = field(default_factory=Counter)
    """Address -> tasks that it finished."""
    fetched: int = 0
    wrong: int = 0
    again: int = 0
    stopped: int = 0
    busy_ms: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, answer: Answer, booted: str = "") -> None:
        """Counts an answer; `booted` is what was booted: its id, and how."""
        with self._lock:
            self.busy_ms += answer.host_ms
            self.fetched += len(answer.fetched)
            self.wrong += len(answer.wrong)
            self.stopped += answer.stopped
            if answer.made and answer.made.built:
                self.built[answer.made.step_id] += 1
            if answer.run_id:
                self.booted[booted] += 1
            if answer.made or answer.run_id:
                self.workers[answer.worker] += 1

    def repeat(self) -> None:
        """Counts a repeated task."""
        with self._lock:
            self.again += 1

    def line(self) -> str:
        """All counts in one line."""
        built, booted = (f"{c.total()} {what}, {_twice(c)} twice" for c, what in self._both())
        more = [
            (self.again, "tasks done again"), (self.wrong, "refused: wrong or lost bytes"),
            (self.stopped, "stopped"),
        ]  # fmt: skip
        told = "; ".join(f"{count} {what}" for count, what in more if count)
        return (
            f"cluster: {len(self.workers)} workers; {built}; {booted}; {self.fetched} results fetched from "
            f"others; {self.busy_ms / 1000:.0f} s of work" + (f"; {told}" if told else "")
        )

    def _both(self) -> list[tuple[Counter[str], str]]:
        return [(self.built, "steps built"), (self.booted, "boots")]


def _twice(counter: Counter[str]) -> int:
    """How many were done more than once."""
    return sum(count > 1 for count in counter.values())
