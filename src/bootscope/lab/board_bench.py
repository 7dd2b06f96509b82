# SPDX-License-Identifier: Apache-2.0
"""The bench of a real board: two variants of a user's tree are built, put onto it in turns, and booted.

Boots of a board vary, so that nothing measured before will do: both are measured anew, in turns, whenever
they are to be compared. How often they take turns depends on how long it takes to put images onto the board.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from itertools import count

from bootscope.boards.power import Already
from bootscope.buildtrees.owner import told
from bootscope.buildtrees.variants import Variant
from bootscope.buildtrees.workshop import Workshop
from bootscope.capture.record import BootInfo
from bootscope.capture.store import Store
from bootscope.errors import UserError
from bootscope.lab.interleave import Turn, interleaved
from bootscope.lab.services import refused
from bootscope.measuring import Measuring, Observer, Order, measuring

_QUICK_S, _BEARABLE_S = 10.0, 60.0
_SOME_ROUNDS = 5


class SameImagesError(UserError):
    """A variant came to the same images as what it is compared with."""


class BaseFailedError(UserError):
    """What a variant was to be compared with does not boot or work itself."""


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
    to decide that by time. `works`: the words of the owner's check; `check`: it as it was given."""

    store: Store
    shop: Workshop
    order: Order
    observer: Observer
    rounds: int | None = None
    works: tuple[str, ...] = ()
    check: str = ""
    _took_s: float = 0.0

    def __post_init__(self) -> None:
        """Raises UserError for a board that nobody switches: it cannot be booted again and again."""
        if isinstance(self.order.power, Already):
            raise UserError(
                "to try something, the board must be switched again and again, and nobody has said how",
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

    def deployed(self, variant: Variant) -> float:
        """Puts a variant onto the board; returns what that took, or took the last time, in s."""
        self._took_s = self.shop.deploy(variant) or self._took_s
        return self._took_s


@dataclass
class _Turns:
    """Two variants taking turns."""

    bench: BoardBench
    base: Variant
    variant: Variant
    stack: contextlib.ExitStack
    runs: dict[str, Measuring] = field(default_factory=dict)

    def run(self) -> Pair:
        bench, sizes = self.bench, self._made()
        took_s = bench.deployed(self.base)
        rounds = bench.rounds or rounds_for(took_s, bench.order.boots)
        variants = {v.key: v for v in (self.base, self.variant)}
        faults: tuple[str, ...] = ()
        for turn in _turns((self.base.key, self.variant.key), rounds):
            took_s = bench.deployed(variants[turn.variant])
            faults = self._turn(variants[turn.variant], turn, rounds)
            if faults:
                break
        ids = [self.runs[key].run_id if key in self.runs else "" for key in variants]
        there = bench.shop.make(self.base).missed
        missed = tuple(line for line in bench.shop.make(self.variant).missed if line not in there)
        return Pair(self.base, self.variant, ids[0], ids[1], rounds, took_s, faults, sizes, missed)

    def once(self) -> str:
        """A first boot of the base, and the owner's check."""
        self.bench.deployed(self.base)
        self._turn(self.base, Turn(1, self.base.key, 1), rounds=1)
        return self.runs[self.base.key].run_id

    def _made(self) -> dict[str, tuple[int, int]]:
        """Builds what can be built beforehand; returns the images that differ in size."""
        shop = self.bench.shop
        if not shop.keeps:
            return {}
        one, other = shop.make(self.base).sizes, shop.make(self.variant).sizes
        if shop.same(self.base, self.variant):
            raise SameImagesError(
                f"{self.variant.words}: the images are the same, byte by byte, as with {self.base.words}",
                hint="does the build command use what is in $BOOTSCOPE_CHANGES (docs/real-boards.md)? "
                "Or is it so already?",
            )
        names = sorted({*one, *other})
        return {n: (one.get(n, 0), other.get(n, 0)) for n in names if one.get(n) != other.get(n)}

    def _turn(self, variant: Variant, turn: Turn, rounds: int) -> tuple[str, ...]:
        """The boots of a turn; returns what speaks against going on."""
        boots = self.bench.order.boots
        share = boots * turn.block // rounds - boots * (turn.block - 1) // rounds
        run = self._run_of(variant)
        for _ in range(share):
            info = run.boot(self.bench.observer)
            if run.boots == 1 and not info.complete:
                # A board may stumble once; twice in a row, and at once, is the variant.
                info = run.boot(self.bench.observer)
                if not info.complete:
                    return self._does_not(variant, "boot", f"it did not boot, twice: {told_of(info)}")
        if turn.block == 1 and self.bench.works:
            found = self._check(variant, run)
            return self._does_not(variant, "work", found[0]) if found else ()
        return ()

    def _check(self, variant: Variant, run: Measuring) -> tuple[str, ...]:
        names = told(self.bench.shop.tree, variant.key)
        return refused(self.bench.check, self.bench.works, run.path, names)

    def _does_not(self, variant: Variant, what: str, why: str) -> tuple[str, ...]:
        if variant.key == self.base.key:
            name = self.bench.shop.tree.name
            with_them = f" with {variant.words}" if variant.specs else ""
            raise BaseFailedError(f"{name} itself does not {what}{with_them}: {why}")
        return (why,)

    def _run_of(self, variant: Variant) -> Measuring:
        """The run that a variant's boots are in."""
        if variant.key not in self.runs:
            name = self.bench.shop.tree.name + (".try" if variant.specs else "")
            run = measuring(self.bench.store, self.bench.order, name, variant.specs)
            self.runs[variant.key] = self.stack.enter_context(run)
        return self.runs[variant.key]


def told_of(info: BootInfo) -> str:
    """How a boot ended that came to nothing."""
    return f"{info.ended}: {info.message} ({info.boot_id})"


def _turns(names: tuple[str, str], rounds: int) -> tuple[Turn, ...]:
    """The order of the turns; the base is the first, since without it nothing can be said."""
    seed = next(s for s in count() if interleaved(names, 1, s)[0].variant == names[0])
    return interleaved(names, rounds, seed)
