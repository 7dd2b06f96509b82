# SPDX-License-Identifier: Apache-2.0
"""Reading another computer's clock while it listens to a board."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from typing import IO

from bootscope.capture import tapper
from bootscope.capture.offset import Answer, Offset, offset_of

TRIPS = 12
"""Questions before a boot and after it: the one with the shortest round trip counts."""
_APART_S = 0.02
_EVERY_S = 2.0
"""The interval of questions during a boot, which tell the other end that somebody still listens."""


class FarClock:
    """Writes questions to `asks`, the standard input of the listening program, and keeps the answers.

    A thread asks those at a boot's beginning and some during it. Answers come in the order of the questions.
    """

    def __init__(self, asks: IO[bytes] | None) -> None:
        assert asks
        self._asks = asks
        self._open: deque[int] = deque()
        self._answers: list[Answer] = []
        self._offset: Offset | None = None
        self._lock, self._over = threading.Lock(), threading.Event()

    def begin(self) -> None:
        """Asks several times at once, then now and then until :meth:`end`."""
        threading.Thread(target=self._go_on, daemon=True).start()

    def _go_on(self) -> None:
        asked = 0
        while not self._over.wait(_APART_S if asked < TRIPS else _EVERY_S):
            self._ask()
            asked += 1

    def _ask(self) -> None:
        # The reader of a child's output notices when the child has ended.
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._open.append(time.monotonic_ns())
            self._asks.write(tapper.QUESTION)
            self._asks.flush()

    def answered(self, there_ns: int, heard_ns: int) -> Answer | None:
        """Handles an answer; None for one without a question."""
        if not self._open:
            return None
        answer = Answer(self._open.popleft(), there_ns, heard_ns)
        self._answers.append(answer)
        if len(self._answers) <= TRIPS:
            self._offset = offset_of(self._answers)
        return answer

    @property
    def known(self) -> bool:
        """Whether enough answers have come to begin."""
        return len(self._answers) >= TRIPS

    @property
    def waits(self) -> bool:
        """Whether an answer is still to come."""
        return bool(self._open)

    def ours(self, there_ns: int) -> int:
        """A moment of the other clock on ours, as well as that is known during a boot."""
        return there_ns + self._offset.offset_ns if self._offset else time.monotonic_ns()

    def end(self) -> None:
        """Asks a few more times."""
        self._over.set()
        for _ in range(TRIPS):
            self._ask()
            time.sleep(_APART_S)
