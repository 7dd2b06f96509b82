# SPDX-License-Identifier: Apache-2.0
"""What a bench of a real board remembers: comparisons that were measured before in the same way."""

from __future__ import annotations

from dataclasses import dataclass

from bootscope.builder.ids import id_of
from bootscope.buildtrees.model import Tree
from bootscope.buildtrees.products import Products
from bootscope.buildtrees.variants import Variant
from bootscope.capture.measured import END_TEXT
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.hardware.measuring import Order
from bootscope.search.journal import Comparison, Journal


@dataclass
class Memory:
    """The memory of a search on `tree`, kept in a `journal`. With `resumed` its entries are used; without it,
    entries are only added. `how`: further settings that affect the measuring."""

    journal: Journal
    store: Store
    tree: Tree
    how: tuple[object, ...]
    resumed: bool

    def comparison(self, base: Products, one: Variant, other: Variant, order: Order) -> Comparison:
        """The state of the comparison of two variants; `base` are the images of the tree without changes."""
        system = id_of(base.hashes)
        how = [*self._measured_how(order), base.scripts]
        key = id_of([system, how, one.content, other.content])
        kept = self.journal.comparisons.get(key) if self.resumed else None
        runs = kept.runs if kept else {}
        there = all(self._there(runs[v.key], v, order) for v in (one, other) if v.key in runs)
        return kept if kept and there else Comparison(key, system)

    def knows_only_others(self, base: Products) -> bool:
        """Whether a search is resumed and all remembered comparisons are of other images."""
        known = {c.system for c in self.journal.comparisons.values()}
        return self.resumed and bool(known) and id_of(base.hashes) not in known

    def _measured_how(self, order: Order) -> list[object]:
        end, tree = order.end, self.tree
        ends = [end.words, end.text, end.silence_ns, end.after_ns, end.timeout_ns]
        owner = [tree.folder, tree.build, tree.shell, tree.trial]
        return [order.board, order.power.words, ends, order.boots, owner, self.how]

    def _there(self, run_id: str, variant: Variant, order: Order) -> bool:
        """Whether a recording is still in the store, and matches what is remembered of it."""
        try:
            info = self.store.load_measured(run_id).info
        except (UserError, OSError):
            return False
        until = END_TEXT if order.end.text else order.end.words
        made = (info.board, info.power, info.until, info.end_text, info.techniques)
        return made == (order.board, order.power.words, until, order.end.text, variant.specs)
