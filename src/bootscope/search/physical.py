# SPDX-License-Identifier: Apache-2.0
"""The bench of a search on a physical board: variants of a user's own tree, measured in turns.

Boots vary, so a variant is kept only when the whole interval of its saving is above 0.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bootscope.analysis.significance import interval
from bootscope.artefacts.identify import together
from bootscope.artefacts.logs import of_understood
from bootscope.audit.findings import Finding, audit
from bootscope.buildtrees import subject
from bootscope.buildtrees.variants import Variant
from bootscope.buildtrees.workshop import BuildFailedError
from bootscope.changes import experiment
from bootscope.core.errors import UserError, printable
from bootscope.core.text import span
from bootscope.runs.heard import Measured
from bootscope.search.board_bench import BoardBench, SameImagesError
from bootscope.search.board_verdict import BoardVerdict, board_verdict
from bootscope.search.experiment import (
    Ahead,
    BaseFailedError,
    Bench,
    Changes,
    Experiment,
    Goal,
    Worth,
    title,
    without,
)
from bootscope.techniques.model import in_order, techniques


@dataclass
class PhysicalBench(Bench[BoardVerdict]):
    """Variants of a tree, measured by `pairs`."""

    pairs: BoardBench
    first_run: str = ""
    """The recording of the original system."""
    only: bool = False
    """Whether techniques were asked for by name."""
    open: list[Finding] = field(default_factory=list)

    exact = False

    def begin(self, goal: Goal, accepted: Changes) -> None:
        tell = self.pairs.observer.says
        if self.pairs.forgot:
            tell("the images without changes differ from last time: earlier results are discarded")
        self.first_run = self.pairs.once(self.pairs.shop.variants.base)
        self.only = bool(goal.only)
        self.open = [f for f in self._findings(goal) if goal.allows(f)]
        tell(f"{len(self.open)} to be tried")

    def findings(self, seen: BoardVerdict | None) -> list[Finding]:
        return self.open

    def _findings(self, goal: Goal) -> list[Finding]:
        """What applies according to the tree's files and the first boot's console, and what was asked for by
        name and is not ruled out."""
        run = Measured(self.pairs.store.load_measured(self.first_run)).boot(None)
        pieces = subject.pieces(self.pairs.shop.tree)[0]
        with contextlib.suppress(UserError):  # a boot that ends by silence may have no line
            pieces += of_understood(run.understood)
        seen = audit(together(pieces))
        found = list(seen.findings)
        for technique in techniques().values():
            for name, recipe in technique.recipes.items():
                spec = experiment.title(technique, name)
                if goal.names(technique.id, spec) and spec in seen.unknown:
                    found.append(Finding(technique, name, None, "", change=recipe.change))
        return found

    def judge(
        self, base: Changes, variant: Changes, names: tuple[str, ...], out: Sequence[str], ahead: Ahead
    ) -> Experiment[BoardVerdict]:
        one = self.variant(base)
        try:
            other = self.variant(variant)
        except UserError as error:
            return Experiment(names, None, error.message)
        lost = [line for line in other.output.lost if line not in one.output.lost]
        if lost and not self.only:
            # Half a technique may leave a board that does not boot; who asks for it by name knows.
            why = f"a part of it cannot be written for this tree: {'; '.join(lost)}"
            return Experiment(names, None, why)
        try:
            found = self.measured(one, other)
        except SameImagesError as error:
            return Experiment(names, None, error.message)
        except BuildFailedError as error:
            if error.key != other.key:
                raise
            return Experiment(names, None, error.message, error.log)
        return Experiment(names, found, found.refusal(out))

    def take_out(self, accepted: Changes, name: str, ahead: Ahead) -> Worth[BoardVerdict]:
        try:
            found = self.measured(self.variant(accepted), self.variant(without(accepted, name)))
        except BaseFailedError:
            raise
        except SameImagesError:
            return Worth(name, None, "the images are the same without it", dropped=True)
        except BuildFailedError as error:
            return Worth(name, None, f"without it, {error.message}")
        except UserError as error:
            return Worth(name, None, f"the others cannot be combined without it: {error.message}")
        return Worth(name, found, "; ".join(found.faults), found.no_slower)

    def variant(self, accepted: Iterable[str]) -> Variant:
        """The tree with the accepted techniques. Raises UserError if these conflict or cannot be written."""
        return self.pairs.shop.variants.of(in_order(accepted))

    def measured(self, base: Variant, variant: Variant) -> BoardVerdict:
        """Measures a variant beside another one. Raises as :meth:`BoardBench.pair` does."""
        return board_verdict(self.pairs.store, self.pairs.pair(base, variant), self.pairs.shop.deploys)

    def experiment_line(self, e: Experiment[BoardVerdict]) -> str:
        name, found = title(e.techniques), e.verdict
        if not e.accepted or not found or found.saving_ns is None or not found.comparison:
            parts = "; trying parts of them" if e.halved else ""
            return f"{name}: {printable(' ... '.join(e.refusal.splitlines()[:3]))}{parts}"
        change = interval(found.comparison.goal)
        return f"{name}: saves {span(found.saving_ns)} (the time changes by {change})"

    def worth_line(self, worth: Worth[BoardVerdict]) -> str:
        name, c = worth.technique, worth.verdict.comparison if worth.verdict else None
        out = ", taken out" if worth.dropped else ""
        if worth.why or c is None or worth.ns is None:
            return f"without {name}: {printable(worth.why) or 'these boots are not conclusive'}{out}"
        more = f"{span(abs(worth.ns))} {'more' if worth.ns > 0 else 'less'}"
        return f"without {name}: {more} (the time changes by {interval(c.goal)}){out}"
