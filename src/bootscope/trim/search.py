# SPDX-License-Identifier: Apache-2.0
"""Trimming: reduces kernel, boot loader and BusyBox, based on evidence of which code the application needs.

A recording counts every block of code that ran, for how long and whether for the application. Object
files and Makefiles lead from there to Kconfig symbols. Code that never ran goes first, in one large group,
then what is less certain; each group is built, booted and compared with the original system. A group that
breaks something is halved until the symbol that must stay is found; that is remembered with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bootscope.analysis.removable import Build, Candidate, Kind, candidates
from bootscope.analysis.views import View, view
from bootscope.builder.plan import architecture
from bootscope.builder.steps.configure import wanted
from bootscope.core.errors import UserError, unknown
from bootscope.emulator.plugin_config import default_until
from bootscope.inventory.recorded import facts
from bootscope.loaders.registry import BUILT
from bootscope.search.bench import Bench
from bootscope.search.bisect import Attempt, Bisection
from bootscope.search.search import Over
from bootscope.system.load import LoadedSystem
from bootscope.system.model import System
from bootscope.trim.keep import by_nature, in_case
from bootscope.trim.state import LEAST_BYTES, State
from bootscope.trim.tree import Stay, TrimTree, drivers_in_use, group, phase_ns, size_bytes, switched_on
from bootscope.trim.trial import Memory, Trials, limits_beside

ORDER = (BUILT.tree, "busybox", "kernel")
"""The order in which trees are trimmed: a short boot loader makes all later boots short."""
_NEVER, _RAN = "code that never ran", "code that ran"
_WITHOUT_CODE = "no code of their own"
STEPS: dict[str, tuple[tuple[str, tuple[Kind, ...]], ...]] = {
    BUILT.tree: ((_NEVER, (Kind.NEVER,)), (_RAN, (Kind.START,)), (_WITHOUT_CODE, (Kind.BLANK,))),
    "busybox": ((_NEVER, (Kind.NEVER,)), (_WITHOUT_CODE, (Kind.BLANK,))),
    "kernel": (
        (f"{_NEVER}, or only at the start", (Kind.NEVER, Kind.SETUP, Kind.START)),
        ("code that programs had run", (Kind.PROGRAMS, Kind.APPLICATION)),
        (_WITHOUT_CODE, (Kind.BLANK,)),
    ),
}
"""Groups of symbols, by what is known of their code, the safest first."""
SURE = (Kind.NEVER, Kind.SETUP)
"""Kinds of symbols that are very unlikely to be needed."""
AGAIN = ("kernel",)
"""Trees that are processed once more at the end: only what was removed may have used the rest."""
_LEAST_INSTRUCTIONS, _LEAST_BLANK = 500_000, 16
"""The least that is worth its own build and boot: 1 ms at 2 ns each, or that many options."""


@dataclass(frozen=True)
class Goal:
    """What to trim, the limit of host time, and what to keep."""

    only: Collection[str] = ORDER
    budget_s: float = 4 * 3600
    keep: Collection[str] = ()
    services: bool = False
    quiet: bool = False
    bare: bool = False
    sure: bool = False


@dataclass(frozen=True)
class Group:
    """A group of symbols that was processed. `tried` symbols were candidates, `changed` were changed in the
    end; `gone` counts all symbols that are off as a result. Sizes of the tree's image in bytes, times of its
    phase in ns, before and after."""

    tree: str
    title: str
    tried: int
    changed: int
    gone: int
    attempts: int
    bytes_before: int
    bytes_after: int
    before_ns: int
    after_ns: int


@dataclass(frozen=True)
class _Start:
    """The state before a group: symbols that had been changed, and those that were on."""

    view: View
    changed: int
    on: frozenset[str]
    attempts: int


@dataclass
class Trim:
    """A trimming in progress. `evidence`: what the first recording shows for each symbol, by tree."""

    state: State
    goal: Goal
    tell: Callable[[str], None]
    groups: list[Group] = field(default_factory=list)
    evidence: dict[str, list[Candidate]] = field(default_factory=dict)
    ended: str = ""

    @property
    def base(self) -> View:
        """The boot of the original system."""
        return self.state.trials.base

    @property
    def trees(self) -> dict[str, TrimTree]:
        """The trees to trim, in order."""
        return self.state.trees

    def run(self) -> None:
        """Trims until nothing is left to try, or the allowed time is over.

        Raises ToolError when this computer is at fault: it is too slow for a boot, or a disk is full.
        """
        trees = self.trees.values()
        try:
            for tree in trees:
                self._tree(tree)
            for tree in trees:
                if self.state.smaller.get(tree.name) and not self.goal.sure:
                    self._smaller(tree)
            if self.goal.quiet and "kernel" in self.trees:
                start = self._start(self.trees["kernel"])
                if self.state.quiet():
                    self._add_group(self.trees["kernel"], "messages on the console: quiet", 1, start)
            # Last, as it gains the least per build.
            for tree in trees:
                if tree.name in AGAIN:
                    self._tree(tree)
            self.ended = "nothing is left to try"
        except Over:
            self.ended = "the time limit is reached; the same command continues from here"

    def _tree(self, tree: TrimTree) -> None:
        for title, all_kinds in STEPS[tree.name]:
            kinds = [k for k in all_kinds if k in SURE or not self.goal.sure]
            if not kinds:
                continue
            build = tree.build(self.state.current)
            self.evidence.setdefault(tree.name, candidates(build))
            in_use = self._in_use(tree, build)
            chosen = group(tree, build, kinds, in_use)
            if chosen:
                self._group(tree, build, title, chosen, in_use)

    def _in_use(self, tree: TrimTree, build: Build) -> dict[str, str]:
        if tree.name != "kernel":
            return {}
        blob = self.state.bench.device_tree(self.state.loaded)
        return drivers_in_use(tree, self.state.current, build.code, blob)

    def _group(
        self,
        tree: TrimTree,
        build: Build,
        title: str,
        chosen: list[Candidate],
        in_use: Mapping[str, str],
    ) -> None:
        self.tell(f"{tree.name}: {len(chosen)} symbols with {title}")
        start = self._start(tree)
        definitions = tree.definitions(self.state.current)

        def attempt(items: Sequence[Candidate]) -> Attempt:
            return self.state.without(tree, build, items, definitions, in_use)

        def refuse(item: Candidate, reason: str) -> None:
            tree.stays[item.symbol] = Stay(reason, item.image_bytes, item.kind)

        try:
            Bisection(attempt, refuse, _worth).run(chosen)
        finally:
            self._add_group(tree, title, len(chosen), start)

    def _smaller(self, tree: TrimTree) -> None:
        """Makes the same code smaller, where that does not make the boot longer."""
        wanted = [
            n for n in self.state.smaller[tree.name] if n in tree.symbols and tree.config.get(n, "n") == "n"
        ]
        title, start = "compiled for size", self._start(tree)

        def refuse(name: str, reason: str) -> None:
            tree.stays[name] = Stay(f"off: {reason}")

        self.tell(f"{tree.name}: {title}")
        Bisection(lambda names: self.state.with_on(tree, names), refuse).run(wanted)
        self._add_group(tree, title, len(wanted), start)

    def _start(self, tree: TrimTree) -> _Start:
        return _Start(self.state.current, len(tree.off), switched_on(tree.config), self.state.attempts)

    def _add_group(self, tree: TrimTree, title: str, tried: int, start: _Start) -> None:
        views = (start.view, self.state.current)
        sizes, phases = ([f(v, tree.name) for v in views] for f in (size_bytes, phase_ns))
        gone = len(start.on - switched_on(tree.config))
        changed, attempts = len(tree.off) - start.changed, self.state.attempts - start.attempts
        self.groups.append(Group(tree.name, title, tried, changed, gone, attempts, *sizes, *phases))


def trimming(bench: Bench, loaded: LoadedSystem, goal: Goal, tell: Callable[[str], None]) -> Trim:
    """Boots the original system, and reads the trees to trim.

    Raises UserError when the original system does not boot, or a symbol to keep does not exist; ToolError
    when the host is too slow for a boot.
    """
    deadline = time.monotonic() + goal.budget_s
    tell("recording the base system and the code that runs ...")
    run = bench.measured(loaded, until=until(loaded.system))
    base = view(bench.store, run)
    if not base.boot.info.complete:
        raise UserError(f"{loaded.system.name} itself does not boot: {base.boot.info.message}")
    memory = Memory(bench.store.root / "trim" / f"{run.info.build_id[:16]}.json")
    beside = bench.with_limits(limits_beside(base, bench.limits))
    trials = Trials(beside, loaded, base, memory, goal.services)
    trees = _trees(bench, base, loaded, goal, tell)
    return Trim(State(bench, loaded, trials, base, deadline, tell, trees), goal, tell)


def _trees(
    bench: Bench, base: View, loaded: LoadedSystem, goal: Goal, tell: Callable[[str], None]
) -> dict[str, TrimTree]:
    known, trees = facts(bench.store, base), {}
    missing, arch = set(goal.keep), architecture(loaded)
    for name in ORDER:
        if name not in goal.only:
            continue
        source = bench.source(loaded, name)
        asked_for = wanted(loaded.system, name)
        trees[name] = tree = TrimTree(name, source, arch, known.configs[name], asked_for)
        asked = {n: "requested" for n in goal.keep if n in tree.symbols}
        tree.spared = {} if goal.bare else in_case(name, tree.symbols)
        tree.kept = {**by_nature(name, loaded.system, arch, known.files), **asked}
        missing -= asked.keys()
        for symbol in tree.unknown:
            tell(f"{name}: {symbol} does not exist in this version of the sources")
    if missing:
        there = sorted({symbol for tree in trees.values() for symbol in tree.symbols})
        raise unknown("symbol", min(missing), there)
    return trees


def until(system: System) -> str:
    """Where recordings of a trimming end: when the application reports that it is ready, if it does."""
    return "app-ready" if "app-ready" in system.milestones else default_until(system)


def _worth(items: Sequence[Candidate]) -> bool:
    """Whether to continue the search in a group that breaks something."""
    size = sum(c.image_bytes for c in items)
    instructions = sum(c.ran.total for c in items)
    return size >= LEAST_BYTES or instructions >= _LEAST_INSTRUCTIONS or len(items) >= _LEAST_BLANK
