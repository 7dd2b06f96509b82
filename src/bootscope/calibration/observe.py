# SPDX-License-Identifier: Apache-2.0
"""Boots of a real board from the store: console lines with their times, and how exact these are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bootscope.boards.pins import Pins
from bootscope.capture import dating, tap
from bootscope.capture.measured import TAP
from bootscope.capture.store import Store
from bootscope.capture.stored import MeasuredRun
from bootscope.core.errors import UserError
from bootscope.importing.files import Understood, of_boot
from bootscope.readers.base import Boot, Log
from bootscope.readers.formats.tap import stamp_error_ns
from bootscope.runs.heard import Imported, Measured
from bootscope.runs.run import Recording, run_of

_RATE_IS_SET = ("serial", "rfc2217")
"""Consoles that cannot be read unless the configured rate is the line's."""


@dataclass(frozen=True)
class RealBoot:
    """A boot as a listener heard it. `lines`: (time in ns, text, untrusted).

    `stamp`: which moment of a line that is (readers/base.py); `stamp_error_ns`: its error bound.
    `zero_error_ns`: how exactly time 0 is known to be power-on; None where 0 is something else. `rate`: of
    the line in baud where it is certain, else 0.
    """

    boot_id: str
    lines: tuple[tuple[int, str], ...]
    stamp: str
    stamp_error_ns: int
    zero_error_ns: int | None
    rate: int


def real_boots(store: Store, name: str, number: int | None = None) -> list[RealBoot]:
    """The completed boots of the run called `name`, or only boot `number` of them.

    Raises UserError when it is not a run of a real board, or has no such boot.
    """
    run_id = store.find_id(name)
    run = run_of(store, run_id)
    if isinstance(run, Recording):
        raise UserError(
            f"{run_id} is of an emulated board; calibrate takes boots of a real one",
            hint="bootscope record --board serial:/dev/ttyUSB0, or bootscope import console.log; "
            "the emulated run goes to --like",
        )
    found = _measured(run.stored) if isinstance(run, Measured) else _imported(run)
    if number is not None:
        found = [boot for boot in found if int(boot.boot_id.rpartition("/")[2]) == number]
    if not found:
        which = f"boot {number}" if number is not None else "boot"
        raise UserError(f"run {run_id} has no {which} that completed")
    return found


def _measured(run: MeasuredRun) -> list[RealBoot]:
    board, found = run.info.board, []
    for boot in run.boots:
        if not boot.info.complete:
            continue
        understood = of_boot(run, boot.info.number)
        kept = tap.read((boot.path / TAP).read_bytes())
        rate = kept.rate if board.console.kind in _RATE_IS_SET else 0
        zero_ns = _zero_error(understood, kept, board.pins)
        stamp_ns = stamp_error_ns(kept)
        found.append(_heard(boot.info.boot_id, understood, 1, stamp_ns, zero_ns, rate))
    return found


def _zero_error(understood: Understood, kept: tap.Tap, pins: Pins | None) -> int | None:
    """How exactly power-on is known: from the watched pins, or from the command that switched it."""
    for boot in _boots(understood) if pins else ():
        if boot.clock.name != "host" and boot.clock.at_power:
            return max(1, boot.clock.resolution_ns)
    zero = dating.zero_of(kept)
    return zero.error_ns if zero.at_power else None


def _imported(run: Imported) -> list[RealBoot]:
    understood, found = run.boot(None).understood, []
    for number in range(1, understood.boots + 1):
        boot_id, (log, _) = f"{run.run_id}/{number:03}", understood.log(number)
        boot = _boot_of(understood, log)
        if boot is None or boot.clock.name in ("kernel", "none"):
            what = "the kernel's own clock" if boot and boot.clock.name == "kernel" else "no console lines"
            raise UserError(
                f"{boot_id} has {what}: calibrate needs stamps made while the console was read",
                hint="bootscope record --board serial:/dev/ttyUSB0",
            )
        error_ns = max(1, boot.clock.resolution_ns)
        found.append(_heard(boot_id, understood, number, error_ns, None, 0))
    return found


def _heard(
    boot_id: str, understood: Understood, number: int, error_ns: int, zero_error_ns: int | None, rate: int
) -> RealBoot:
    log, way = understood.log(number)
    boot = _boot_of(understood, log)
    stamp = boot.clock.stamp if boot else ""
    lines = tuple((way.at(at_ns), text) for at_ns, text in log)
    return RealBoot(boot_id, lines, stamp, error_ns, zero_error_ns, rate)


def _boot_of(understood: Understood, log: Log) -> Boot | None:
    """The boot with this log."""
    return next((boot for boot in _boots(understood) if boot.log is log), None)


def _boots(understood: Understood) -> Iterator[Boot]:
    return (boot for file in understood.files for boot in file.reading.boots)
