# SPDX-License-Identifier: Apache-2.0
"""Milestones of one's own for consoles that are stored already: the first line that holds a text."""

from __future__ import annotations

from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.readers.sought import Missing, missing
from bootscope.runs.run import Recording, run_of


def add(store: Store, run_id: str, milestones: dict[str, str]) -> list[Missing]:
    """Gives an imported or measured run milestones, or other texts for those that it has. What was captured
    stays as it is. Returns those that some boots do not have.

    Raises UserError for a recording, and, with the run left as it was, for a text that no boot has.
    """
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
