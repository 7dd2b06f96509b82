# SPDX-License-Identifier: Apache-2.0
"""Milestones of one's own for consoles that are stored already: the first line that holds a text."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bootscope.capture import imported, measured
from bootscope.capture.record import write_json
from bootscope.capture.store import BOARD, IMPORTED, Store
from bootscope.core.errors import UserError, printable
from bootscope.importing.files import Understood, of_boot, of_run
from bootscope.readers.base import Log
from bootscope.readers.sought import Missing, missing


def not_found(found: Understood, milestones: Mapping[str, str]) -> list[Missing]:
    """Those of some milestones that lines of `found` do not have in every boot."""
    return missing(milestones, [_logs(found, number) for number in range(found.boots)])


def _logs(found: Understood, number: int) -> list[Log]:
    """The logs of a boot (from 0), in all files that saw it."""
    members = found.joined.groups[number].members
    logs = (found.files[m.file].reading.boots[m.boot].log for m in members)
    return [log for log in logs if len(log)]


def add(store: Store, run_id: str, milestones: Mapping[str, str]) -> list[Missing]:
    """Gives an imported or measured run milestones, or other texts for those that it has. What was captured
    stays as it is. Returns those that some boots do not have.

    Raises UserError for a recording, and, with the run left as it was, for a text that no boot has.
    """
    kind = store.kind(run_id)
    if kind not in (IMPORTED, BOARD):
        raise UserError(
            f"{run_id} is a recording of the emulated board: its milestones are its system's",
            hint="[milestones] in the system file, and record it again (bootscope help systems)",
        )
    found = _sought(store, run_id, kind, milestones)
    for one in found:
        if one.everywhere:
            raise UserError(words(one), hint=f"{hint(one)}; nothing was changed")
    _write(store, run_id, kind, milestones)
    return found


def words(one: Missing) -> str:
    """What is wrong with a milestone, for people."""
    text = printable(one.text)
    if one.everywhere:
        return f"milestone {printable(one.name)}: no line has '{text}'"
    without = ", ".join(str(n) for n in one.boots[:10]) + (", ..." if len(one.boots) > 10 else "")
    return f"milestone {printable(one.name)}: no line of boot {without} (of {one.of}) has '{text}'"


def hint(one: Missing) -> str:
    """Which lines may have been meant."""
    lines = " | ".join(printable(line) for line in one.similar)
    return f"lines like it: {lines}" if lines else "no line is like it"


def told(one: Missing) -> str:
    """Both in one sentence."""
    return f"no line has '{printable(one.text)}'; {hint(one)}"


def _sought(store: Store, run_id: str, kind: str, milestones: Mapping[str, str]) -> list[Missing]:
    if kind == IMPORTED:
        return not_found(of_run(store, run_id)[1], milestones)
    run = store.load_measured(run_id)
    boots = [_logs(of_boot(run, boot.info.number), 0) for boot in run.boots]
    return missing(milestones, boots)


def _write(store: Store, run_id: str, kind: str, milestones: Mapping[str, str]) -> None:
    store.check_writable()
    path = store.runs / run_id
    if kind == IMPORTED:
        info = imported.read_import(path)
        answers = msgspec.structs.replace(info.answers, milestones={**info.answers.milestones, **milestones})
        write_json(path / imported.IMPORT, msgspec.structs.replace(info, answers=answers))
        return
    seen = measured.read_measured(path)
    more = msgspec.structs.replace(seen, milestones={**seen.milestones, **milestones})
    write_json(path / measured.MEASURED, more)
