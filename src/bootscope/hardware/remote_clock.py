# SPDX-License-Identifier: Apache-2.0
"""Asking another computer, while it listens to a board, what its clock says."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import IO

from bootscope.capture import tapper
from bootscope.capture.offset import Answer, Offset, offset_of

TRIPS = 12
"""Questions before a boot, and after it: the shortest round trip of them counts."""
_APART_S = 0.02
_EVERY_S = 2.0
"""A question, during a boot: so that the other end knows that somebody listens."""


class FarClock:
    """Puts questions to `asks`, the standard input of the program that listens, and keeps the answers.

    The questions of a boot's beginning, and some during it, are a thread's. Answers come in the order of the
    questions.
    """

    def __init__(self, asks: IO[bytes] | None) -> None:
        assert asks
        self._asks = asks
        self._open: deque[int] = deque()
        self._answers: list[Answer] = []
        self._offset: Offset | None = None
        self._lock, self._over = threading.Lock(), threading.Event()

    def begin(self) -> None:
        """Asks a few times at once, then now and then until :meth:`end`."""
        threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self) -> None:
        asked = 0
        while not self._over.wait(_APART_S if asked < TRIPS else _EVERY_S):
            self._ask()
            asked += 1

    def _ask(self) -> None:
        # A child that has ended is noticed by whoever reads from it.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._open.append(time.monotonic_ns())
            self._asks.write(tapper.QUESTION)
            self._asks.flush()

    def answered(self, there_ns: int, heard_ns: int) -> Answer | None:
        """An answer was heard; None for one that nobody asked for."""
        if not self._open:
            return None
        answer = Answer(self._open.popleft(), there_ns, heard_ns)
        self._answers.append(answer)
        if len(self._answers) <= TRIPS:
            self._offset = offset_of(self._answers)
        return answer

    @property
    def known(self) -> bool:
        """Whether there were answers enough to begin with."""
        return len(self._answers) >= TRIPS

    @property
    def waits(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._open)

    def ours(self, there_ns: int) -> int:
        """A moment of the other clock on ours, as far as that is known while a boot goes on."""
        return there_ns + self._offset.offset_ns if self._offset else time.monotonic_ns()

    def end(self) -> None:
        """Asks a few more times."""
        self._over.set()
        for _ in range(TRIPS):
            self._ask()
            time.sleep(_APART_S)
