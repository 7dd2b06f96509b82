# SPDX-License-Identifier: Apache-2.0
"""What looking ahead costs a search: work on systems that the search never asked for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class Ahead:
    """Counts by the keys of systems. Host time in seconds, of whatever thread or worker did the work."""

    _asked: set[str] = field(default_factory=set)
    _spent_s: dict[str, float] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, key: str) -> None:
        """The search asks for a system."""
        with self._lock:
            self._asked.add(key)

    def spend(self, key: str, took_s: float) -> None:
        """Records `took_s` seconds of work on a system."""
        with self._lock:
            self._spent_s[key] = self._spent_s.get(key, 0.0) + took_s

    def end(self, key: str, done: bool) -> None:
        """The work on a system is over; `done`: its outcome is now known."""
        with self._lock:
            if done:
                self._done.add(key)

    @property
    def wasted(self) -> int:
        """Systems that were worked on and never asked for."""
        return len(self._spent_s.keys() - self._asked)

    @property
    def wasted_s(self) -> float:
        """Time spent on those systems, in seconds."""
        return sum(s for key, s in self._spent_s.items() if key not in self._asked)

    def line(self) -> str:
        """All of it in one line."""
        spent_s = sum(self._spent_s.values())
        unasked = len(self._done - self._asked)
        return (
            f"{len(self._spent_s)} systems, {spent_s:.0f} s of builds and boots; {self.wasted} of them were "
            f"started early and not needed ({unasked} completed): {self.wasted_s:.0f} s"
        )
