# SPDX-License-Identifier: Apache-2.0
"""What a search tries, with what result, and the bench that it is tried on.

Only the bench knows the differences between the emulated board, whose boots are exact, and a physical one,
whose boots vary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from bootscope.audit.findings import Finding
from bootscope.core.errors import UserError, printable
from bootscope.system.changes import Change

Changes = Mapping[str, Change]
"""Techniques by the name that `try` uses -> what they change."""
Ahead = Iterable[tuple[Changes, str]]
"""Variants that are likely to be asked for next, most likely first, each with a title."""


@dataclass(frozen=True)
class Goal:
    """When to stop, and what must not be lost. Times in ns of board time and seconds of host time. When the
    `hurry` part of the budget is left, techniques with large savings no longer wait for their turn.
    `together`: compatible techniques are tried at once, for boots that take long. `only`: techniques by id,
    recipes by the name that `try` uses."""

    total_ns: int = 0
    budget_s: float = 7200
    keep: Collection[str] = ()
    only: Collection[str] = ()
    hurry: float = 0.5
    together: bool = False

    def names(self, technique: str, spec: str) -> bool:
        """Whether a recipe, or its technique, is one of those asked for."""
        return technique in self.only or spec in self.only

    def allows(self, finding: Finding) -> bool:
        """Whether a finding may be tried."""
        wanted = not self.only or self.names(finding.technique.id, finding.spec)
        # Predictions are reliable enough: what is predicted to save nothing need not be booted.
        useless = finding.saving_ns is not None and finding.saving_ns <= 0
        return wanted and not useless and not set(finding.technique.loses) & set(self.keep)


class Verdict(Protocol):
    """How a variant compares with its base."""

    @property
    def works(self) -> bool:
        """Whether all that was checked still works."""

    @property
    def saving_ns(self) -> int | None:
        """What the variant saves; below 0 when it costs; None if its boots do not tell."""

    @property
    def total_ns(self) -> int | None:
        """How long the variant takes to boot."""

    @property
    def no_slower(self) -> bool:
        """Whether the variant works and is shown to be at least as fast."""

    @property
    def parts_may_help(self) -> bool:
        """Whether a part of the changes may save something where all of them together do not."""

    @property
    def phases(self) -> Mapping[str, int]:
        """Phase -> its ns in the variant, where reliable enough to choose by."""
        return {}

    @property
    def symbols(self) -> Collection[str]:
        """Kconfig symbols that did not get the values that were asked for."""
        return ()


V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True)
class Experiment(Generic[V]):
    """Techniques that were tried together, on what was accepted before them (`on`).

    `replaced`: accepted ones that were taken out for them. `verdict` is None if nothing was compared.
    `refusal`: why they were not accepted; `log`: that of a build that failed. With `halved` the refusal is
    not final: they were tried in smaller groups.
    """

    techniques: tuple[str, ...]
    verdict: V | None
    refusal: str = ""
    log: str = ""
    predicted_ns: int | None = None
    on: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    halved: bool = False

    @property
    def accepted(self) -> bool:
        """Whether they stay."""
        return not self.refusal

    @property
    def saving_ns(self) -> int | None:
        """What they save; below 0 when they cost time; None if no boot tells."""
        return self.verdict.saving_ns if self.verdict else None

    @property
    def reason(self) -> str:
        """The refusal in one line, with the path of the full log of a build."""
        lines = self.refusal.splitlines() or [""]
        # The first line of a failed build names the step, the last one the cause.
        words = " ... ".join(dict.fromkeys([lines[0].strip(), lines[-1].strip()]))
        return printable(words + (f"; full log: {self.log}" if self.log else ""))


@dataclass(frozen=True)
class Worth(Generic[V]):
    """What an accepted technique is worth at the end: in `verdict` the base has all accepted techniques and
    the variant all but this one; None if that was not booted. `why`: what does not work without it, or why it
    was not booted. `dropped`: it saved nothing and was taken out."""

    technique: str
    verdict: V | None
    why: str = ""
    dropped: bool = False

    @property
    def ns(self) -> int | None:
        """How much longer the boot takes without it; None if no boot tells."""
        saving_ns = self.verdict.saving_ns if self.verdict else None
        return -saving_ns if saving_ns is not None and not self.why else None


class BaseFailedError(UserError):
    """The base of a comparison does not boot or work itself."""


class Bench(Protocol[V]):
    """Where systems are built, booted and compared."""

    exact: ClassVar[bool]
    """Whether measuring again would give the same, so that any difference counts."""

    @property
    def many(self) -> bool:
        """Whether there are so many workers that looking ahead to unlikely variants pays, too."""
        return False

    def begin(self, goal: Goal, accepted: Changes) -> V | None:
        """Boots the system itself, and the system with the accepted changes; returns the verdict on these if
        there are any.

        Raises UserError when the system itself does not boot or work.
        """

    def stands(self, verdict: V) -> None:
        """From now on variants are compared with the variant of a verdict."""
        return

    def end(self) -> None:
        """The search is over."""
        return

    def findings(self, seen: V | None) -> Iterable[Finding]:
        """What applies to the variant of a verdict."""

    def judge(
        self, base: Changes, variant: Changes, names: tuple[str, ...], out: Sequence[str], ahead: Ahead
    ) -> Experiment[V]:
        """Tries the techniques `names`, which make a variant of a base and replace those in `out`.

        Raises BoardError and ToolError as builds and boots do, and BaseFailedError.
        """

    def take_out(self, accepted: Changes, name: str, ahead: Ahead) -> Worth[V] | None:
        """What an accepted technique is worth; None if the others cannot be combined without it."""

    def experiment_line(self, e: Experiment[V]) -> str:
        """An experiment in a line."""

    def worth_line(self, worth: Worth[V]) -> str:
        """What a technique is worth, in a line; empty if there is nothing to report."""


def without(accepted: Changes, name: str) -> dict[str, Change]:
    """The accepted techniques without one of them."""
    return {spec: change for spec, change in accepted.items() if spec != name}


def title(names: Sequence[str]) -> str:
    """A title for several techniques, in one line."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
