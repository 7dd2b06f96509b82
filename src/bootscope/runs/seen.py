# SPDX-License-Identifier: Apache-2.0
"""One boot that was not recorded on the emulated board: of a real one, or imported."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bootscope.capture.store import BOARD, Store
from bootscope.core.errors import UserError
from bootscope.importing.files import Understood, of_boot, of_run
from bootscope.runs.headline import Reached, reached, until_of
from bootscope.timeline.trace import Trace

MEASURED = "measured"


@dataclass(frozen=True)
class SeenBoot:
    """Boot `number` (from 1) of `boots`; `index` is its number in what was understood. `how` it came, in a
    word; `message` says how it ended where that is known."""

    run_id: str
    number: int
    boots: int
    how: str
    understood: Understood
    index: int
    message: str = ""
    until: str = ""
    """The milestone that ended it; empty where none did, or nobody said which one."""

    @property
    def boot_id(self) -> str:
        """How the boot is called on the command line."""
        return f"{self.run_id}/{self.number:03}"

    def reached(self, trace: Trace) -> Reached | None:
        """When what the boot was for was reached, by its own trace."""
        return reached(trace, self.until) if self.until else None

    def trace(self, *, lines: bool = True) -> Trace:
        """The boot as a trace; without `lines` it has no points for console lines."""
        found = self.understood.trace(self.index, lines=lines)
        # The files of an import have names that say something; a capture's are always the same.
        return replace(found, title=self.boot_id) if self.how == MEASURED else found


def seen_boot(store: Store, run_id: str, number: int | None) -> SeenBoot:
    """A boot of an imported run, or of one of a real board; by default the first one, of a real board the
    first one that came to its end.

    Raises UserError for a boot that is not there, or whose files are damaged.
    """
    if store.kind(run_id) == BOARD:
        run = store.load_measured(run_id)
        good = next((boot.info.number for boot in run.boots if boot.info.complete), 1)
        boots = {boot.info.number: boot for boot in run.boots}
        chosen = _checked(run_id, number or good, len(boots))
        found = of_boot(run, chosen)
        info = boots[chosen].info
        until = until_of(run.info) if info.complete else ""
        return SeenBoot(run_id, chosen, len(boots), MEASURED, found, 1, info.message, until)
    _, understood = of_run(store, run_id)
    chosen = _checked(run_id, number or 1, understood.boots)
    return SeenBoot(run_id, chosen, understood.boots, "imported", understood, chosen)


def _checked(run_id: str, number: int, boots: int) -> int:
    if not boots:
        raise UserError(f"run {run_id} has no boot")
    if not 1 <= number <= boots:
        raise UserError(f"run {run_id} has no boot {number}", hint=f"it has 1 to {boots}")
    return number
