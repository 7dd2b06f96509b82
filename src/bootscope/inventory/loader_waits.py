# SPDX-License-Identifier: Apache-2.0
"""Fixed waits of a boot loader's drivers that a recorded boot shows, by the function that requests them."""

from __future__ import annotations

from bootscope.analysis.waits import spinning
from bootscope.core.text import span
from bootscope.inventory.recorded import Recorded
from bootscope.loaders.registry import LOADER_PHASES

_LONG_NS = 8_000_000
"""Far above the 2 ms of a reset, as a boot loader's clock may be slow; below the 20 ms that are
unnecessary."""


def i2c(facts: Recorded) -> str:
    """The wait after the reset of an I2C controller; empty where it is short."""
    names = facts.view.run.info.board.boot_loader.bus_resets
    return next((_words(name, ns) for name in names for ns in _waits(facts, name) if ns > _LONG_NS), "")


def card(facts: Recorded) -> str:
    """The waits around the command that makes a card idle, where the one after it is longer."""
    name = facts.view.run.info.board.boot_loader.card_idle
    took = _waits(facts, name)
    return _words(name, sum(took)) if took and 2 * max(took) > 3 * min(took) else ""


def _waits(facts: Recorded, function: str) -> list[int]:
    """The duration of each wait that boot loaders make in a function, in ns."""
    evidence = facts.view.evidence
    return [
        length_ns
        for _, asked, start_ns, length_ns in spinning(evidence)
        if asked == function and evidence.phase_at(start_ns) in LOADER_PHASES
    ]


def _words(function: str, ns: int) -> str:
    return f"{function} waits {span(ns)}"
