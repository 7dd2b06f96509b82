# SPDX-License-Identifier: Apache-2.0
"""Shows how more workers speed up a search: repeats a search from the store in simulated time.

    python benchmarks/cluster_scale.py STORE SYSTEM [--workers 1 2 4 8 16 32 50]

The search itself runs, with its own decisions and its own foresight; its outcomes come from the journal, and
each build with its boot takes as long as when it was recorded (host_ms). A system that was foreseen but never
recorded takes the median time. Fetching by workers and reading by the client take no time here. The critical
path is what the search waits for with more workers than it can use: each line of it is a system that could
not be foreseen sooner.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from bootscope.audit.findings import Finding
from bootscope.core.errors import UserError
from bootscope.core.jsonlines import JsonLines
from bootscope.search.emulated import EmulatedBench, EmulatedSearch
from bootscope.search.experiment import Goal
from bootscope.search.job import Candidate
from bootscope.search.journal import Line, SavedFinding
from bootscope.search.outcome import Outcome
from bootscope.search.session import ablate
from bootscope.system.load import LoadedSystem, load_system
from bootscope.techniques.model import techniques

MANY = 1000
"""So many workers that some are always free."""


class Recorded:
    """The content of a journal: outcomes by techniques, findings by run."""

    def __init__(self, path: Path) -> None:
        self.outcomes: dict[tuple[str, ...], Outcome] = {}
        self._audits: dict[str, tuple[SavedFinding, ...]] = {}
        self.options: dict[str, Any] = {}
        for line in JsonLines(path, Line).read():
            if line.outcome:
                self.outcomes[tuple(sorted(line.outcome.what))] = line.outcome
            elif line.kind == "audit":
                self._audits[line.run_id] = line.findings
            elif line.options:
                self.options = line.options
        self.usual_s = statistics.median(o.host_ms for o in self.outcomes.values()) / 1000

    def took_s(self, what: tuple[str, ...]) -> float:
        """How long a system took, in s of host time."""
        found = self.outcomes.get(tuple(sorted(what)))
        return found.host_ms / 1000 if found else self.usual_s

    def findings(self, run_id: str, make: Callable[[], object]) -> list[Finding]:
        """The findings of a recording's audit, from a journal."""
        known = techniques()
        return [
            Finding(known[s.technique], s.recipe, s.saving_ns, s.evidence, s.assumptions, s.change)
            for s in self._audits[run_id]
        ]


@dataclass
class Simulated:
    """Simulates a scheduler with that many workers, with a clock of its own, in s."""

    journal: Recorded
    boots: int
    now_s: float = 0.0
    ends_s: dict[tuple[str, ...], float] = field(default_factory=dict)
    """Systems in progress or done -> when they end."""
    begun_s: dict[tuple[str, ...], float] = field(default_factory=dict)
    asked: set[tuple[str, ...]] = field(default_factory=set)
    waited: list[tuple[str, float]] = field(default_factory=list)
    """(system, s) for each wait of the search."""
    wasted_s: float = 0.0
    _hints: list[tuple[str, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bench = SimpleNamespace(hands=self.boots, store=None, cache=None)

    def known(self, candidate: Candidate) -> Outcome | None:
        done = self.ends_s.get(candidate.what, float("inf")) <= self.now_s
        return self.journal.outcomes.get(candidate.what) if done else None

    def hint(self, candidates: Iterable[Candidate]) -> None:
        self._hints = [c.what for c in candidates]
        for what in self._under_way():
            if what not in self._hints:
                self._drop(what)
        self._fill()

    def measured(self, candidate: Candidate) -> Outcome:
        what = candidate.what
        self.asked.add(what)
        if what not in self.journal.outcomes:
            raise UserError(f"the journal lacks {' '.join(what)}")
        if what not in self.ends_s:
            if len(self._under_way()) >= self.boots:
                self._drop(max(self._under_way(), key=self._rank))
            self._begin(what)
        begun_s = self.now_s
        while self.ends_s[what] > self.now_s:
            self.now_s = min(self.ends_s[w] for w in self._under_way())
            self._fill()
        if self.now_s > begun_s:
            self.waited.append((candidate.title, self.now_s - begun_s))
        return self.journal.outcomes[what]

    def give_up_after(self, limit_ns: int) -> None: ...

    def to_beat(self, total_ns: int) -> None: ...

    def _rank(self, what: tuple[str, ...]) -> int:
        return self._hints.index(what) if what in self._hints else len(self._hints)

    def _under_way(self) -> list[tuple[str, ...]]:
        return [what for what, end_s in self.ends_s.items() if end_s > self.now_s]

    def _begin(self, what: tuple[str, ...]) -> None:
        self.begun_s[what] = self.now_s
        self.ends_s[what] = self.now_s + self.journal.took_s(what)

    def _drop(self, what: tuple[str, ...]) -> None:
        self.wasted_s += self.now_s - self.begun_s[what]
        del self.ends_s[what]

    def _fill(self) -> None:
        free = self.boots - len(self._under_way())
        for what in [w for w in self._hints if w not in self.ends_s][: max(0, free)]:
            self._begin(what)

    def in_vain_s(self) -> float:
        """Work whose result was not used, in s."""
        unasked = (min(self.ends_s[w], self.now_s) - self.begun_s[w] for w in self.ends_s.keys() - self.asked)
        return self.wasted_s + sum(unasked)


def searched(journal: Recorded, loaded: LoadedSystem, workers: int) -> tuple[Simulated, EmulatedSearch]:
    """The search with that many workers."""
    scheduler = Simulated(journal, workers)
    bench = EmulatedBench(scheduler, loaded)  # type: ignore[arg-type]
    asked = journal.options
    keep = tuple(filter(None, asked["keep"].split(",")))
    goal = Goal(round(asked["goal"] * 1e6), 10**9, keep, asked["only"], together=asked["groups"])
    search = EmulatedSearch(bench, goal, lambda text: None)
    search.run()
    ablate(search, asked["ablate"])
    return scheduler, search


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("system")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32, 50])
    args = parser.parse_args()
    journal = Recorded(args.store / "searches" / f"{args.system}.jsonl")
    loaded = load_system(args.system)
    endless, first = searched(journal, loaded, MANY)
    path_s = endless.now_s
    print(f"critical path: {path_s:.0f} s, of {len(endless.waited)} waits:")
    for title, time_s in endless.waited:
        print(f"  {time_s:7.1f} s  {title}")
    print(" workers   time s  faster  beside the path s  faster  not needed s")
    alone_s = 0.0
    for count in args.workers:
        found, search = searched(journal, loaded, count)
        assert search.accepted == first.accepted, "another system was accepted"
        alone_s = alone_s or found.now_s
        rest_s = found.now_s - path_s
        faster = f"{(alone_s - path_s) / rest_s:.1f}" if rest_s > 0 else "all"
        print(
            f"{count:8} {found.now_s:8.0f} {alone_s / found.now_s:7.1f} {rest_s:18.0f} {faster:>7} "
            f"{found.in_vain_s():10.0f}"
        )
    print(f"accepted with any number: {', '.join(first.accepted) or 'nothing'}")


if __name__ == "__main__":
    main()
