# SPDX-License-Identifier: Apache-2.0
"""A soak: boot, cut the power at a random moment, check the card, boot to the end, check again.

All boots use one card, which keeps what they write, and are boots of one run in the store. The first one runs
to its end: it is the boot that `record` makes. Then come pairs: one that is cut and one that runs to its end.
The moments follow from the seed alone, and boots here are exact: the same seed gives the same soak.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bootscope.analysis.moment import moment
from bootscope.analysis.views import view
from bootscope.capture.record import BootEnd, BootInfo, RunInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.core.errors import UserError
from bootscope.emulator.recording import Observer, Task, record_boots
from bootscope.soak.card import CardCheck, Checked, copied
from bootscope.soak.chip import Chip, Flash
from bootscope.soak.states import Verdict
from bootscope.timeline.build import timeline
from bootscope.timeline.model import Timeline

SUFFIX = ".soak"
"""Suffix of the name of a soak's run."""


@dataclass(frozen=True)
class Plan:
    """How often the power is cut, at moments drawn by `seed`: from `since` (a milestone or a board time of
    the first boot; empty for power-on) to `after_ns` of virtual time after the first boot's milestone."""

    cuts: int = 10
    seed: int = 1
    after_ns: int = 2_000_000_000
    since: str = ""


@dataclass(frozen=True)
class Cut:
    """One cut: the boot that it ended, when (board time) and in which phase; then the next boot, which
    reached its milestone, or did not (None). `left` and `left_after`: what was on the card after each."""

    boot: BootInfo
    at_ns: int
    phase: str
    left: tuple[Checked, ...]
    after: BootInfo | None = None
    reached_ns: int | None = None
    left_after: tuple[Checked, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the boot ran until its cut, the next one reached its milestone, and nothing was damaged."""
        went = self.boot.ended == BootEnd.LIMIT and self.reached_ns is not None
        return went and not damaged((*self.left, *self.left_after))


@dataclass(frozen=True)
class Soaked:
    """A soak: its run, when the first boot reached its milestone (None: it did not), what that boot left on
    the card, and the cuts. There are fewer `cuts` than planned where a boot failed or the user ended the
    soak."""

    run: StoredRun
    plan: Plan
    first: BootInfo
    reached_ns: int | None
    left: tuple[Checked, ...]
    cuts: tuple[Cut, ...]

    @property
    def good(self) -> bool:
        """Whether everything planned was done and went well."""
        done = len(self.cuts) == self.plan.cuts and all(cut.good for cut in self.cuts)
        return self.reached_ns is not None and done


def damaged(checked: Sequence[Checked]) -> bool:
    """Whether a file system is damaged."""
    return any(one.state.verdict == Verdict.DAMAGED for one in checked)


def moment_ns(seed: int, number: int, span_ns: int) -> int:
    """When cut `number` of a soak comes, from 1 to `span_ns`: the same with every version of Python."""
    digest = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    return int.from_bytes(digest[:16], "big") % span_ns + 1


@contextlib.contextmanager
def soaking(store: Store, task: Task, image: Path, plan: Plan, flash: Flash | None = None) -> Iterator[Soak]:
    """A soak that is ready to begin: `task` is what boots (one boot of it), `image` the content of its card,
    `flash` its NAND chip, if it has one. Card and chip are copies, which are removed afterwards. Raises
    ToolError where there is no room for them."""
    with tempfile.TemporaryDirectory(prefix=".soak-", dir=store.root) as name:
        card, facts = Path(name) / "card.img", task.subject.facts
        copied(image, card, facts.card_bytes)
        media, chip = replace(task.subject.media, card=card, card_format="raw", keeps=True), None
        if flash and media.nand:
            chip = Chip(flash, media.nand, Path(name))
            media = replace(media, nand=chip.content, memory=chip.memory)
        # So that its boots are not taken for those of the unchanged system.
        facts = msgspec.structs.replace(facts, name=facts.name + SUFFIX)
        subject = replace(task.subject, media=media, facts=facts)
        task = replace(task, subject=subject, boots=2 * plan.cuts + 1)
        yield Soak(store, task, plan, CardCheck(image, card, Path(name)), chip)


class Soak:
    """One soak. `run_id` is the id of its run in the store; empty until it begins."""

    def __init__(self, store: Store, task: Task, plan: Plan, card: CardCheck, chip: Chip | None) -> None:
        self._store, self._task, self._plan, self._card, self._chip = store, task, plan, card, chip
        self._checks: list[tuple[Checked, ...]] = []
        self._range = (0, 0)
        self.run_id = ""

    @property
    def begun(self) -> bool:
        """Whether there is something to report: the first boot is over."""
        return bool(self._checks)

    def run(self, observer: Observer) -> Soaked:
        """Boots and cuts. Raises UserError for a moment that the first boot does not have, ToolError as
        recordings and tools do; after Ctrl-C :meth:`found` returns what was recorded by then."""
        self.run_id = self._store.new_run_id(self._task.subject.facts.name, datetime.now(UTC))
        record_boots(self._store, self._task, observer, self.run_id, self._each)
        if len(self._checks) < len(self._store.load(self.run_id).boots):
            self._check()
        return self.found()

    def keep(self, to: Path) -> None:
        """Writes the card as it is now. Raises ToolError when it cannot."""
        copied(self._card.path, to, self._card.path.stat().st_size)

    def _check(self) -> None:
        """Checks what a boot left."""
        if self._chip:
            self._chip.end()
        self._checks.append((*self._card.check(), *([self._chip.check()] if self._chip else ())))

    def _each(self, number: int, before: BootInfo | None) -> Task | None:
        """The task for boot `number`; None where the boot before has failed."""
        if before:
            self._check()
            if damaged(self._checks[-1]) or (number % 2 == 0 and not before.complete):
                return None
        if self._chip:
            self._chip.begin()
        return self._task if number % 2 else self._cut(number)

    def _cut(self, number: int) -> Task:
        """The task for boot `number`, whose power is cut."""
        if number == 2:
            self._range = self._drawn_from()
        first_ns, last_ns = self._range
        at_ns = first_ns + moment_ns(self._plan.seed, number // 2, last_ns - first_ns)
        # An idle application is not a boot that hangs.
        quiet_ns = self._task.limits.quiet_ns + self._plan.after_ns
        limits = replace(self._task.limits, limit_ns=at_ns, quiet_ns=quiet_ns, cut=True)
        return replace(self._task, limits=limits)

    def _drawn_from(self) -> tuple[int, int]:
        """(first, last) virtual time of a cut, by the first boot."""
        v = view(self._store, self._store.load(self.run_id))
        last_ns = v.evidence.recorded[-1].time_ns
        since = self._plan.since
        first_ns = moment(v.evidence, since, "--from").virtual_ns if since else 0
        if first_ns >= last_ns + self._plan.after_ns:
            raise UserError(
                f"--from {since}: the first boot ends there, and --after leaves no time after it",
                hint="an earlier moment, or --after 2",
            )
        return first_ns, last_ns + self._plan.after_ns

    def found(self) -> Soaked:
        """The result so far, from the boots that were recorded, without an interrupted one."""
        run = self._store.load(self.run_id)
        boots = [boot for boot in run.boots if boot.info.ended != BootEnd.INTERRUPTED]
        infos = [boot.info for boot in boots]
        lines = [timeline(b.info.boot_id, b.records(), run.info) for b in boots]
        checks = [*self._checks, *([()] * len(infos))]
        cuts = []
        for at in range(1, len(infos), 2):
            cut = Cut(infos[at], lines[at].total_ns, lines[at].phases[-1].name, checks[at])
            if at + 1 < len(infos):
                reached = _reached(infos[at + 1], lines[at + 1], run.info)
                cut = replace(cut, after=infos[at + 1], reached_ns=reached, left_after=checks[at + 1])
            cuts.append(cut)
        first_ns = _reached(infos[0], lines[0], run.info)
        return Soaked(run, self._plan, infos[0], first_ns, checks[0], tuple(cuts))


def _reached(info: BootInfo, line: Timeline, run: RunInfo) -> int | None:
    return line.milestones.get(run.until) if info.complete else None
