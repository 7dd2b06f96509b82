# SPDX-License-Identifier: Apache-2.0
"""The page of stored runs, as the verb `report` writes it to a file and the server shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bootscope.analysis.changes import VIEWS, changes
from bootscope.analysis.rows import as_table
from bootscope.analysis.samples import SampleSet
from bootscope.analysis.significance import against
from bootscope.analysis.view_names import MEMORY
from bootscope.analysis.views import View, comparison
from bootscope.audit.result import run_audit
from bootscope.audit.subject import subject
from bootscope.builder.cache import Cache
from bootscope.capture.labels import known
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.core.paths import cache_dir
from bootscope.core.text import seconds
from bootscope.cores.choice import NO_CORE, CoreChoice
from bootscope.export.text import plain
from bootscope.report import answer, runs_html
from bootscope.report.consoles import consoles
from bootscope.report.html import render
from bootscope.report.shown import About, Shown
from bootscope.runs.heard import SeenBoot
from bootscope.runs.run import Recording, Run, common_core, run_and_boot, run_of, sample_set
from bootscope.timeline.trace import Table, Trace

CHANGES = 200
"""Rows of each table of changes; `bootscope compare --view` has them all."""


class StoredPage(NamedTuple):
    """A page as text, and the ids of its boots."""

    text: str
    boots: list[str]


def page_of(store: Store, names: Sequence[str], home: str = "", core: CoreChoice = None) -> StoredPage:
    """The page of runs or boots named as on the command line; `home` is the address of the list of runs, if
    there is one; with `core`, boots have the times they would take on it.

    Raises UserError for an unknown name, and for a boot that cannot be read or has no counts for the core.
    """
    core = common_core(store, names, core)
    found = [boot_of(store, name, core) for name in names]
    sets = [_several(store, name) for name in names]
    shown = [_shown(store, *each, boots) for each, boots in zip(found, sets, strict=True)]
    text = render(shown, About(_compared(store, names, found), _changed(found), home))
    return StoredPage(text, [boot_id for boot_id, _ in found])


def boot_of(store: Store, name: str | None, core: CoreChoice = None) -> tuple[str, View | Trace]:
    """The boot id of a boot named on the command line, and the boot: of an emulated board, on a `core` if one
    is given, or as a trace."""
    wanted, number = run_and_boot(name)
    run_id = store.find_id(wanted)
    boot = one_boot(run_of(store, run_id), number, core)
    return (boot.boot.info.boot_id, boot) if isinstance(boot, View) else (boot.boot_id, boot.trace())


def one_boot(run: Run, number: int | None, core: CoreChoice) -> View | SeenBoot:
    """A boot of a run; with `core`, as on that core. Raises UserError if it was not emulated."""
    if isinstance(run, Recording):
        return run.boot(number, core)
    if core and core != NO_CORE:
        raise UserError(f"{run.run_id} was not emulated: nothing was counted for the core {core.name}")
    return run.boot(number)


def varying(store: Store, name: str) -> SampleSet | None:
    """The run that a name means, if it has several boots that are not all the same."""
    boots = _several(store, name)
    return boots if boots and not boots.exact else None


def _several(store: Store, name: str) -> SampleSet | None:
    """The run that a name means, if it has several boots."""
    wanted, number = run_and_boot(name)
    boots = sample_set(store, wanted) if number is None else None
    return boots if boots and len(boots.boots) > 1 else None


def first_of(store: Store, boot_id: str, *, recorded: bool, core: CoreChoice = None) -> list[answer.Answer]:
    """What to do first about a boot; empty if an audit cannot read it, or it did not complete."""
    run_id, _, number = boot_id.rpartition("/")
    try:
        found = run_audit(subject(store, Cache(cache_dir()), [boot_id], core))
    except UserError:
        return []
    return answer.first(found, run_id if int(number) == 1 else boot_id, recorded=recorded)


def _same_boots(boots: SampleSet) -> str:
    """Which of a run's boots are the same; boots that did not complete are counted apart."""
    total, ended = len(boots.boots), sum(boot.complete for boot in boots.boots)
    if ended == total:
        return f"All {total} boots of this run are the same to the nanosecond."
    if ended == 1:
        return f"1 of the {total} boots of this run completed."
    return f"{ended} of the {total} boots of this run completed; they are the same to the nanosecond."


def _shown(store: Store, boot_id: str, boot: View | Trace, boots: SampleSet | None) -> Shown:
    """A boot with what the page shows of it beside its trace."""
    which, until = "", until_of(store, boot_id)
    if boots and boots.exact:
        which = _same_boots(boots)
    elif boots:
        number = int(boot_id.rpartition("/")[2])
        which = f"This is boot {number} of {len(boots.boots)}; report RUN/BOOT shows another one."
    ns = boot.milestones().get(until) if isinstance(boot, Trace) else None
    return Shown(
        boot,
        which=which,
        total="" if ns is None else seconds(ns),
        until="" if ns is None else plain(until),
        first=first_of(
            store,
            boot_id,
            recorded=isinstance(boot, View),
            core=(boot.core or NO_CORE) if isinstance(boot, View) else None,
        ),
        consoles=_consoles(store, boots) if boots and not boots.exact else (),
        labels=known(store.runs / boot_id.rpartition("/")[0]),
        run=boots if boots and not boots.exact else None,
    )


def _consoles(store: Store, boots: SampleSet) -> list[dict[str, object]]:
    """The consoles of all boots of a run."""
    run = run_of(store, boots.run_id)
    found = ((f"boot {n}", run.boot(n)) for n in range(1, len(boots.boots) + 1))
    return consoles((name, b.trace if isinstance(b, View) else b.trace()) for name, b in found)


def until_of(store: Store, boot_id: str) -> str:
    """The milestone that a boot of a real board was for; empty for others, and if it was not reached."""
    run_id, _, number = boot_id.rpartition("/")
    run = run_of(store, run_id)
    return "" if isinstance(run, Recording) else run.boot(int(number)).until


def _compared(
    store: Store, names: Sequence[str], found: Sequence[tuple[str, View | Trace]]
) -> dict[str, object] | None:
    """The second of two runs against the first; None for more or fewer runs, or for one with itself."""
    if len(found) != 2 or found[0][0] == found[1][0]:
        return None
    (id_a, a), (id_b, b) = found
    if isinstance(a, View) and isinstance(b, View) and not any(varying(store, name) for name in names):
        return runs_html.of_exact(id_a, id_b, comparison(store, a, b))
    run_a, run_b = (sample_set(store, *run_and_boot(name)) for name in names)
    return runs_html.of_boots(against(run_a, run_b))


def _changed(found: Sequence[tuple[str, View | Trace]]) -> list[Table]:
    """The changes between two boots of the emulated board, in each view that can be compared."""
    if len(found) != 2 or found[0][0] == found[1][0]:
        return []
    (_, a), (_, b) = found
    if not (isinstance(a, View) and isinstance(b, View)):
        return []
    on_core = a.core is not None and b.core is not None
    rows = (changes(name, a, b) for name in VIEWS if on_core or name != MEMORY)
    # A table is of one view: the column that names it is not needed.
    tables = (as_table(replace(r, columns=r.columns[1:]), CHANGES) for r in rows)
    return [table for table in tables if table]
