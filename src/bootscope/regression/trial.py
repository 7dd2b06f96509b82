# SPDX-License-Identifier: Apache-2.0
"""Builds and boots one system of a bisection on the emulated board, and returns the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from bootscope.analysis.samples import Quantity
from bootscope.builder.progress import Progress
from bootscope.capture.labels import known
from bootscope.capture.record import BootEnd
from bootscope.capture.stored import StoredRun
from bootscope.core.errors import BoardError, StepError, UserError, unknown
from bootscope.core.text import seconds
from bootscope.emulator.recording import Observer
from bootscope.regression.find import GONE
from bootscope.regression.journal import BROKEN, MEASURED, UNBUILT, Tried
from bootscope.runs.recorded import times
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem

_OF_THE_HOST = {BootEnd.TIMEOUT, BootEnd.INTERRUPTED, BootEnd.DIED, BootEnd.PARTIAL}
_MOST_WHY = 200
"""The most characters of the reason why something does not build."""


@dataclass(frozen=True)
class Trials:
    """Boots on a bench to the milestone `until`, each measured by a quantity; their runs get the label
    `label`. `quiet` is an observer that prints nothing."""

    bench: Bench
    until: str
    quantity: Quantity
    label: str
    quiet: Observer
    images: dict[tuple[tuple[str, str], ...], Tried] = field(default_factory=dict)

    @property
    def hands(self) -> int:
        """How many may run at the same time; 0 for one."""
        return self.bench.hands

    def silent(self) -> Trials:
        """The same for several threads at once, without progress of builds and boots."""
        return replace(self, bench=self.bench.watched_by(Progress(), self.quiet))

    def run(self, key: str, name: str, make: Callable[[], LoadedSystem]) -> Tried:
        """The result of the system that `make` returns, which is called `name` and kept as `key`.

        Raises UserError for a quantity that boots do not have; ToolError and BoardError if this computer is
        at fault.
        """
        begun = time.monotonic()
        loaded = make()
        try:
            order = replace(self.bench.order(loaded), until=self.until)
        except (StepError, UserError) as error:
            # Other errors may pass: kept as a result, `--resume` would not try it again.
            took_s = time.monotonic() - begun
            why = " ".join(error.message.split())[:_MOST_WHY]
            return Tried(key=key, state=UNBUILT, why=why, build_s=took_s)
        build_s = time.monotonic() - begun
        # Different sources may give the same images: comments, documents, files of other boards.
        made = (part for part in order.built.parts() if not part.name.startswith("unpack-"))
        images = tuple((part.name, part.sha256) for part in made)
        if images in self.images:
            same = self.images[images]
            return msgspec.structs.replace(same, key=key, same_as=same.key, build_s=build_s, boot_s=0.0)
        run = self.bench.known(order) or self.bench.boot(order)
        tried = self._measured(key, name, run, build_s, time.monotonic() - begun - build_s)
        self.images[images] = tried
        return tried

    def _measured(self, key: str, name: str, run: StoredRun, build_s: float, boot_s: float) -> Tried:
        run_id, end = run.info.run_id, run.boots[0].info
        if not known(self.bench.store.runs / run_id).get(self.label):
            self.bench.store.label(run_id, {self.label: key})
        booted = Tried(key=key, state=BROKEN, run_id=run_id, build_s=build_s, boot_s=boot_s)
        if end.ended in _OF_THE_HOST:
            raise BoardError(f"boot of {name}: {end.message}", hint="--resume goes on")
        if not end.complete:
            return msgspec.structs.replace(booted, why=end.message)
        found = times(run)
        values = found.values(self.quantity)
        if not values:
            there = [str(q) for q in found.quantities()]
            raise unknown("milestone or phase of these boots", str(self.quantity), there)
        return msgspec.structs.replace(booted, state=MEASURED, ns=values[0])


def figure(tried: Tried) -> int | None:
    """The figure of a result: GONE if its boot broke, None if it was not built."""
    return {MEASURED: tried.ns, BROKEN: GONE}.get(tried.state)


def told(tried: Tried) -> str:
    """The result of a trial, in words."""
    took = f"built in {tried.build_s:.0f} s" + (f", booted in {tried.boot_s:.0f} s" if tried.boot_s else "")
    if tried.state == UNBUILT:
        return f"does not build, skipped: {tried.why}"
    same = f" (same images as {tried.same_as[:12]}, not booted)" if tried.same_as else ""
    if tried.state == BROKEN:
        return f"does not boot: {tried.why}{same}; {took}"
    return f"{seconds(tried.ns or 0, 6)} s{same}; {took}"
