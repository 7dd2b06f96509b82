# SPDX-License-Identifier: Apache-2.0
"""The meaning of a name on the command line: one rule for all verbs.

    20261121-081735-stock      a run by its id, or by the unique beginning or part of one; also a broken one
    last, stock                the newest complete run; the newest complete one of that system or board
    last~1, stock~1            the complete run before that, as git counts

A run is complete when at least one of its boots came to its end and nobody is recording it any more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bootscope.core.errors import UserError, printable, similar

LAST = "last"
_BACK = re.compile(r"(?P<base>.+)~(?P<back>\d{0,6})", re.DOTALL)
_STAMP = r"\d+-\d+-"
_MOST_LISTED, _MOST_NEWEST = 10, 5


@dataclass(frozen=True)
class Found:
    """The run that a name selects, and the newer ones passed over because they are not complete."""

    run_id: str
    skipped: tuple[str, ...] = ()


def resolve(name: str | None, ids: Sequence[str], is_complete: Callable[[str], bool]) -> Found:
    """The run called `name` (see above) among `ids`, oldest first; None is `last`.

    If no run of a name is complete, the newest one is selected.
    Raises UserError when there is none, or more than one.
    """
    if not ids:
        raise UserError("no boot has been recorded", hint="bootscope record debian")
    if name is not None and not name:
        raise UserError("the run's name is empty", hint="'last' is the latest run")
    base, back = name or LAST, 0
    if base not in ids and (found := _BACK.fullmatch(base)):
        base, back = found["base"], int(found["back"] or 1)
    # After date and time an id has the name of the system or board, perhaps with a number.
    of_name = re.compile(rf"{_STAMP}{re.escape(base)}(-\d+)?")
    named = list(ids) if base == LAST else [i for i in ids if base not in ids and of_name.fullmatch(i)]
    if back and not named:
        raise UserError(
            f"'{printable(base)}' is not a name of runs",
            hint="~N goes with last, or a system's or board's name",
        )
    begun = [base] if base in ids else [i for i in ids if i.startswith(base)]
    if named and (back or base == LAST or not begun):
        return _newest(base, named, is_complete, back)
    return Found(_only(base, begun or [i for i in ids if base in i], ids))


def names_of(ids: Sequence[str]) -> list[str]:
    """The names of systems and boards in the ids, each once."""
    return list(dict.fromkeys(re.sub(rf"^{_STAMP}", "", i) for i in ids))


def _newest(name: str, named: Sequence[str], is_complete: Callable[[str], bool], back: int) -> Found:
    """The newest complete run, or the one `back` before it."""
    skipped: list[str] = []
    left = back
    for run_id in reversed(named):
        if not is_complete(run_id):
            skipped.append(run_id)
        elif left:
            left -= 1
        else:
            return Found(run_id, tuple(skipped))
    if not back:
        return Found(named[-1])
    count = back - left
    have = f"only {count} complete run{'' if count == 1 else 's'}" if count else "no complete run"
    raise UserError(f"there is no {printable(name)}~{back}: {have} of that name", hint="bootscope list")


def _only(name: str, found: Sequence[str], ids: Sequence[str]) -> str:
    if not found:
        like = similar(name, [*names_of(ids), *ids])
        meant = f"did you mean {' or '.join(like)}? " if like else ""
        newest = f"the newest are: {', '.join(ids[: -_MOST_NEWEST - 1 : -1])}"
        raise UserError(f"unknown run '{printable(name)}'", hint=f"{meant}{newest} (bootscope list)")
    if len(found) > 1:
        raise UserError(
            f"'{printable(name)}' matches {len(found)} runs", hint=", ".join(found[-_MOST_LISTED:])
        )
    return found[0]
