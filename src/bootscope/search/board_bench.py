# SPDX-License-Identifier: Apache-2.0
"""The bench of a real board: two variants of a user's tree are built, deployed in turns, and booted.

Boots of a board vary, so earlier measurements cannot be used: both variants are measured anew, in turns, for
each comparison. Only a search that resumes an interrupted one uses what that has measured. How often they
take turns depends on how long it takes to put images onto the board.
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
    """A variant has the same images as what it is compared with."""


@dataclass(frozen=True)
class Pair:
    """Two variants that were measured beside each other: their runs (empty for one that was not booted), the
    number of rounds, and how long it took to put one onto the board. `faults`: what does not work in the
    second one; `missed`: those of its changes that its build did not take."""

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
    """How often variants take turns by default: at every boot if it takes less than 10 s to put images onto
    the board, at most five times below a minute, else once."""
    if deploy_s < _QUICK_S:
        return boots
    return min(boots, _SOME_ROUNDS) if deploy_s < _BEARABLE_S else 1


@dataclass
class BoardBench:
    """Where variants are compared. Each is booted `order.boots` times. `rounds`: how often they take turns,
    None to decide by the time deploying takes. `works`: the words of the owner's check; `check`: the check as
    given. `memory`: comparisons that need not be measured again."""

    store: Store
    shop: Workshop
    order: Order
    observer: Observer
    rounds: int | None = None
    works: tuple[str, ...] = ()
    check: str = ""
    memory: Memory | None = None
    measured: int = 0
    """Comparisons that were measured or continued."""
    took_s: float = 0.0
    """How long it last took to put a variant onto the board, in s."""

    def __post_init__(self) -> None:
        """Raises UserError for a board without power control: it cannot be booted repeatedly."""
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
        """Whether the measurements to resume from are all of a system that no longer exists."""
        shop = self.shop
        return (
            self.memory is not None
            and shop.keeps
            and self.memory.knows_only_others(shop.make(shop.variants.base))
        )

    def deployed(self, variant: Variant) -> float:
        """Puts a variant onto the board; returns how long that took, or last took, in s."""
        self.took_s = self.shop.deploy(variant) or self.took_s
        return self.took_s


@dataclass
class _Turns:
    """Two variants taking turns. `kept`: the state of their comparison, as in the memory."""

    bench: BoardBench
    base: Variant
    variant: Variant
    stack: contextlib.ExitStack
    runs: dict[str, Measuring] = field(default_factory=dict)
    kept: Comparison = field(default_factory=lambda: Comparison("", ""))
    made: dict[str, int] = field(default_factory=dict)
    """Key of a variant -> how many of its boots count."""
    came: set[str] = field(default_factory=set)
    """Keys of variants with at least one completed boot."""

    def run(self) -> Pair:
        bench = self.bench
        self._remember()
        if self.kept.over:
            bench.observer.says(f"{self.variant.words} against {self.base.words}: already measured")
            return self._pair()
        sizes = self._made()
        took_s = bench.deployed(self.base)
        rounds = self.kept.rounds or bench.rounds or rounds_for(took_s, bench.order.boots)
        self._keep(rounds=rounds, sizes=sizes, refused="", same=False)
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
        """The changes that the variant's build did not take, without those that the base's did not take
        either."""
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
        """Reads the state of the comparison. Raises its error if it ended before any boot."""
        memory, shop = self.bench.memory, self.bench.shop
        if memory is None or not shop.keeps:
            return
        self.kept = k = memory.comparison(
            shop.make(shop.variants.base), self.base, self.variant, self.bench.order
        )
        # Images that were the same are compared again: the owner may have repaired the build since.
        if k.refused and not k.same:
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
        """Makes the missing boots of a turn; returns the reasons not to go on."""
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
                # A board may fail to boot once; twice in a row, with no good boot before, is the variant's
                # fault.
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
        """How many boots of a variant count so far."""
        key = variant.key
        if key not in self.made:
            known = self.kept.runs.get(key)
            boots = whole(self.bench.store.load_measured(known).boots) if known else ()
            self.came |= {key} if any(boot.info.complete for boot in boots) else set()
            # If the first boot failed, the second one replaces it.
            stumbled = len(boots) > 1 and not boots[0].info.complete
            self.made[key] = len(boots) - stumbled
        return self.made[key]

    def _check(self, variant: Variant, run: Measuring) -> tuple[str, ...]:
        names = command_environment(self.bench.shop.tree, variant.key)
        return refused(self.bench.check, self.bench.works, run.path, names)

    def _does_not(self, variant: Variant, what: str, why: str) -> tuple[str, ...]:
        if variant.key == self.base.key:
            # Whoever resumes this has repaired the base, and the failed boots do not count.
            self._keep(runs={}, checked=())
            name = self.bench.shop.tree.name
            with_them = f" with {variant.words}" if variant.specs else ""
            raise BaseFailedError(f"{name} itself does not {what}{with_them}: {why}")
        return (why,)

    def _run_of(self, variant: Variant) -> Measuring:
        """The run that holds a variant's boots."""
        key, store, order = variant.key, self.bench.store, self.bench.order
        if key not in self.runs:
            known = self.kept.runs.get(key)
            name = self.bench.shop.tree.name + (".try" if variant.specs else "")
            run = again(store, order, known) if known else measuring(store, order, name, variant.specs)
            self.runs[key] = self.stack.enter_context(run)
            self._keep(runs={**self.kept.runs, key: self.runs[key].run_id})
        return self.runs[key]


def whole(boots: Iterable[StoredBoot]) -> tuple[StoredBoot, ...]:
    """Boots that count: without those that ended because the measuring itself was cut off."""
    return tuple(
        boot
        for boot in boots
        if boot.info.ended not in (BootEnd.INTERRUPTED, BootEnd.PARTIAL)
        # An unreachable board ends the measuring only at its first boot.
        and not (boot.info.ended == BootEnd.DIED and boot.info.number == 1)
    )


def how_it_ended(info: BootInfo) -> str:
    """How a failed boot ended."""
    return f"{info.ended}: {info.message} ({info.boot_id})"


def _turns(names: tuple[str, str], rounds: int) -> tuple[Turn, ...]:
    """The order of the turns; the base comes first, since nothing can be compared without it."""
    seed = next(s for s in count() if interleaved(names, 1, s)[0].variant == names[0])
    return interleaved(names, rounds, seed)
