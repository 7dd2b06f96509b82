# SPDX-License-Identifier: Apache-2.0
"""What a search tries and what came of it, and the bench that it is tried on.

What differs between the emulated board, whose boots are exact, and a physical one, whose boots vary, is known
to the bench alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from bootscope.audit.findings import Finding
from bootscope.core.errors import UserError, printable
from bootscope.system.changes import Change

Changes = Mapping[str, Change]
"""Techniques by the name that `try` knows them by -> what they change."""
Ahead = Iterable[tuple[Changes, str]]
"""Variants that are likely to be asked for next, most likely first, each with a title."""


@dataclass(frozen=True)
class Goal:
    """When to stop, and what must not be lost. Times in ns of board time and seconds of host time. When the
    `hurry` part of the budget is left, what is worth much does not wait for its turn any more. `together`:
    what goes together is tried at once, where a boot takes long. `only`: techniques by their ids, recipes as
    `try` knows them."""

    total_ns: int = 0
    budget_s: float = 7200
    keep: Collection[str] = ()
    only: Collection[str] = ()
    hurry: float = 0.5
    together: bool = False

    def names(self, technique: str, spec: str) -> bool:
        """Whether a recipe, or the technique that it is of, is one of those asked for."""
        return technique in self.only or spec in self.only

    def allows(self, finding: Finding) -> bool:
        """Whether a finding may be tried."""
        wanted = not self.only or self.names(finding.technique.id, finding.spec)
        # A prediction is sure enough that what is predicted to save nothing need not be booted.
        useless = finding.saving_ns is not None and finding.saving_ns <= 0
        return wanted and not useless and not set(finding.technique.loses) & set(self.keep)


class Verdict(Protocol):
    """What a variant is worth beside its base."""

    @property
    def works(self) -> bool:
        """Whether all that was checked still works."""

    @property
    def saving_ns(self) -> int | None:
        """What the variant saves; below 0 when it costs; None where its boots do not tell."""

    @property
    def total_ns(self) -> int | None:
        """How long the variant boots."""

    @property
    def no_slower(self) -> bool:
        """Whether the variant works and is shown to be as fast, or faster."""

    @property
    def parts_may_help(self) -> bool:
        """Whether a part of the changes may be worth something where all of them are not."""

    @property
    def phases(self) -> Mapping[str, int]:
        """Phase -> its ns in the variant, where that is sure enough to choose by."""
        return {}

    @property
    def symbols(self) -> Collection[str]:
        """Kconfig symbols that did not come out as they were asked for."""
        return ()


V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True)
class Experiment(Generic[V]):
    """Techniques that were tried together, on what was accepted before them (`on`).

    `replaced`: accepted ones that were taken out for them. `verdict` is None where nothing was compared.
    `refusal` says why they were not accepted, and `log` is that of a build that failed; with `halved` it is
    not the last word on them: they were tried in smaller groups.
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
        """What they save; below 0 when they cost time; None where no boot tells."""
        return self.verdict.saving_ns if self.verdict else None

    @property
    def reason(self) -> str:
        """The refusal in a line, with the place of the full log of a build."""
        lines = self.refusal.splitlines() or [""]
        # The first line of a failed build names the step, the last one the cause.
        words = " ... ".join(dict.fromkeys([lines[0].strip(), lines[-1].strip()]))
        return printable(words + (f"; full log: {self.log}" if self.log else ""))


@dataclass(frozen=True)
class Worth(Generic[V]):
    """What an accepted technique is still worth at the end: `verdict` has all that was accepted as its base,
    and the same without it as the variant; None where that was not booted. `why`: what does not work without
    it, or why it was not booted. `dropped`: it was worth nothing and was taken out."""

    technique: str
    verdict: V | None
    why: str = ""
    dropped: bool = False

    @property
    def ns(self) -> int | None:
        """What the boot takes more without it; None where no boot tells."""
        saving_ns = self.verdict.saving_ns if self.verdict else None
        return -saving_ns if saving_ns is not None and not self.why else None


class BaseFailedError(UserError):
    """What a variant was to be compared with does not boot or work itself."""


class Bench(Protocol[V]):
    """Where systems are built, booted and compared."""

    exact: ClassVar[bool]
    """Whether the same would be measured again, so that any difference counts."""

    @property
    def many(self) -> bool:
        """Whether there are so many to work ahead that what is unlikely is worth it, too."""
        return False

    def begin(self, goal: Goal, accepted: Changes) -> V | None:
        """Boots the system itself, and with what is accepted already; the verdict on that where there is one.

        Raises UserError when the system itself does not boot or work.
        """

    def stands(self, verdict: V) -> None:
        """From now on variants are compared with the variant of a verdict."""
        return

    def end(self) -> None:
        """Nothing more is searched for."""
        return

    def findings(self, seen: V | None) -> Iterable[Finding]:
        """What applies to the variant of a verdict."""

    def judge(
        self, base: Changes, variant: Changes, names: tuple[str, ...], out: Sequence[str], ahead: Ahead
    ) -> Experiment[V]:
        """Tries techniques of these names, which make a variant of a base in the place of those `out`.

        Raises BoardError and ToolError as builds and boots do, and BaseFailedError.
        """

    def take_out(self, accepted: Changes, name: str, ahead: Ahead) -> Worth[V] | None:
        """What an accepted technique is worth beside the others; None where these cannot be put together."""

    def experiment_line(self, e: Experiment[V]) -> str:
        """An experiment in a line."""

    def worth_line(self, worth: Worth[V]) -> str:
        """What a technique is worth in a line; empty where nothing is to be said."""


def without(accepted: Changes, name: str) -> dict[str, Change]:
    """What is accepted, but for one technique."""
    return {spec: change for spec, change in accepted.items() if spec != name}


def title(names: Sequence[str]) -> str:
    """What several techniques are called in a line."""
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
