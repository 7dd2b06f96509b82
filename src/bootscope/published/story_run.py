# SPDX-License-Identifier: Apache-2.0
"""Runs a story on the emulated board: each step builds on the previous one, is booted and measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bootscope.analysis import probe_rows
from bootscope.analysis.compare import SPLIT
from bootscope.analysis.views import View, view
from bootscope.boards.profile import load_board
from bootscope.capture.stored import StoredRun
from bootscope.changes.experiment import with_techniques
from bootscope.core.errors import BootscopeError, SpaceError, UserError
from bootscope.cores.changes import changed
from bootscope.cores.profile import Core
from bootscope.emulator.plugin_config import Limits
from bootscope.inventory.recorded import Recorded, facts
from bootscope.published.reproduce import boards, by_what_is_known, changed_system, core_of, here_of
from bootscope.published.shared_parts import bases
from bootscope.published.stories import START, Step, Story
from bootscope.published.story_results import StepResult, StoryResult
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem, load_system


@dataclass(frozen=True)
class _Stage:
    """The state of a story: the system, what the boots up to it showed, newest first, and the changes to the
    core."""

    system: LoadedSystem
    known: tuple[Recorded, ...]
    core_changes: tuple[str, ...] = ()


def run_story(bench: Bench, wanted: Story, tell: Callable[[str], None]) -> StoryResult:
    """Runs a story. Earlier measurements are taken from the store.

    A step that cannot be built or booted is a result too: the next one then changes the system before it.
    Raises UserError where the first system cannot be booted, SpaceError where a disk is full.
    """
    loaded = with_techniques(load_system(wanted.system), list(wanted.techniques))
    first = changed_system(loaded, bases(wanted), f"{loaded.system.name}.{wanted.id}")
    core = core_of(wanted.board)
    runner = _Runner(bench.with_limits(_limits(bench.limits, wanted, core)), wanted, core)
    tell(f"{wanted.id}: the first boot")
    try:
        run, seen = runner.booted(first, ())
    except UserError as error:
        raise UserError(f"{wanted.id}: the first boot did not get there: {error.message}") from error
    found = {START: _result(run, seen, wanted)}
    stage = _Stage(first, (facts(bench.store, seen),))
    done = {key: step for key, step in wanted.steps.items() if not step.left_out}
    for number, (key, step) in enumerate(done.items(), start=1):
        tell(f"{wanted.id}, step {number} of {len(done)}: {step.title}")
        try:
            stage, found[key] = runner.after(stage, step)
        except SpaceError:
            raise
        except BootscopeError as error:
            found[key] = StepResult(error=(error.message.splitlines() or [""])[0])
            tell(f"  {found[key].error}")
    return StoryResult(
        story=wanted.id,
        date=datetime.now(UTC).date().isoformat(),
        command=f"bootscope reproduce {wanted.id}",
        here=here_of(run.info, runner.looks_on, core, wanted.board.core_changes if wanted.board else ()),
        steps=found,
    )


class _Runner:
    """Builds and boots the steps of a story."""

    def __init__(self, bench: Bench, wanted: Story, core: Core | None) -> None:
        self.bench, self.wanted, self.core = bench, wanted, core
        board = load_board(load_system(wanted.system).system.board)
        self.boots_on, self.looks_on = boards(board, wanted.board)

    def booted(self, system: LoadedSystem, core_changes: tuple[str, ...]) -> tuple[StoredRun, View]:
        """The system's recording, and what it shows on the story's core with changes. Raises UserError where
        it does not reach the milestone."""
        run = self.bench.measured(system, self.boots_on, self.wanted.until)
        if not run.boots[0].info.complete:
            raise UserError(run.boots[0].info.message)
        core = changed(self.core, core_changes).core if self.core and core_changes else self.core
        return run, view(self.bench.store, run, board=self.looks_on, core=core)

    def after(self, stage: _Stage, step: Step) -> tuple[_Stage, StepResult]:
        """The stage after a step, and its result. Raises UserError where it does not reach the milestone."""
        known = stage.known
        system = by_what_is_known(stage.system, known, step.techniques) if step.techniques else stage.system
        system = changed_system(system, {"the step": step.change}, stage.system.system.name)
        core_changes = (*stage.core_changes, *step.core_changes)
        run, seen = self.booted(system, core_changes)
        return _Stage(system, (facts(self.bench.store, seen), *known), core_changes), _result(
            run, seen, self.wanted
        )


def _limits(limits: Limits, wanted: Story, core: Core | None) -> Limits:
    """What is recorded in each boot of a story."""
    return replace(limits, timing=(core,) if core else limits.timing, probes=wanted.functions)


def _result(run: StoredRun, seen: View, wanted: Story) -> StepResult:
    phases = seen.timeline.phases
    lengths = {p.name: sum(getattr(p, key) for key in SPLIT) for p in phases}
    split = {key: sum(getattr(p, key) for p in phases) for key in SPLIT}
    functions = _functions_ns(seen) if wanted.functions else {}
    return StepResult(run.info.run_id, "", sum(split.values()), lengths, split, functions)


def _functions_ns(seen: View) -> dict[str, int]:
    """The time of each watched function, over all its calls; nested calls are counted once."""
    sums, _ = probe_rows.view(seen.evidence)
    return {str(row["what"]): int(row["total_ns"] or 0) for row in sums.rows}
