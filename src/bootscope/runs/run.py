# SPDX-License-Identifier: Apache-2.0
"""A stored run of any kind: a recording of the emulator, boots of a real board, an import."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD, RECORDED, StoredRun
from bootscope.core.errors import UserError, printable
from bootscope.cores.choice import NO_CORE, CoreChoice

if TYPE_CHECKING:
    # What computes times is slow to load.
    from bootscope.analysis.samples import SampleSet
    from bootscope.analysis.views import View
    from bootscope.readers.sought import Missing
    from bootscope.runs.heard import HeardRun, SeenBoot


def run_and_boot(name: str | None, number: int | None = None) -> tuple[str | None, int | None]:
    """Splits a name on the command line: `RUN` or `RUN/BOOT`; the boot is `number` if the name has none.

    Raises UserError for a BOOT that is not a number, or differs from `number`.
    """
    if not name or "/" not in name:
        return name, number
    name, _, last = name.partition("/")
    if not re.fullmatch(r"[0-9]{1,6}", last):
        raise UserError(f"'{printable(last)}' is not a boot number", hint="RUN/BOOT, such as last/2")
    if number not in (None, int(last)):
        raise UserError(
            f"boot {int(last)} and boot {number} contradict each other", hint="RUN/BOOT or --boot, not both"
        )
    return name, int(last)


class Run(Protocol):
    """What all runs have in common."""

    run_id: str

    @property
    def exact(self) -> bool:
        """Whether its boots are all the same. Raises UserError when a boot cannot be read."""

    def times(self) -> SampleSet:
        """The times of all its boots. Raises UserError when a boot cannot be read."""

    def boot(self, number: int | None) -> View | SeenBoot:
        """Boot `number` (from 1); by default the first one that completed.

        Raises UserError for a boot that does not exist, or cannot be read.
        """


def run_of(store: Store, run_id: str) -> Recording | HeardRun:
    """A run by its whole id. Raises UserError when its description is damaged."""
    kind = store.kind(run_id)
    if kind == RECORDED:
        return Recording(store, store.load(run_id))
    # A recording need not load the readers.
    from bootscope.runs.heard import Imported, Measured

    return Measured(store.load_measured(run_id)) if kind == BOARD else Imported(store, run_id)


def common_core(store: Store, names: Sequence[str], core: CoreChoice) -> CoreChoice:
    """The core that several boots are shown on: the chosen one, if any; none where some were counted for the
    core of their board and some were not, as times of these two kinds cannot be compared."""
    if core is not None or len(names) < 2:
        return core
    named = (run_and_boot(name) for name in names)
    runs = ((run_of(store, store.find_id(name)), number) for name, number in named)
    found = {run.boot(number).core is None for run, number in runs if isinstance(run, Recording)}
    return NO_CORE if len(found) > 1 else None


def sample_set(store: Store, name: str | None, number: int | None = None) -> SampleSet:
    """The boots of the run called `name`, or only boot `number` of them.

    Raises UserError when there is no such run or boot, or its files are damaged.
    """
    from bootscope.analysis.samples import single

    run: Run = run_of(store, store.find_id(name))
    return single(run.times(), number) if number is not None else run.times()


def add_milestones(store: Store, run_id: str, milestones: dict[str, str]) -> list[Missing]:
    """Gives an imported or measured run milestones: the first lines that contain these texts, or other texts
    for milestones that it has. The captures are not changed. Returns the milestones that some boots lack.

    Raises UserError for a recording, and for a text that no boot has; the run is not changed then.
    """
    from bootscope.readers.sought import missing

    run = run_of(store, run_id)
    if isinstance(run, Recording):
        raise UserError(
            f"{run_id} is a recording of the emulated board: its milestones are its system's",
            hint="[milestones] in the system file, and record it again (bootscope help systems)",
        )
    found = missing(milestones, run.logs())
    for one in found:
        if one.everywhere:
            raise UserError(one.words, hint=f"{one.hint}; nothing was changed")
    store.check_writable()
    run.add_milestones(milestones)
    return found


class Recording:
    """A run of the emulator."""

    def __init__(self, store: Store, stored: StoredRun) -> None:
        self._store, self.stored = store, stored
        self.run_id = stored.path.name

    @property
    def exact(self) -> bool:
        # Boots with equal streams are the same boot; only others have to be compared.
        return len({boot.info.stream_sha256 for boot in self.stored.boots}) < 2 or self.times().exact

    def boot(self, number: int | None, core: CoreChoice = None) -> View:
        """A boot, not analysed yet; with `core`, with the times it would take on that. Raises UserError if
        its caches were not counted for the core."""
        from bootscope.analysis.views import view

        return view(self._store, self.stored, number, core=core)

    def times(self) -> SampleSet:
        """The boots, which are exact unless two complete ones differ."""
        from bootscope.runs.recorded import times

        return times(self.stored)
