# SPDX-License-Identifier: Apache-2.0
"""A bisection on the emulated board: checks out, builds and boots commits until the culprit is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from bootscope.core.errors import UserError
from bootscope.regression.find import GONE, Finder, Step
from bootscope.regression.journal import Journal, Tried
from bootscope.regression.question import End, Question, check_ends
from bootscope.regression.tree import Checkout, Commit
from bootscope.regression.trial import Trials, figure, told
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Firmware, System, builds
from bootscope.system.source import Source

TREES: dict[str, Callable[[System], str]] = {
    "linux": lambda system: system.kernel.source,
    "uboot": lambda system: system.uboot.source,
    "busybox": lambda system: system.busybox.source,
    "firmware": lambda system: system.firmware.source if isinstance(system.firmware, Firmware) else "",
}
"""The kind of a tree -> the name of its source in a system."""


@dataclass(frozen=True)
class Found:
    """A commit that was found, the last one measured before it, the results of both, and other suspects: the
    commits between, which do not build."""

    commit: Commit
    before: Commit
    tried: Tried
    tried_before: Tried
    suspects: tuple[Commit, ...] = ()

    @property
    def ns(self) -> int | None:
        """What it costs in ns; None if the boot breaks."""
        if self.tried.ns is None or self.tried_before.ns is None:
            return None
        return self.tried.ns - self.tried_before.ns


@dataclass
class Session:
    """One bisection over `commits` of the source `kind` of a system, the good one first. Without `by_ns` in
    the question a commit is bad from half of the whole difference on. `says` receives the progress."""

    question: Question
    kind: str
    commits: Sequence[Commit]
    checkout: Checkout
    bench: Bench
    journal: Journal
    says: Callable[[str], None] = lambda text: None
    tried: dict[str, Tried] = field(default_factory=dict)

    def run(self) -> list[Found]:
        """Finds the commits, oldest first.

        Raises UserError if good and bad do not differ as asked, or one of them does not build; ToolError and
        BoardError if this computer is at fault. The journal then has what was tried.
        """
        with self.checkout.held():
            finder = Finder(self._figure)
            last = len(self.commits) - 1
            good, bad = finder.at(0), finder.at(last)
            check_ends(self.question, self._end("--good", 0, good), self._end("--bad", last, bad))
            assert good is not None and bad is not None
            return [self._found(step) for step in self._steps(finder, good, bad, last)]

    def _end(self, option: str, place: int, ns: int | None) -> End:
        commit = self.commits[place]
        return End(option, commit.short, ns, self.tried[commit.sha].why)

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

    def _found(self, step: Step) -> Found:
        between = tuple(self.commits[step.before + 1 : step.after])
        after, before = self.commits[step.after], self.commits[step.before]
        return Found(after, before, self.tried[after.sha], self.tried[before.sha], between)

    def _figure(self, place: int) -> int | None:
        commit = self.commits[place]
        if commit.sha not in self.tried:
            self.says(f"{place} of {len(self.commits) - 1}: {commit.short} {commit.subject}")
            made = self._trials.run(commit.sha, commit.short, lambda: self._checked_out(commit))
            self.journal.add(made)
            self.tried[commit.sha] = made
            self.says(told(made))
        return figure(self.tried[commit.sha])

    @cached_property
    def _trials(self) -> Trials:
        return Trials(self.bench, self.question.until, self.question.quantity, "commit", self.bench.observer)

    def _checked_out(self, commit: Commit) -> LoadedSystem:
        self.checkout.check_out(commit)
        return with_tree(self.question.loaded, self.kind, self.checkout)


def with_tree(loaded: LoadedSystem, kind: str, checkout: Checkout) -> LoadedSystem:
    """The system with the checked-out tree as one of its sources. Raises UserError if the system uses it
    prebuilt."""
    name = source_name(loaded.system, kind)
    own = Source(version=loaded.system.sources[name].version, path=str(checkout.path))
    sources = {**loaded.system.sources, name: own}
    return replace(loaded, system=msgspec.structs.replace(loaded.system, sources=sources))


def source_name(system: System, kind: str) -> str:
    """The source of a system that a tree replaces. Raises UserError if the system uses it prebuilt."""
    name = TREES[kind](system)
    if not name:
        raise UserError(f"{system.name} has no {kind} of its own", hint="bootscope help systems")
    if kind != "firmware" and not builds(system, {"linux": "kernel"}.get(kind, kind)):
        raise UserError(
            f"{system.name} takes {kind} prebuilt, so that no tree of yours is in it",
            hint="a system that builds it (bootscope help systems)",
        )
    return name
