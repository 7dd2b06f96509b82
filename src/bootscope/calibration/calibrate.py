# SPDX-License-Identifier: Apache-2.0
"""Calibration: a profile's figures from boots of the real board and an emulated boot of the same system."""

from __future__ import annotations

from collections.abc import Sequence

from bootscope.boards.profile import Board
from bootscope.calibration.figures import cpu_figure, figures, figures_of_core, known_line, power_on
from bootscope.calibration.fit import Fitted, fitted
from bootscope.calibration.model import EmulatedBoot, HeardLine
from bootscope.calibration.observe import RealBoot
from bootscope.calibration.rates import EXTRA, Rates, rates_of
from bootscope.calibration.result import FITTED, Calibration, Compared
from bootscope.calibration.robust import Row
from bootscope.calibration.stretches import Stretch, heard, parts_of, row_of, stretches
from bootscope.core.errors import UserError
from bootscope.core.text import span

FEWEST_STRETCHES = 6
_FEW_PERCENT = 30


def calibrate(like: str, emulated: EmulatedBoot, board: Board, boots: Sequence[RealBoot]) -> Calibration:
    """Fits `board`'s figures to the boots; `like` is the id of the emulated one.

    Raises UserError when the boots have too little in common.
    """
    if len({boot.stamp for boot in boots}) > 1:
        raise UserError(
            "these boots have stamps of different moments of a line",
            hint="give boots with one kind of stamp at a time",
        )
    before, stamp = rates_of(board), boots[0].stamp
    on_core = emulated.core is not None
    before = before._replace(cpu=1.0) if on_core else before
    lines = emulated.lines(before)
    seen = heard(boots, lines)
    found = stretches(seen, lines, before)
    matched = len({place for h in seen for place in h.at_ns})
    if len(found) < FEWEST_STRETCHES:
        raise _too_little(found, matched, lines, like)

    def amounts(rates: Rates) -> list[Row]:
        at = emulated.lines(rates)
        return [row_of(s, parts_of(s, at, stamp), on_core=on_core) for s in found]

    fit = fitted(amounts, before, known_line(emulated, boots))
    after = emulated.lines(fit.rates)
    return Calibration(
        board=board,
        like=like,
        boots=tuple(boot.boot_id for boot in boots),
        figures=(
            *(figures_of_core(emulated.core, fit) if emulated.core else [cpu_figure(board, fit)]),
            *figures(board, emulated.byte_ns, fit),
            power_on(board, seen, after, fit),
        ),
        core=emulated.core.timing.core if emulated.core else None,
        stretches=tuple(_compared(emulated, found, (lines, after), (before, fit.rates), fit, stamp)),
        lines=len(lines),
        matched=matched,
        notes=tuple(_notes(emulated, matched, len(lines), fit)),
    )


def _too_little(found: Sequence[Stretch], matched: int, lines: Sequence[HeardLine], like: str) -> UserError:
    hint = f"{like} must be of the system that the board boots; is it? (--like RUN names another)"
    if not matched:
        return UserError(f"not one of the {len(lines)} console lines of {like} is in these boots", hint=hint)
    return UserError(
        f"{matched} of the {len(lines)} console lines of {like} are in these boots, which makes {len(found)} "
        f"stretches long enough to be measured; {FEWEST_STRETCHES} is the least",
        hint=hint + "; a kernel with 'quiet' prints too few",
    )


def _compared(
    emulated: EmulatedBoot,
    found: Sequence[Stretch],
    lines: tuple[Sequence[HeardLine], Sequence[HeardLine]],
    rates: tuple[Rates, Rates],
    fit: Fitted,
    stamp: str,
) -> list[Compared]:
    """The stretches with their predictions by the old and the new rates."""
    return [
        Compared(
            phase=emulated.phase_between(s.first, s.last),
            first=lines[0][s.first].data,
            last=lines[0][s.last].data,
            boots=s.boots,
            took_ns=s.took_ns,
            before_ns=round(parts_of(s, lines[0], stamp).at(rates[0])),
            after_ns=round(parts_of(s, lines[1], stamp).at(rates[1])),
            counted=weight > 0,
        )
        for s, weight in zip(found, fit.weights, strict=True)
    ]


def _notes(emulated: EmulatedBoot, matched: int, lines: int, fit: Fitted) -> list[str]:
    found = []
    extra = fit.found[EXTRA]
    if extra.how == FITTED and extra.value > extra.half:
        found.append(
            f"each console line takes {span(round(extra.value))} on the board that no figure of a "
            "profile covers: interrupts, and the stamping program"
        )
    if matched * 100 < lines * _FEW_PERCENT:
        found.append(
            f"only {matched} of {lines} console lines are in both: is it the same system, built the same way?"
        )
    if not emulated.sees_delays:
        found.append(
            "this emulated run predates the recording of loops that wait for a clock and counts "
            "them as CPU work: record the system again"
        )
    return found
