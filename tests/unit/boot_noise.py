# SPDX-License-Identifier: Apache-2.0
"""Boot times as boards have them: skewed jitter, now and then a boot that waits for something, stamps in
steps."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

MS = 1_000_000


@dataclass(frozen=True)
class Board:
    """A made-up board: about `base_ms`, a lognormal jitter of the size `jitter_ms`, 1 boot in 10 with 10 ms
    more and 1 in 50 with 100 ms more, stamped when a chunk of `step_ms` from the serial port is read."""

    jitter_ms: float
    step_ms: int = 1
    base_ms: float = 5000

    def boot(self, rng: random.Random, times: float = 1.0) -> int:
        """One boot in ns; with `times` it takes so many times as long."""
        took = self.base_ms + self.jitter_ms * (math.exp(rng.gauss(0, 0.8)) - 1)
        chance = rng.random()
        took += 100 if chance < 0.02 else 10 if chance < 0.12 else 0
        return math.ceil(took * times / self.step_ms) * self.step_ms * MS

    def boots(self, rng: random.Random, count: int, times: float = 1.0) -> list[int]:
        """Several."""
        return [self.boot(rng, times) for _ in range(count)]
