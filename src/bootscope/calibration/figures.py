# SPDX-License-Identifier: Apache-2.0
"""From fitted rates to the figures of a board profile, in the profile's units."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bootscope.boards.profile import UNSCALED_PPM, Board
from bootscope.calibration.fit import Fitted, Rate, Told
from bootscope.calibration.model import EmulatedBoot, HeardLine
from bootscope.calibration.observe import RealBoot
from bootscope.calibration.on_core import CoreAmounts
from bootscope.calibration.rates import BYTES, COMMANDS, CPU, EXTRA, LINE, MEMORY
from bootscope.calibration.result import (
    BANDWIDTH,
    CPU_SCALE,
    INSTRUCTION,
    KEPT,
    LATENCY,
    LINE_RATE,
    MEMORY_LATENCY,
    POWER_ON,
    Figure,
)
from bootscope.calibration.stretches import Heard, deviation, stamped
from bootscope.statistics.describe import median
from bootscope.statistics.student import student_975

_NS = 1_000_000_000
_BITS = 10
_FASTEST = 1_000_000_000_000
"""Bytes per second of a card whose transfer time is too short to measure."""
_SAME_RATE = 0.03
"""A line cannot be read when its rate is further off than this: closer rates count as the same."""
_RATE_HALF = 0.01
_OWN_CLOCK = "the moment of power-on is unknown: time 0 of these boots is another moment"


def known_line(emulated: EmulatedBoot, boots: Sequence[RealBoot]) -> dict[int, Told]:
    """The serial line's rate, where all boots were captured at the same known rate."""
    rates = {boot.rate for boot in boots}
    rate = rates.pop()
    if rates or not rate or not emulated.byte_ns:
        return {}
    ratio = _BITS * _NS / rate / emulated.byte_ns
    # A port's clock never gives exactly the nominal rate: the emulated port has the same deviation.
    ratio = 1.0 if abs(ratio - 1) <= _SAME_RATE else ratio
    return {LINE: Told(ratio, ratio * _RATE_HALF, f"the console was read at {rate} baud")}


def cpu_figure(board: Board, fit: Fitted) -> Figure:
    """The CPU's time relative to the emulator's, without a model of a core."""
    return _straight(CPU_SCALE, board.cpu_scale_ppm.value, fit.found[CPU], UNSCALED_PPM)


def figures_of_core(core: CoreAmounts, fit: Fitted) -> list[Figure]:
    """The time of an instruction on the core, and of reading a cache line from its memory."""
    costs = core.timing.core.costs
    each, line = costs.instruction_millicycles.value, costs.read_ns.value
    return [
        _straight(INSTRUCTION, each, fit.found[CPU], each),
        _straight(MEMORY_LATENCY, line, fit.found[MEMORY], line),
    ]


def figures(board: Board, byte_ns: int, fit: Fitted) -> list[Figure]:
    """The figures of card and line. `byte_ns`: time of a byte on the emulator's line."""
    card, found = board.card, fit.found
    baud = _BITS * _NS / byte_ns if byte_ns else 0.0
    return [
        _turned(BANDWIDTH, card.bandwidth_bytes_per_s.value, found[BYTES], _NS),
        _straight(LATENCY, card.command_latency_ns.value, found[COMMANDS], 1),
        _turned(LINE_RATE, round(baud), found[LINE], baud),
    ]


def _straight(name: str, before: int, rate: Rate, unit: float) -> Figure:
    """A figure that is proportional to its rate."""
    if rate.how == KEPT:
        return Figure(name, before, before, None, None, how=KEPT, why=rate.why)
    low, high = (
        max(0, math.floor((rate.value - rate.half) * unit)),
        math.ceil((rate.value + rate.half) * unit),
    )
    value = max(round(rate.value * unit), 0 if name == LATENCY else 1)
    return Figure(name, before, value, low, high, rate.stretches, rate.how, rate.why, rate.warning)


def _turned(name: str, before: int, rate: Rate, unit: float) -> Figure:
    """A figure that is inversely proportional to its rate."""
    if rate.how == KEPT:
        return Figure(name, before, before, None, None, how=KEPT, why=rate.why)
    smallest = rate.value - rate.half
    low = math.floor(unit / (rate.value + rate.half)) if rate.value + rate.half > 0 else before
    high = math.ceil(unit / smallest) if smallest * _FASTEST > unit else None
    value = max(1, round(unit / rate.value) if rate.value * _FASTEST > unit else _FASTEST)
    return Figure(name, before, value, low, high, rate.stretches, rate.how, rate.why, rate.warning)


def power_on(board: Board, seen: Sequence[Heard], lines: Sequence[HeardLine], fit: Fitted) -> Figure:
    """The time from power to the first instruction: the rest of the time to the first line."""
    before = board.power_on_ns.value
    known = [h for h in seen if h.boot.zero_error_ns is not None and h.at_ns]
    if not known:
        return Figure(POWER_ON, before, before, None, None, how=KEPT, why=_OWN_CLOCK)
    rest: list[int] = []
    off_ns = 0.0
    for h in known:
        place = min(h.at_ns)
        parts = stamped(lines, place, h.boot.stamp)
        rest.append(h.at_ns[place] - round(parts.at(fit.rates)))
        of_rates = [*zip(fit.found, parts[:EXTRA], strict=False)]
        of_rates += [(rate, parts.memory_ns) for rate in fit.found[MEMORY:]]
        model = math.hypot(*(rate.half * amount for rate, amount in of_rates))
        off_ns = max(off_ns, math.hypot(model, (h.boot.zero_error_ns or 0) + h.boot.stamp_error_ns))
    half = math.hypot(off_ns, student_975(max(1, len(rest) - 1)) * deviation(rest))
    value = max(0, median(rest))
    warning = "from a single boot: its variation is unknown" if len(rest) == 1 else ""
    if median(rest) < 0:
        warning = "the first line came earlier than the emulator can send it"
    low, high = max(0, math.floor(value - half)), math.ceil(value + half)
    return Figure(POWER_ON, before, value, low, high, float(len(rest)), warning=warning)
