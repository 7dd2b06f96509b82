# SPDX-License-Identifier: Apache-2.0
"""The current state of the system during trimming, and what is tried on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from bootscope.analysis.removable import Build, Candidate
from bootscope.analysis.views import View
from bootscope.kbuild.resolve import Landed, land
from bootscope.loaders.registry import BUILT
from bootscope.search.bench import Bench
from bootscope.search.bisect import Attempt
from bootscope.search.search import Over
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Symbols, System
from bootscope.trim.tree import IMAGE, PHASES, Stay, TrimTree, phase_ns, size_bytes, switched_on
from bootscope.trim.trial import Trials, Tried

LEAST_BYTES = 4096
"""The least that is worth its own build and boot."""
SMALLER = {"kernel": ("CC_OPTIMIZE_FOR_SIZE", "THUMB2_KERNEL", "LD_DEAD_CODE_DATA_ELIMINATION")}
"""Symbols that, switched on, make the same code smaller; kept where the boot does not get longer."""


@dataclass
class State:
    """The current system: its `trees`, and its last boot that works; `deadline` is host time."""

    bench: Bench
    loaded: LoadedSystem
    trials: Trials
    current: View
    deadline: float
    tell: Callable[[str], None]
    trees: dict[str, TrimTree] = field(default_factory=dict)
    command_line: tuple[str, ...] = ()
    attempts: int = 0
    smaller: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: SMALLER)

    def without(
        self,
        tree: TrimTree,
        build: Build,
        items: Sequence[Candidate],
        definitions: Mapping[str, str],
        in_use: Mapping[str, str],
    ) -> Attempt:
        """Tries a tree without symbols, and keeps it if that works.

        `definitions`: global name -> object file.
        """
        landed = self._landed(tree, {c.symbol for c in items})
        sizes = {c.symbol: c for c in items}
        for name, reason in landed.held.items():
            if name in sizes:
                tree.stays[name] = Stay(reason, sizes[name].image_bytes, sizes[name].kind)
        if switched_on(landed.config) == switched_on(tree.config):
            return Attempt()
        missing = tree.missing(build, landed.config, in_use)
        if missing:
            # Found without a build.
            return Attempt(missing)
        tried, found = self._tried(tree, landed, f"without {_named(items)}")
        if found is None:
            self.tell(f"    does not work: {tried.reason.splitlines()[0]}")
            missed = {definitions[name] for name in tried.undefined if name in definitions}
            guilty = [p for p, c in enumerate(items) if missed & build.near(c.goes)]
            return Attempt(tried.reason, tuple(guilty) if len(guilty) < len(items) else ())
        more = size_bytes(found, tree.name) - size_bytes(self.current, tree.name)
        if more > LEAST_BYTES:
            self.tell(f"    works, but the image gets larger by {more:,} bytes")
            return Attempt(f"off, it makes the image larger, by {more:,} bytes")
        return self._accept(tree, landed, found)

    def with_on(self, tree: TrimTree, names: Sequence[str]) -> Attempt:
        """Tries a tree with symbols on, and keeps it if it works and the boot is not longer."""
        landed = self._landed(tree, set(), names)
        for name in names:
            if name in landed.held:
                self.tell(f"  {name}: {landed.held[name]}")
        if landed.config == tree.config:
            return Attempt()
        tried, found = self._tried(tree, landed, f"with {', '.join(names)}")
        reason = tried.reason
        if found and found.timeline.total_ns > self.current.timeline.total_ns:
            reason = "the boot gets longer"
        if not found or reason:
            self.tell(f"    not kept: {reason.splitlines()[0]}")
            return Attempt(reason)
        return self._accept(tree, landed, found)

    def quiet(self) -> bool:
        """Tries to keep the kernel's messages off the console; returns whether that works."""
        self.command_line = ("quiet",)
        self.tell("the kernel's messages kept off the console (quiet) ...")
        tried, found = self.trials.run(self.system())
        if found is None:
            self.command_line = ()
            self.tell(f"    does not work: {tried.reason}")
            return False
        self.current = found
        self.attempts += 1
        return True

    def _tried(self, tree: TrimTree, landed: Landed, how: str) -> tuple[Tried, View | None]:
        self.attempts += 1
        self.tell(f"  {how} ...")
        return self.trials.run(self.system({**self._off(), tree.name: landed.symbols}))

    def _accept(self, tree: TrimTree, landed: Landed, found: View) -> Attempt:
        tree.off, tree.config, self.current = landed.symbols, landed.config, found
        size, phase = size_bytes(found, tree.name), phase_ns(found, tree.name)
        self.tell(f"    works: {IMAGE[tree.name]} {size:,} bytes, {PHASES[tree.name][0]} {phase / 1e9:.3f} s")
        return Attempt()

    def _landed(self, tree: TrimTree, off: set[str], on: Collection[str] = ()) -> Landed:
        """The result of switching more symbols off, or on. Raises Over when no time is left for it."""
        if time.monotonic() > self.deadline:
            raise Over
        return land(
            tree.symbols,
            lambda symbols: self._configured(tree, symbols),
            off | {name for name, value in tree.off.items() if value is False},
            tree.config,
            tree.fixed | tree.spared.keys(),
            {*on, *(name for name in self.smaller.get(tree.name, ()) if tree.off.get(name) is True)},
        )

    def _configured(self, tree: TrimTree, symbols: Symbols) -> dict[str, str]:
        system = self.system({**self._off(), tree.name: symbols})
        return self.bench.configured(LoadedSystem(system, self.loaded.path), tree.name)

    def _off(self) -> dict[str, Symbols]:
        return {name: tree.off for name, tree in self.trees.items()}

    def change(self, off: dict[str, Symbols] | None = None) -> Change:
        """All symbols that were switched off, as one change."""
        off = self._off() if off is None else off
        kernel, uboot, busybox = (off.get(name, {}) for name in ("kernel", BUILT.tree, "busybox"))
        return Change(kernel=kernel, uboot=uboot, busybox=busybox, command_line=self.command_line)

    def system(self, off: dict[str, Symbols] | None = None) -> System:
        """The original system, trimmed."""
        changed = apply(self.loaded.system, {"trim": self.change(off)})
        return msgspec.structs.replace(changed, name=f"{self.loaded.system.name}.trim")


def _named(items: Sequence[Candidate]) -> str:
    if len(items) <= 3:
        return ", ".join(c.symbol for c in items)
    folders = list(dict.fromkeys(c.folder for c in items if c.folder))
    where = f" ({', '.join(folders[:4])}{', ...' if len(folders) > 4 else ''})" if folders else ""
    return f"{len(items)} symbols{where}"
