# SPDX-License-Identifier: Apache-2.0
"""A search from its beginning to its account: searching, taking away, and the same once more for those
who want to keep something."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace

from bootscope.core.errors import UserError
from bootscope.search.ablation import Worth, ablate
from bootscope.search.account import Account, account
from bootscope.search.bench import Bench
from bootscope.search.journal import Journal
from bootscope.search.optimize import Experiment, Goal, Search
from bootscope.search.pareto import keeping, measure_keepers, pareto
from bootscope.search.scheduler import Scheduler
from bootscope.system.load import LoadedSystem


@dataclass(frozen=True)
class Options:
    """What is asked of a search. `beside`: abilities that a second search keeps; none for no second one.
    `ablate`: also take away what needs a new kernel. `measure_pareto`: boot what is only estimated."""

    goal: Goal = field(default_factory=Goal)
    ablate: bool = False
    measure_pareto: bool = False
    beside: tuple[str, ...] = ()


def conduct(
    bench: Bench,
    journal: Journal,
    loaded: LoadedSystem,
    options: Options,
    boots: int,
    tell: Callable[[str], None],
) -> Account:
    """Searches, and tells how it goes on.

    Raises UserError when the system itself does not boot, and ToolError as builds and recordings do.
    """
    begun = time.monotonic()
    with Scheduler(bench, journal, boots, tell) as scheduler:
        search = Search(scheduler, loaded, options.goal, tell)
        search.run()
        worths = ablate(search, options.ablate)
        if options.measure_pareto:
            measure_keepers(search)
        beside = _beside(search, options, worths) if options.beside else None
        others = beside.outcomes if beside else ()
        points = pareto(search, worths, others)
        journal.end(search.ended)
        return account(search, worths, points, time.monotonic() - begun, beside)


def _beside(first: Search, options: Options, worths: list[Worth]) -> Account:
    """The same search for a system that keeps some abilities: from what of the first one may stay.

    What was refused is tried again only where it was tried on something that has gone, or because of it.
    """
    begun = time.monotonic()
    first.tell(f"once more, keeping {', '.join(options.beside)}")
    kept = keeping(first.accepted, options.beside)
    gone = first.accepted.keys() - kept.keys()
    goal = replace(
        options.goal,
        keep=(*options.goal.keep, *options.beside),
        budget_s=first.deadline - time.monotonic(),
    )
    refused = {name for e in first.experiments if _stands(e, gone) for name in e.techniques}
    dropped = {w.technique for w in worths if w.dropped}
    search = Search(first.scheduler, first.loaded, goal, first.tell)
    search.accepted, search.given = dict(kept), tuple(kept)
    search.tried = (refused | kept.keys()) - dropped
    try:
        search.run()
    except UserError:
        # What is left of the first one cannot be put together, so it is begun anew.
        search = Search(first.scheduler, first.loaded, goal, first.tell)
        search.run()
    again = ablate(search, options.ablate)
    points = pareto(search, again)
    return account(search, again, points, time.monotonic() - begun, None)


def _stands(e: Experiment, gone: Set[str]) -> bool:
    """Whether a refusal holds in a system without what has gone."""
    return not e.accepted and not e.halved and not gone & {*e.on, *e.techniques}
