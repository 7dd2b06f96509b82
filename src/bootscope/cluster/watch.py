# SPDX-License-Identifier: Apache-2.0
"""Ends work that nobody wants any more."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from bootscope.builder.progress import Progress
from bootscope.capture.record import BootInfo


class Ended(KeyboardInterrupt):
    """Nobody wants this work any more; builds and recordings clean up as for Ctrl-C."""


@dataclass
class Watch(Progress):
    """Checks whether the work is still wanted, at every sign of progress of a build or a boot."""

    stop: threading.Event

    def look(self) -> None:
        if self.stop.is_set():
            raise Ended

    def begin(self, step: str, what: str) -> None:
        self.look()

    def update(self, done: int, total: int | None, unit: str) -> None:
        self.look()

    def boot_begins(self, number: int, total: int) -> None:
        self.look()

    def line(self, time_ns: int, phase: str, data: bytes) -> None: ...

    def tick(self, time_ns: int, phase: str) -> None:
        self.look()

    def boot_ended(self, info: BootInfo) -> None: ...

    def counting(self, core: str) -> None: ...
