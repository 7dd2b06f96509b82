# SPDX-License-Identifier: Apache-2.0
"""Trimming: kernel, boot loader and BusyBox reduced from evidence of what code the application needs.

A recording counts every block of code that ran, for how long and whether for the application. Object
files and Makefiles lead from there to Kconfig symbols. What never ran goes off in one large group, then
what is less certain; each group is built, booted and compared with the system as it was. A group that
breaks something is halved until what must stay is found, and that is remembered with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from bootscope.analysis.removable import Build, Candidate, Kind, candidates
from bootscope.analysis.views import View, view
from bootscope.builder.plan import architecture, configured, source_tree
from bootscope.builder.steps.configure import wanted
from bootscope.core.errors import UserError, unknown
from bootscope.emulator.plugin_config import default_until
from bootscope.inventory.recorded import facts
from bootscope.kbuild.resolve import Landed, land
from bootscope.loaders.registry import BUILT
from bootscope.search.bench import Bench
from bootscope.search.bisect import Attempt, Bisection
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Symbols, System
from bootscope.trim.keep import by_nature, in_case
from bootscope.trim.memory import Memory
from bootscope.trim.tree import IMAGE, PHASES, Stay, TrimTree, drivers_in_use, group
from bootscope.trim.trial import Trials, limits_beside

ORDER = (BUILT.tree, "busybox", "kernel")
"""Trees in the order in which they are worked on: a short boot loader makes all later boots short."""
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
"""Groups of symbols, by what is known of the code that goes with them, the safest first."""
SURE = (Kind.NEVER, Kind.SETUP)
"""Kinds of symbols that can hardly be missed."""
SMALLER = {"kernel": ("CC_OPTIMIZE_FOR_SIZE", "THUMB2_KERNEL", "LD_DEAD_CODE_DATA_ELIMINATION")}
"""Symbols that, switched on, have the same code take less room; kept where the boot gets no longer."""
AGAIN = ("kernel",)
"""Trees that are gone through once more at the end: what went may have been all that used the rest."""
_LEAST_BYTES, _LEAST_INSTRUCTIONS, _LEAST_BLANK = 4096, 500_000, 16
"""What is worth a build and a boot of its own: 4 KiB, 1 ms at 2 ns each, or so many options."""


@dataclass(frozen=True)
class Goal:
    """What to trim, within which host time, and what to keep."""

    only: Collection[str] = ORDER
    budget_s: float = 4 * 3600
    keep: Collection[str] = ()
    services: bool = False
    quiet: bool = False
    bare: bool = False
    sure: bool = False


@dataclass(frozen=True)
class Group:
    """A group of symbols that was gone through. `tried` symbols were candidates, `changed` were changed in
    the end; `gone` counts all symbols that are off since. Sizes of the tree's image in bytes, times
    of its phase in ns, before and after."""

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
    """How things stood before a group: symbols that had been changed, and those that were on."""

    view: View
    changed: int
    on: frozenset[str]
    attempts: int


class _Over(Exception):
    """The time allowed is over."""


@dataclass
class Trim:
    """A trimming under way."""

    bench: Bench
    loaded: LoadedSystem
    goal: Goal
    tell: Callable[[str], None]
    groups: list[Group] = field(default_factory=list)
    trees: dict[str, TrimTree] = field(default_factory=dict)
    evidence: dict[str, list[Candidate]] = field(default_factory=dict)
    """What the first recording says of each symbol that could go, by tree."""
    command_line: tuple[str, ...] = ()
    ended: str = ""
    attempts: int = 0

    def run(self) -> None:
        """Trims until nothing is left to try, or the time allowed is over.

        Raises UserError when the system itself does not boot, or a symbol to keep does not exist; ToolError
        when the host is too slow for a boot.
        """
        self._begun = time.monotonic()
        self.tell("recording the system itself, and which code runs ...")
        run = self.bench.measured(self.loaded, until=until(self.loaded.system))
        self.base = self.current = view(self.bench.store, run)
        if not self.base.boot.info.complete:
            raise UserError(f"{self.loaded.system.name} itself does not boot: {self.base.boot.info.message}")
        memory = Memory(self.bench.store.root / "trim" / f"{run.info.build_id[:16]}.json")
        beside = self.bench.with_limits(limits_beside(self.base, self.bench.limits))
        self.trials = Trials(beside, self.loaded, self.base, memory, self.goal.services)
        names = [name for name in ORDER if name in self.goal.only]
        self._open(names)
        try:
            for name in names:
                self._tree(self.trees[name])
            for name in names:
                if SMALLER.get(name) and not self.goal.sure:
                    self._smaller(self.trees[name])
            if self.goal.quiet and "kernel" in names:
                self._quiet()
            # Last, as it brings the least for a build.
            for name in AGAIN:
                if name in names:
                    self._tree(self.trees[name])
            self.ended = "nothing is left to try"
        except _Over:
            self.ended = "the time allowed is over; asked again, it goes on from here"

    def _open(self, names: Sequence[str]) -> None:
        known = facts(self.bench.store, self.base)
        missing, arch = set(self.goal.keep), architecture(self.loaded)
        for name in names:
            source = source_tree(self.loaded, name, self.bench.runner, self.bench.progress)
            asked_for = wanted(self.loaded.system, name)
            tree = TrimTree(name, source.resolve(), arch, known.configs[name], asked_for)
            asked = {n: "it was asked for" for n in self.goal.keep if n in tree.symbols}
            tree.spared = {} if self.goal.bare else in_case(name, tree.symbols)
            tree.kept = {**by_nature(name, self.loaded.system, arch, known.files), **asked}
            missing -= asked.keys()
            self.trees[name] = tree
            for symbol in tree.unknown:
                self.tell(f"{name}: {symbol} does not exist in this version of the sources")
        if missing:
            there = sorted({symbol for tree in self.trees.values() for symbol in tree.symbols})
            raise unknown("symbol", min(missing), there)

    # ---- one tree ----

    def _tree(self, tree: TrimTree) -> None:
        for title, all_kinds in STEPS[tree.name]:
            kinds = [k for k in all_kinds if k in SURE or not self.goal.sure]
            if not kinds:
                continue
            build = tree.build(self.current)
            self.evidence.setdefault(tree.name, candidates(build))
            in_use = self._in_use(tree, build)
            chosen = group(tree, build, kinds, in_use)
            if chosen:
                self._group(tree, build, title, chosen, in_use)

    def _in_use(self, tree: TrimTree, build: Build) -> dict[str, str]:
        if tree.name != "kernel":
            return {}
        blob = self.bench.device_tree(self.loaded)
        return drivers_in_use(tree, self.current, build.code, blob)

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
        definitions = tree.definitions(self.current)

        def attempt(items: Sequence[Candidate]) -> Attempt:
            return self._attempt(tree, build, items, definitions, in_use)

        def refuse(item: Candidate, reason: str) -> None:
            tree.stays[item.symbol] = Stay(reason, item.image_bytes, item.kind)

        try:
            Bisection(attempt, refuse, _worth).run(chosen)
        finally:
            self._add_group(tree, title, len(chosen), start)

    def _start(self, tree: TrimTree) -> _Start:
        return _Start(self.current, len(tree.off), _on(tree.config), self.attempts)

    def _add_group(self, tree: TrimTree, title: str, tried: int, start: _Start) -> None:
        views = (start.view, self.current)
        sizes, phases = ([f(v, tree.name) for v in views] for f in (_size, _phase_ns))
        gone = len(start.on - _on(tree.config))
        changed, attempts = len(tree.off) - start.changed, self.attempts - start.attempts
        self.groups.append(Group(tree.name, title, tried, changed, gone, attempts, *sizes, *phases))

    def _attempt(
        self,
        tree: TrimTree,
        build: Build,
        items: Sequence[Candidate],
        definitions: Mapping[str, str],
        in_use: Mapping[str, str],
    ) -> Attempt:
        self._check_time()
        landed = self._landed(tree, {c.symbol for c in items})
        sizes = {c.symbol: c for c in items}
        for name, reason in landed.held.items():
            if name in sizes:
                tree.stays[name] = Stay(reason, sizes[name].image_bytes, sizes[name].kind)
        if _on(landed.config) == _on(tree.config):
            return Attempt()
        missing = _missing(tree, build, landed.config, in_use)
        if missing:
            # Seen without a build.
            return Attempt(missing)
        self.attempts += 1
        self.tell(f"  without {_named(items)} ...")
        outcome, found = self.trials.run(self.system({**self._off(), tree.name: landed.symbols}))
        if found is None:
            self.tell(f"    does not work: {outcome.reason.splitlines()[0]}")
            missed = {definitions[name] for name in outcome.undefined if name in definitions}
            guilty = [p for p, c in enumerate(items) if missed & build.near(c.goes)]
            return Attempt(outcome.reason, tuple(guilty) if len(guilty) < len(items) else ())
        more = _size(found, tree.name) - _size(self.current, tree.name)
        if more > _LEAST_BYTES:
            self.tell(f"    works, but the image gets larger by {more:,} bytes")
            return Attempt(f"off, it makes the image larger, by {more:,} bytes")
        self._accept(tree, landed, found)
        return Attempt()

    def _accept(self, tree: TrimTree, landed: Landed, found: View) -> None:
        tree.off, tree.config, self.current = landed.symbols, landed.config, found
        size, phase = _size(found, tree.name), _phase_ns(found, tree.name)
        self.tell(f"    works: {IMAGE[tree.name]} {size:,} bytes, {PHASES[tree.name][0]} {phase / 1e9:.3f} s")

    def _check_time(self) -> None:
        if time.monotonic() - self._begun > self.goal.budget_s:
            raise _Over

    def _landed(self, tree: TrimTree, off: set[str], on: Collection[str] = ()) -> Landed:
        """What comes of switching more symbols off, or on."""
        return land(
            tree.symbols,
            lambda symbols: self._configured(tree, symbols),
            off | {name for name, value in tree.off.items() if value is False},
            tree.config,
            tree.fixed | tree.spared.keys(),
            {*on, *(name for name in SMALLER.get(tree.name, ()) if tree.off.get(name) is True)},
        )

    def _configured(self, tree: TrimTree, symbols: Symbols) -> dict[str, str]:
        system = self.system({**self._off(), tree.name: symbols})
        loaded = LoadedSystem(system, self.loaded.path)
        return configured(loaded, tree.name, self.bench.runner, self.bench.progress)

    # ---- the system as it stands ----

    def _off(self) -> dict[str, Symbols]:
        return {name: tree.off for name, tree in self.trees.items()}

    def change(self, off: dict[str, Symbols] | None = None) -> Change:
        """All that was switched off, as one change."""
        off = self._off() if off is None else off
        return Change(
            kernel=off.get("kernel", {}),
            uboot=off.get(BUILT.tree, {}),
            busybox=off.get("busybox", {}),
            command_line=self.command_line,
        )

    def system(self, off: dict[str, Symbols] | None = None) -> System:
        """The system that was begun with, trimmed."""
        changed = apply(self.loaded.system, {"trim": self.change(off)})
        return msgspec.structs.replace(changed, name=f"{self.loaded.system.name}.trim")

    def _smaller(self, tree: TrimTree) -> None:
        """The same code in less room, where the boot gets no longer by that."""
        wanted = [n for n in SMALLER[tree.name] if n in tree.symbols and tree.config.get(n, "n") == "n"]
        title, start = "compiled for size", self._start(tree)

        def attempt(names: Sequence[str]) -> Attempt:
            self._check_time()
            landed = self._landed(tree, set(), names)
            for name in names:
                if name in landed.held:
                    self.tell(f"  {name}: {landed.held[name]}")
            if landed.config == tree.config:
                return Attempt()
            self.attempts += 1
            self.tell(f"  with {', '.join(names)} ...")
            outcome, found = self.trials.run(self.system({**self._off(), tree.name: landed.symbols}))
            reason = outcome.reason
            if found and found.timeline.total_ns > self.current.timeline.total_ns:
                reason = "the boot gets longer"
            if not found or reason:
                self.tell(f"    not kept: {reason.splitlines()[0]}")
                return Attempt(reason)
            self._accept(tree, landed, found)
            return Attempt()

        def refuse(name: str, reason: str) -> None:
            tree.stays[name] = Stay(f"off: {reason}")

        self.tell(f"{tree.name}: {title}")
        Bisection(attempt, refuse).run(wanted)
        self._add_group(tree, title, len(wanted), start)

    def _quiet(self) -> None:
        """The kernel's messages kept off the console, beside the system itself with the same."""
        tree = self.trees["kernel"]
        start = self._start(tree)
        self.command_line = ("quiet",)
        self.tell("the kernel's messages kept off the console (quiet) ...")
        outcome, found = self.trials.run(self.system())
        if found is None:
            self.command_line = ()
            self.tell(f"    does not work: {outcome.reason}")
            return
        self.current = found
        self.attempts += 1
        self._add_group(tree, "messages on the console: quiet", 1, start)


