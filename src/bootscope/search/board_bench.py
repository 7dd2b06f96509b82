# SPDX-License-Identifier: Apache-2.0
"""The bench of a real board: two variants of a user's tree are built, put onto it in turns, and booted.

Boots of a board vary, so that nothing measured before will do: both are measured anew, in turns, whenever
they are to be compared; but for a search that goes on with one that was cut off, and finds again what that
has measured. How often they take turns depends on how long it takes to put images onto the board.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import msgspec

from bootscope.buildtrees.owner import command_environment
from bootscope.buildtrees.variants import Variant
from bootscope.buildtrees.workshop import BuildFailedError, Workshop
from bootscope.capture.record import BootEnd, BootInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot
from bootscope.core.errors import UserError
from bootscope.hardware.measuring import Measuring, Observer, Order, again, measuring
from bootscope.hardware.power import Already
from bootscope.search.board_memory import Memory
from bootscope.search.experiment import BaseFailedError
from bootscope.search.interleave import Turn, interleaved
from bootscope.search.journal import Comparison
from bootscope.search.outcome import changed_sizes
from bootscope.search.services import refused

_QUICK_S, _BEARABLE_S = 10.0, 60.0
_SOME_ROUNDS = 5
_SAME_IMAGES = (
    "does the build command use $BOOTSCOPE_CHANGES? Or is the change already there? "
    "(bootscope help real-boards)"
)


class SameImagesError(UserError):
    """A variant came to the same images as what it is compared with."""


@dataclass(frozen=True)
class Pair:
    """Two variants that were measured beside each other: their runs (empty for one that was not booted), in
    how many rounds, and how long it took to put one onto the board. `faults`: what the second one does not
    do; `missed`: which of its changes its build did not take."""

    base: Variant
    variant: Variant
    base_run: str
    variant_run: str
    rounds: int
    deploy_s: float
    faults: tuple[str, ...]
    sizes: dict[str, tuple[int, int]]
    missed: tuple[str, ...] = ()


def rounds_for(deploy_s: float, boots: int) -> int:
    """How often variants take turns when nobody says so: with every boot where it takes less than 10 s to put
    images onto the board, five times at most below a minute, else not at all."""
    if deploy_s < _QUICK_S:
        return boots
    return min(boots, _SOME_ROUNDS) if deploy_s < _BEARABLE_S else 1


@dataclass
class BoardBench:
    """Where variants are compared. `order.boots` are made of each. `rounds`: how often they take turns, None
    to decide that by time. `works`: the words of the owner's check; `check`: it as it was given. `memory`: of
    comparisons that need not be measured again."""

    store: Store
    shop: Workshop
    order: Order
    observer: Observer
    rounds: int | None = None
    works: tuple[str, ...] = ()
    check: str = ""
    memory: Memory | None = None
    measured: int = 0
    """Comparisons that were measured, or gone on with."""
    took_s: float = 0.0
    """What it took the last time to put a variant onto the board."""

    def __post_init__(self) -> None:
        """Raises UserError for a board that nobody switches: it cannot be booted again and again."""
        if isinstance(self.order.power, Already):
            raise UserError(
                "to try a change, bootscope must switch the board, and no power control is configured",
                hint="[power] in the board's file, --power-on and --power-off, or --by-hand",
            )
        if self.rounds is not None and not 1 <= self.rounds <= self.order.boots:
            raise UserError(f"--rounds must be 1 to {self.order.boots}, the number of boots of each")

    def pair(self, base: Variant, variant: Variant) -> Pair:
        """Measures two variants beside each other.

        Raises UserError when the base itself does not boot or work, SameImagesError, and as building,
        deploying and measuring do.
        """
        with contextlib.ExitStack() as stack:
            return _Turns(self, base, variant, stack).run()

    def once(self, variant: Variant) -> str:
        """Boots a variant once, to see what it says; returns the id of the run.

        Raises UserError when it does not boot or work, and as :meth:`pair` does.
        """
        alone = replace(self, order=replace(self.order, boots=1), rounds=1)
        with contextlib.ExitStack() as stack:
            return _Turns(alone, variant, variant, stack).once()

    @property
    def forgot(self) -> bool:
        """Whether what was to be found again is of a system that no longer exists."""
        shop = self.shop
        return (
            self.memory is not None
            and shop.keeps
            and self.memory.knows_only_others(shop.make(shop.variants.base))
        )

    def deployed(self, variant: Variant) -> float:
        """Puts a variant onto the board; returns what that took, or took the last time, in s."""
        self.took_s = self.shop.deploy(variant) or self.took_s
        return self.took_s


@dataclass
class _Turns:
    """Two variants taking turns. `kept`: how their comparison stands in the memory."""

    bench: BoardBench
    base: Variant
    variant: Variant
    stack: contextlib.ExitStack
    runs: dict[str, Measuring] = field(default_factory=dict)
    kept: Comparison = field(default_factory=lambda: Comparison("", ""))
    made: dict[str, int] = field(default_factory=dict)
    """Key of a variant -> its boots that count."""
    came: set[str] = field(default_factory=set)
    """Keys of variants of which a boot came to its end."""

    def run(self) -> Pair:
        bench = self.bench
        self._remember()
        if self.kept.over:
            bench.observer.says(f"{self.variant.words} against {self.base.words}: already measured")
            return self._pair()
        sizes = self._made()
        took_s = bench.deployed(self.base)
        rounds = self.kept.rounds or bench.rounds or rounds_for(took_s, bench.order.boots)
        self._keep(rounds=rounds, sizes=sizes, refused="")
        bench.measured += 1
        variants = {v.key: v for v in (self.base, self.variant)}
        for turn in _turns((self.base.key, self.variant.key), rounds):
            faults = self._turn(variants[turn.variant], turn, rounds)
            if faults:
                self._keep(faults=faults)
                break
        self._keep(over=True, deploy_s=bench.took_s, missed=self._missed())
        return self._pair()

    def _missed(self) -> tuple[str, ...]:
        """The changes that the variant's build did not take, and the base's did or had not to."""
        shop = self.bench.shop
        there = shop.make(self.base).missed
        return tuple(line for line in shop.make(self.variant).missed if line not in there)

    def once(self) -> str:
        """A first boot of the base, and the owner's check."""
        self._remember()
        if self.kept.over:
            self.bench.observer.says(f"{self.base.words}: already booted")
        else:
            self._turn(self.base, Turn(1, self.base.key), rounds=1)
            self._keep(over=True)
        return self.kept.runs[self.base.key]

    def _pair(self) -> Pair:
        k = self.kept
        ids = [k.runs.get(variant.key, "") for variant in (self.base, self.variant)]
        sizes = dict(k.sizes)
        return Pair(self.base, self.variant, ids[0], ids[1], k.rounds, k.deploy_s, k.faults, sizes, k.missed)

    def _remember(self) -> None:
        """Looks how the comparison stands. Raises what it came to, where nothing was booted."""
        memory, shop = self.bench.memory, self.bench.shop
        if memory is None or not shop.keeps:
            return
        self.kept = k = memory.comparison(
            shop.make(shop.variants.base), self.base, self.variant, self.bench.order
        )
        if k.refused and k.same:
            raise SameImagesError(k.refused, hint=_SAME_IMAGES)
        if k.refused:
            raise BuildFailedError(k.refused, k.log, self.variant.key)

    def _keep(self, **fields: Any) -> None:
        self.kept = msgspec.structs.replace(self.kept, **fields)
        if self.kept.key and self.bench.memory:
            self.bench.memory.journal.compared(self.kept)

    def _made(self) -> dict[str, tuple[int, int]]:
        """Builds what can be built beforehand; returns the images that differ in size."""
        shop = self.bench.shop
        if not shop.keeps:
            return {}
        try:
            one, other = shop.make(self.base).sizes, shop.make(self.variant).sizes
        except BuildFailedError as error:
            if error.key == self.variant.key:
                self._keep(refused=error.message, log=error.log)
            raise
        if shop.same(self.base, self.variant):
            why = f"{self.variant.words}: the images are the same, byte by byte, as with {self.base.words}"
            self._keep(refused=why, same=True)
            raise SameImagesError(why, hint=_SAME_IMAGES)
        return changed_sizes(one, other)

    def _turn(self, variant: Variant, turn: Turn, rounds: int) -> tuple[str, ...]:
        """The boots of a turn that were not made yet; returns what speaks against going on."""
        bench, key = self.bench, variant.key
        before = self._before(variant)
        checks = turn.block == 1 and bool(bench.works) and key not in self.kept.checked
        left = bench.order.boots * turn.block // rounds - before
        if left <= 0 and not checks:
            return ()
        bench.deployed(variant)
        run = self._run_of(variant)
        for _ in range(max(left, 1)):
            info = run.boot(bench.observer)
            if not info.complete and key not in self.came:
                # A board may stumble once; twice in a row, and at once, is the variant.
                info = run.boot(bench.observer)
                if not info.complete:
                    return self._does_not(variant, "boot", f"it did not boot, twice: {how_it_ended(info)}")
            self.made[key] += 1
            self.came |= {key} if info.complete else set()
        if checks:
            found = self._check(variant, run)
            if found:
                return self._does_not(variant, "work", found[0])
            self._keep(checked=(*self.kept.checked, key))
        return ()

    def _before(self, variant: Variant) -> int:
        """How many boots of a variant there are that count."""
        key = variant.key
        if key not in self.made:
            known = self.kept.runs.get(key)
            boots = whole(self.bench.store.load_measured(known).boots) if known else ()
            self.came |= {key} if any(boot.info.complete for boot in boots) else set()
            # The second boot of one that stumbled was made for the first.
            stumbled = len(boots) > 1 and not boots[0].info.complete
            self.made[key] = len(boots) - stumbled
        return self.made[key]

    def _check(self, variant: Variant, run: Measuring) -> tuple[str, ...]:
        names = command_environment(self.bench.shop.tree, variant.key)
        return refused(self.bench.check, self.bench.works, run.path, names)

    def _does_not(self, variant: Variant, what: str, why: str) -> tuple[str, ...]:
        if variant.key == self.base.key:
            # Whoever goes on with this has mended it, and the boots that failed are no part of that.
            self._keep(runs={}, checked=())
            name = self.bench.shop.tree.name
            with_them = f" with {variant.words}" if variant.specs else ""
            raise BaseFailedError(f"{name} itself does not {what}{with_them}: {why}")
        return (why,)

    def _run_of(self, variant: Variant) -> Measuring:
        """The run that a variant's boots are in."""
        key, store, order = variant.key, self.bench.store, self.bench.order
        if key not in self.runs:
            known = self.kept.runs.get(key)
            name = self.bench.shop.tree.name + (".try" if variant.specs else "")
            run = again(store, order, known) if known else measuring(store, order, name, variant.specs)
            self.runs[key] = self.stack.enter_context(run)
            self._keep(runs={**self.kept.runs, key: self.runs[key].run_id})
        return self.runs[key]


def whole(boots: Iterable[StoredBoot]) -> tuple[StoredBoot, ...]:
    """Boots that tell of what booted: not those that the measuring itself was cut off in."""
    return tuple(
        boot
        for boot in boots
        if boot.info.ended not in (BootEnd.INTERRUPTED, BootEnd.PARTIAL)
        # That the board cannot be reached ends the measuring only at its first boot.
        and not (boot.info.ended == BootEnd.DIED and boot.info.number == 1)
    )


def how_it_ended(info: BootInfo) -> str:
    """How a boot ended that came to nothing."""
    return f"{info.ended}: {info.message} ({info.boot_id})"


def _turns(names: tuple[str, str], rounds: int) -> tuple[Turn, ...]:
    """The order of the turns; the base is the first, since without it nothing can be said."""
    seed = next(s for s in count() if interleaved(names, 1, s)[0].variant == names[0])
    return interleaved(names, rounds, seed)
