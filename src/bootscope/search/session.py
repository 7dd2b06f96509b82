# SPDX-License-Identifier: Apache-2.0
"""A whole search: trying techniques, ablation, and a second search that keeps some capabilities."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace

from bootscope.audit.trials import needs_kernel
from bootscope.core.errors import BoardError, UserError
from bootscope.search.board_bench import BoardBench
from bootscope.search.board_verdict import BoardVerdict
from bootscope.search.emulated import EmulatedBench, EmulatedSearch
from bootscope.search.emulator import Emulator
from bootscope.search.experiment import BaseFailedError, Experiment, Goal, V, Worth, without
from bootscope.search.journal import Journal
from bootscope.search.pareto import keeping, measure_keepers, pareto
from bootscope.search.physical import PhysicalBench
from bootscope.search.result import Result, result_of
from bootscope.search.scheduler import Scheduler
from bootscope.search.search import Search
from bootscope.search.verdict import ExactVerdict
from bootscope.system.changes import word_name
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import techniques


@dataclass(frozen=True)
class Options:
    """The options of a search. `beside`: capabilities that a second search keeps; empty for no second search.
    `ablate`: also take out what needs a new kernel. `measure_pareto`: boot what is only estimated."""

    goal: Goal = field(default_factory=Goal)
    ablate: bool = False
    measure_pareto: bool = False
    beside: tuple[str, ...] = ()


def ablate(search: Search[V], everything: bool = True) -> list[Worth[V]]:
    """Takes out one accepted technique at a time; without `everything` only those that need no new kernel.

    What saved time when it was accepted may save nothing at the end: for example what the application as
    first process makes superfluous. It is taken out again, so that no capability is lost for nothing; but
    only if that is shown: what a few boots of a board cannot show is no reason to take out what was proven
    before. Stops when the search's time is over. Raises as the bench does.
    """
    known, bench = techniques(), search.bench
    found: list[Worth[V]] = []
    # Those that lose most come first: of two that are worth nothing beside each other, that one should go.
    order = sorted(search.accepted, key=lambda spec: -len(known[word_name(spec)].loses))
    left = [spec for spec in order if everything or not needs_kernel(search.accepted[spec])]
    # Where boots vary, a single remaining technique was measured alone when it was accepted.
    while left and (bench.exact or len(search.accepted) > 1):
        if time.monotonic() > search.deadline:
            if not bench.exact:
                search.tell("the time limit is reached: the others are not tested")
            break
        name, *left = left
        ahead = ((without(search.accepted, n), f"without {n}") for n in left)
        worth = bench.take_out(search.accepted, name, ahead)
        if worth is None:
            continue
        found.append(worth)
        if worth.dropped:
            search.accepted, search.now = without(search.accepted, name), worth.verdict
        if line := bench.worth_line(worth):
            search.tell(line)
    return found


def search_emulated(
    emulator: Emulator,
    journal: Journal,
    loaded: LoadedSystem,
    options: Options,
    boots: int,
    tell: Callable[[str], None],
) -> Result:
    """Searches on the emulated board and reports its progress through `tell`.

    Raises UserError when the system itself does not boot, and ToolError as builds and recordings do.
    """
    begun = time.monotonic()
    with Scheduler(emulator, journal, boots, tell) as scheduler:
        search = EmulatedSearch(EmulatedBench(scheduler, loaded), options.goal, tell)
        search.run()
        worths = ablate(search, options.ablate)
        if options.measure_pareto:
            measure_keepers(search)
        beside = _beside(search, options, worths) if options.beside else None
        others = beside.outcomes if beside else ()
        points = pareto(search, worths, others)
        journal.end(search.ended)
        tell(scheduler.ahead.line())
        return result_of(search, worths, points, time.monotonic() - begun, beside)


def _beside(first: EmulatedSearch, options: Options, worths: list[Worth[ExactVerdict]]) -> Result:
    """The same search for a system that keeps some capabilities: begins with what may stay of the first.

    What was refused is tried again only if it was tried on something that is gone now, or refused because of
    it.
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
    tried = (refused | kept.keys()) - dropped
    search = EmulatedSearch(first.bench, goal, first.tell, dict(kept), tried)
    try:
        search.run()
    except UserError:
        # The rest of the first one's result cannot be combined, so the search begins anew.
        search = EmulatedSearch(first.bench, goal, first.tell)
        search.run()
    again = ablate(search, options.ablate)
    points = pareto(search, again)
    return result_of(search, again, points, time.monotonic() - begun)


def _stands(e: Experiment[ExactVerdict], gone: Set[str]) -> bool:
    """Whether a refusal also holds in a system without what is `gone`."""
    return not e.accepted and not e.halved and not gone & {*e.on, *e.techniques}


@dataclass
class BoardResult:
    """A finished search on a physical board. `whole`: the saving of all accepted techniques together; None if
    there are none, or it could not be measured."""

    bench: PhysicalBench
    search: Search[BoardVerdict]
    worths: list[Worth[BoardVerdict]] = field(default_factory=list)
    whole: BoardVerdict | None = None


def search_on_board(pairs: BoardBench, options: Options) -> BoardResult:
    """Searches on a physical board and reports its progress to the board's observer.

    Raises UserError when the system itself does not boot, and as the measuring does up to then.
    """
    bench = PhysicalBench(pairs)
    search = Search(bench, options.goal, pairs.observer.says)
    found = BoardResult(bench, search)
    if search.run():
        try:
            if options.ablate:
                found.worths = ablate(search)
            found.whole = _whole(found)
        except (BoardError, BaseFailedError) as error:
            search.ended += f", but the final measurement failed: {error.message}"
    return found


def _whole(found: BoardResult) -> BoardVerdict | None:
    """The verdict on all accepted techniques together; None if there are none."""
    bench, search = found.bench, found.search
    if not search.accepted:
        return None
    last = [e for e in search.experiments if e.accepted][-1]
    if not last.on and last.techniques == tuple(search.accepted):
        return last.verdict
    search.tell("all that was accepted, beside the original system")
    return bench.measured(bench.pairs.shop.variants.base, bench.variant(search.accepted))