def _missing(tree: TrimTree, build: Build, config: Mapping[str, str], in_use: Mapping[str, str]) -> str:
    """What a configuration lacks that must be there; empty when it has everything."""
    unmet = tree.unmet(config)
    if unmet:
        return f"{unmet[0]} would go ({tree.kept.get(unmet[0], 'the system asks for it')})"
    lost = build.lost(_on(tree.config) - _on(config))
    driver = next((name for name in lost if name in in_use), "")
    return f"{driver} would go, and drives {in_use[driver]}" if driver else ""


def until(system: System) -> str:
    """Where recordings of a trimming end: where the application says that it is ready, if it does."""
    return "app-ready" if "app-ready" in system.milestones else default_until(system)


def _on(config: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name, value in config.items() if value in ("y", "m"))


def _named(items: Sequence[Candidate]) -> str:
    if len(items) <= 3:
        return ", ".join(c.symbol for c in items)
    folders = list(dict.fromkeys(c.folder for c in items if c.folder))
    where = f" ({', '.join(folders[:4])}{', ...' if len(folders) > 4 else ''})" if folders else ""
    return f"{len(items)} symbols{where}"


def _worth(items: Sequence[Candidate]) -> bool:
    """Whether to search on in a group that breaks something."""
    size = sum(c.image_bytes for c in items)
    instructions = sum(c.ran.total for c in items)
    return size >= _LEAST_BYTES or instructions >= _LEAST_INSTRUCTIONS or len(items) >= _LEAST_BLANK


def _size(of: View, tree: str) -> int:
    return next((p.size_bytes for p in of.run.info.parts if p.name == IMAGE[tree]), 0)


def _phase_ns(of: View, tree: str) -> int:
    return sum(p.duration_ns for p in of.timeline.phases if p.name in PHASES[tree])
