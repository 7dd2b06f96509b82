# SPDX-License-Identifier: Apache-2.0
"""A made-up catalogue and a bench that only pretends to build and boot, for tests of searches."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pytest

from bootscope.audit import findings
from bootscope.boards.profile import load_board
from bootscope.builder.ids import id_of
from bootscope.builder.plan import Built
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import StepError, SymbolError, UserError
from bootscope.emulator.plugin_config import Limits
from bootscope.emulator.recording import Order
from bootscope.kbuild.kconfig import written
from bootscope.report import search_html
from bootscope.search import journal, pareto, session
from bootscope.search.emulated import EmulatedBench, EmulatedSearch
from bootscope.search.experiment import Goal
from bootscope.search.journal import Journal
from bootscope.search.scheduler import Scheduler
from bootscope.system.changes import Change
from bootscope.system.load import LoadedSystem
from bootscope.techniques.model import Recipe, Status, Technique

from .lab_scenes import CONFIGS, boot, keep, stock

INIT_MS = 5000


def made_up(
    name: str, phase: str = "kernel", *recipes: str, off: bool = False, **fields: object
) -> Technique:
    """A technique whose recipes set the symbol that is called as it is; with `off` it leaves it out."""
    value: Callable[[str], str | bool] = lambda recipe: False if off else recipe  # noqa: E731
    given = {
        recipe: Recipe(change=Change(kernel={name.upper(): value(recipe)})) for recipe in recipes or ("on",)
    }
    words = {"title": name, "what": "what", "detect": "detect", "apply": "apply"}
    made = {
        "schema": 1,
        "id": name,
        "phase": phase,
        "status": Status.RUNS,
        "recipes": given,
        **words,
        **fields,
    }
    return Technique(**made)  # type: ignore[arg-type]


def removals(*names: str, **fields: Any) -> list[Technique]:
    """Techniques that only leave a part out."""
    return [made_up(name, off=True, **fields) for name in names]


@dataclass
class FakeBench:
    """Each symbol of a kernel shortens init by the milliseconds that `worth` says for `SYMBOL=value`.

    `wrong` says what is wrong with it: `plan` (its steps cannot be), `symbol` (does not
    land), `build`, `panic`, `hang`, `picture`.
    A symbol that is not in `worth` is part of the kernel until it is switched off.
    """

    store: Store
    worth: dict[str, int]
    wrong: dict[str, str] = field(default_factory=dict)
    build_s: float = 0.0
    boot_s: float = 0.0
    built: list[frozenset[str]] = field(default_factory=list)
    booted: list[frozenset[str]] = field(default_factory=list)
    limit_ns: int = 10**15
    most_at_once: int = 0
    overlapped: bool = False
    """Something was built while something else booted."""
    progress: Any = None
    observer: Any = None
    log: Path | None = None
    """Where each build and boot leaves a line, for those who outlive this process."""
    parent: FakeBench | None = None
    hands: int = 0
    cache: None = None
    _on: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def _top(self) -> FakeBench:
        return self.parent or self

    def symbols(self, loaded: LoadedSystem) -> frozenset[str]:
        """What differs from the kernel as it was: `SYMBOL=value`."""
        told = {f"{n}={written(v).strip(chr(34))}" for n, v in loaded.system.kernel.config.items()}
        return frozenset(told & (self.worth.keys() | self.wrong.keys()))

    def saved(self, symbols: frozenset[str]) -> int:
        """Milliseconds by which a system with those symbols is faster."""
        return sum(self.worth.get(s, 0) for s in symbols)

    def key(self, loaded: LoadedSystem) -> str:
        symbols = self.symbols(loaded)
        if any(self.wrong.get(symbol) == "plan" for symbol in symbols):
            raise UserError("no such system can be planned")
        return id_of(sorted(symbols))

    def recorded(self, loaded: LoadedSystem) -> StoredRun | None:
        return None

    def watched_by(self, progress: object, observer: object) -> Self:
        given = (self.store, self.worth, self.wrong, self.build_s, self.boot_s, self.built, self.booted)
        made = type(self)(*given, progress=progress, observer=observer, log=self.log, parent=self._top())
        made.limit_ns = self.limit_ns
        return made

    @property
    def limits(self) -> Limits:
        return Limits(limit_ns=self.limit_ns)

    def limited(self, limit_ns: int) -> Self:
        self.limit_ns = limit_ns
        return self

    def unanswered(self, loaded: LoadedSystem) -> tuple[str, ...]:
        return ()

    def lasting(self, boot: StoredBoot) -> bool:
        return boot.info.ended in ("milestone", "panic", "hang", "limit")

    def order(self, loaded: LoadedSystem) -> Order:
        symbols = self.symbols(loaded)
        self.progress.begin("kernel", "building the kernel")
        self.built.append(symbols)
        self._say("build", symbols)
        self._wait(self.build_s, self._built_a_little)
        bad = sorted(s for s in symbols if self.wrong.get(s) == "symbol")
        if bad:
            raise SymbolError(f"have other values: {bad[0]}", tuple(s.partition("=")[0] for s in bad))
        if any(self.wrong.get(s) == "build" for s in symbols):
            raise StepError("kernel: make failed (status 2)\n  x.c:1: error: no", "/logs/x.txt")
        built = Built("", {}, {}, {})
        return Order(loaded.system, load_board(loaded.system.board), built, Path(), "", limits=self.limits)

    def _built_a_little(self) -> None:
        self.progress.update(1, None, "objects")
        self._top().overlapped |= self._top()._on > 0

    def known(self, order: Order) -> StoredRun | None:
        return None

    def boot(self, order: Order) -> StoredRun:
        symbols = self.symbols(LoadedSystem(order.system, Path()))
        self.observer.boot_begins(1, 1)
        with self._lock_of_all():
            self.booted.append(symbols)
            self._say("boot", symbols)
            self._wait(self.boot_s, lambda: self.observer.tick(0, "kernel"))
        kinds = {self.wrong.get(s) for s in symbols}
        ended = next((k for k in ("panic", "hang") if k in kinds), "milestone")
        if INIT_MS - self.saved(symbols) > order.limits.limit_ns // 1_000_000:
            ended = "limit"
        kernel = {**CONFIGS["kernel"], **{s.partition("=")[0]: _quoted(s) for s in sorted(symbols)}}
        kernel |= {s.partition("=")[0]: "y" for s in self.worth if s.endswith("=n") and s not in symbols}
        run_id = keep(
            self.store,
            boot(init_ms=INIT_MS - self.saved(symbols)).records,
            order.system,
            ended=ended,
            frame=b"other" if "picture" in kinds else b"same",
            configs={**CONFIGS, "kernel": kernel},
        )
        return self.store.load(run_id)

    @contextmanager
    def _lock_of_all(self) -> Iterator[None]:
        top = self._top()
        with top._lock:
            top._on += 1
            top.most_at_once = max(top.most_at_once, top._on)
        try:
            yield
        finally:
            with top._lock:
                top._on -= 1

    def _wait(self, time_s: float, look: Callable[[], None]) -> None:
        until = time.monotonic() + time_s
        look()
        while time.monotonic() < until:
            time.sleep(0.005)
            look()

    def _say(self, what: str, symbols: frozenset[str]) -> None:
        if self.log:
            with self.log.open("a") as f:
                f.write(f"{what} {' '.join(sorted(symbols))}\n")


def _quoted(symbol: str) -> str:
    value = symbol.partition("=")[2]
    return value if value in ("y", "n", "m") else f'"{value}"'


class Scene:
    """A search on the fake bench; `again` makes another one that finds what this one has left."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, found: Iterable[Technique]) -> None:
        catalogue = {t.id: t for t in found}
        for module in (findings, journal, pareto, session, search_html):
            patch.setattr(module, "techniques", lambda: catalogue)
        self.store = Store(root / "store")
        self.bench = FakeBench(self.store, {})
        self.told: list[str] = []
        self.crews: list[Scheduler] = []

    def search(
        self, worth: dict[str, int], goal: Goal | None = None, boots: int = 1, **bench: Any
    ) -> EmulatedSearch:
        self.bench = FakeBench(self.store, worth, **bench)
        return self.again(goal, boots)

    def again(self, goal: Goal | None = None, boots: int = 1) -> EmulatedSearch:
        """A new search, as if by a new process."""
        scheduler = Scheduler(self.bench, Journal(self.store.root, "stock"), boots, self.told.append)
        self.crews.append(scheduler)
        return EmulatedSearch(EmulatedBench(scheduler, stock()), goal or Goal(), self.told.append)

    def close(self) -> None:
        for scheduler in self.crews:
            scheduler.close()


Make = Callable[..., Scene]


# ---- eight techniques of different worth, and what a search of them did ----

WORTH = {f"T{n}=on": worth for n, worth in enumerate((3, -1, 4, 0, 5, -9, 2, 6))}
FOUND = [made_up(f"t{n}") for n in range(8)]


def story(search: EmulatedSearch) -> list[tuple[object, ...]]:
    """What a search did, without the names of recordings."""
    search.run()
    return [(e.techniques, e.on, e.refusal, e.saving_ns) for e in search.experiments]


def bench_of(search: EmulatedSearch) -> FakeBench:
    assert isinstance(search.bench.scheduler.bench, FakeBench)
    return search.bench.scheduler.bench
