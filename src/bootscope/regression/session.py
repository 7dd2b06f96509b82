# SPDX-License-Identifier: Apache-2.0
"""A bisection on the emulated board: checks out, builds and boots commits until it is known which one it
was."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from bootscope.analysis.samples import MILESTONE, PHASE, Quantity
from bootscope.capture.labels import known
from bootscope.capture.record import BootEnd
from bootscope.capture.stored import StoredRun
from bootscope.core.errors import BoardError, SpaceError, ToolError, UserError, unknown
from bootscope.core.text import seconds, span
from bootscope.regression.find import GONE, Finder, Step
from bootscope.regression.journal import BROKEN, MEASURED, UNBUILT, Journal, Tried
from bootscope.regression.tree import Checkout, Commit
from bootscope.runs.recorded import times
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Firmware, Source, System, builds

TREES: dict[str, Callable[[System], str]] = {
    "linux": lambda system: system.kernel.source,
    "uboot": lambda system: system.uboot.source,
    "busybox": lambda system: system.busybox.source,
    "firmware": lambda system: system.firmware.source if isinstance(system.firmware, Firmware) else "",
}
"""What a tree is of -> the name of that source in a system."""
_OF_THE_HOST = {BootEnd.TIMEOUT, BootEnd.INTERRUPTED, BootEnd.DIED, BootEnd.PARTIAL}
_LABEL = "commit"
_MOST_WHY = 200
"""Characters of why a commit does not build."""


@dataclass(frozen=True)
class Question:
    """What is looked for: in `loaded`, whose source `kind` is the tree, a boot to `until`; the length of
    `phase`, or the time of `until` where that is empty. `by_ns`: how much slower counts; None: half of
    what the last commit has more than the first. `every`: all commits of at least so much."""

    loaded: LoadedSystem
    kind: str
    until: str
    phase: str = ""
    by_ns: int | None = None
    every: bool = False

    @property
    def quantity(self) -> Quantity:
        """What is measured."""
        return Quantity(PHASE, self.phase) if self.phase else Quantity(MILESTONE, self.until)


@dataclass(frozen=True)
class Found:
    """A commit that was looked for: it, the last one before that was measured, what came of both, and the
    commits that may be it as well, since they do not build."""

    commit: Commit
    before: Commit
    tried: Tried
    tried_before: Tried
    suspects: tuple[Commit, ...] = ()

    @property
    def ns(self) -> int | None:
        """What it costs in ns; None where the boot breaks."""
        if self.tried.ns is None or self.tried_before.ns is None:
            return None
        return self.tried.ns - self.tried_before.ns


@dataclass
class Session:
    """One bisection over `commits`, the good one first. `says` is told how it goes on."""

    question: Question
    commits: Sequence[Commit]
    checkout: Checkout
    bench: Bench
    journal: Journal
    says: Callable[[str], None] = lambda text: None
    tried: dict[str, Tried] = field(default_factory=dict)
    images: dict[tuple[tuple[str, str], ...], Tried] = field(default_factory=dict)
    new: int = 0
    """How many commits were built in this session."""

    def run(self) -> list[Found]:
        """The commits that are looked for, oldest first.

        Raises UserError where good and bad do not differ as asked, or one of them does not build;
        ToolError and BoardError where this computer is at fault. What was tried is in the journal then.
        """
        with self.checkout.held():
            finder = Finder(self._figure)
            last = len(self.commits) - 1
            good, bad = finder.at(0), finder.at(last)
            self._check_ends(good, bad)
            assert good is not None and bad is not None
            return [self._found(step) for step in self._steps(finder, good, bad, last)]

    def _steps(self, finder: Finder, good: int, bad: int, last: int) -> list[Step]:
        by_ns = self.question.by_ns
        if self.question.every:
            assert by_ns
            return finder.every(0, last, by_ns)
        if bad == GONE:
            return [finder.first(0, last, lambda ns: ns == GONE)]
        limit = good + (by_ns if by_ns is not None else (bad - good + 1) // 2)
        step = finder.first(0, last, lambda ns: ns == GONE or ns >= limit)
        return [step]

    def _check_ends(self, good: int | None, bad: int | None) -> None:
        first, last = self.commits[0], self.commits[-1]
        for name, commit, figure in (("good", first, good), ("bad", last, bad)):
            if figure is None:
                why = self.tried[commit.sha].why
                raise UserError(f"--{name} {commit.short} does not build: {why}", hint="one that builds")
        if good == GONE:
            why = self.tried[first.sha].why
            raise UserError(f"--good {first.short} does not boot: {why}", hint="one that does")
        if bad == GONE and self.question.every:
            raise UserError(
                f"--bad {last.short} does not boot, and --all compares times", hint="without --all"
            )
        least = self.question.by_ns if self.question.by_ns is not None else 1
        if bad != GONE and good is not None and bad is not None:
            apart = abs(bad - good) if self.question.every else bad - good
            if apart < least:
                words = f"{last.short} has {seconds(bad, 6)} s, {first.short} {seconds(good, 6)} s"
                hint = "--by MS, --phase P, other commits"
                raise UserError(f"not slower by {span(least)}: {words}", hint=hint)

    def _found(self, step: Step) -> Found:
        between = tuple(self.commits[step.before + 1 : step.after])
        after, before = self.commits[step.after], self.commits[step.before]
        return Found(after, before, self.tried[after.sha], self.tried[before.sha], between)

    def _figure(self, place: int) -> int | None:
        commit = self.commits[place]
        if commit.sha not in self.tried:
            self.says(f"{place} of {len(self.commits) - 1}: {commit.short} {commit.subject}")
            made = self._try(commit)
            self.journal.add(made)
            self.tried[commit.sha] = made
            self.says(told(made))
        found = self.tried[commit.sha]
        return {MEASURED: found.ns, BROKEN: GONE}.get(found.state)

    def _try(self, commit: Commit) -> Tried:
        begun = time.monotonic()
        self.checkout.check_out(commit)
        loaded = with_tree(self.question.loaded, self.question.kind, self.checkout)
        self.new += 1
        try:
            order = replace(self.bench.order(loaded), until=self.question.until)
        except SpaceError:
            raise
        except (ToolError, UserError) as error:
            took_s = time.monotonic() - begun
            why = " ".join(error.message.split())[:_MOST_WHY]
            return Tried(commit=commit.sha, state=UNBUILT, why=why, build_s=took_s)
        build_s = time.monotonic() - begun
        # Sources differ where images do not: in comments, documents, files of other boards.
        made = (part for part in order.built.parts() if not part.name.startswith("unpack-"))
        images = tuple((part.name, part.sha256) for part in made)
        if images in self.images:
            same = self.images[images]
            return msgspec.structs.replace(
                same, commit=commit.sha, same_as=same.commit, build_s=build_s, boot_s=0.0
            )
        run = self.bench.known(order) or self.bench.boot(order)
        tried = self._measured(commit, run, build_s, time.monotonic() - begun - build_s)
        self.images[images] = tried
        return tried

    def _measured(self, commit: Commit, run: StoredRun, build_s: float, boot_s: float) -> Tried:
        run_id, end = run.info.run_id, run.boots[0].info
        if not known(self.bench.store.runs / run_id).get(_LABEL):
            self.bench.store.label(run_id, {_LABEL: commit.sha})
        booted = Tried(commit=commit.sha, state=BROKEN, run_id=run_id, build_s=build_s, boot_s=boot_s)
        if end.ended in _OF_THE_HOST:
            raise BoardError(f"boot of {commit.short}: {end.message}", hint="--resume goes on")
        if not end.complete:
            return msgspec.structs.replace(booted, why=end.message)
        quantity, found = self.question.quantity, times(run)
        values = found.values(quantity)
        if not values:
            there = [str(q) for q in found.quantities()]
            raise unknown("milestone or phase of these boots", str(quantity), there)
        return msgspec.structs.replace(booted, state=MEASURED, ns=values[0])


def with_tree(loaded: LoadedSystem, kind: str, checkout: Checkout) -> LoadedSystem:
    """The system with the checked out tree as one of its sources. Raises UserError where it takes that
    prebuilt."""
    name = source_name(loaded.system, kind)
    own = Source(version=loaded.system.sources[name].version, path=str(checkout.path))
    sources = {**loaded.system.sources, name: own}
    return replace(loaded, system=msgspec.structs.replace(loaded.system, sources=sources))


def source_name(system: System, kind: str) -> str:
    """The source of a system that a tree stands for. Raises UserError where the system takes it prebuilt."""
    name = TREES[kind](system)
    if not name:
        raise UserError(f"{system.name} has no {kind} of its own", hint="bootscope help systems")
    if kind != "firmware" and not builds(system, {"linux": "kernel"}.get(kind, kind)):
        raise UserError(
            f"{system.name} takes {kind} prebuilt, so that no tree of yours is in it",
            hint="a system that builds it (bootscope help systems)",
        )
    return name


def told(tried: Tried) -> str:
    """What came of a commit, in words."""
    took = f"built in {tried.build_s:.0f} s" + (f", booted in {tried.boot_s:.0f} s" if tried.boot_s else "")
    if tried.state == UNBUILT:
        return f"does not build, skipped: {tried.why}"
    same = f" (same images as {tried.same_as[:12]}, not booted)" if tried.same_as else ""
    if tried.state == BROKEN:
        return f"does not boot: {tried.why}{same}; {took}"
    return f"{seconds(tried.ns or 0, 6)} s{same}; {took}"
