# SPDX-License-Identifier: Apache-2.0
"""From the store to the output of the verbs: loads a boot with all that belongs to it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bootscope.analysis.consumers import Consumer
from bootscope.analysis.rows import Rows
from bootscope.analysis.silences import Silence, silences
from bootscope.analysis.view_names import check_milestone, check_phase
from bootscope.boards.changed import clock_words, same_clock
from bootscope.boards.profile import Board
from bootscope.capture import objects
from bootscope.capture.index import Index
from bootscope.capture.record import FRAME, PICTURE
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import UserError
from bootscope.cores.choice import NO_CORE, CoreChoice
from bootscope.cores.profile import Core
from bootscope.timeline.model import Timeline

if TYPE_CHECKING:
    # An index needs nothing of what makes its content, and loading that takes longer than reading the index.
    from bootscope.analysis.compare import Comparison, End
    from bootscope.analysis.evidence import Evidence
    from bootscope.analysis.functions import Stacks
    from bootscope.analysis.whatif_plan import Ground
    from bootscope.timeline.core_time import Timing
    from bootscope.timeline.trace import Stack, Trace

T = TypeVar("T")


@dataclass(frozen=True)
class View:
    """One boot of a run, analysed. Slow results are computed on first use; with an index, only if it lacks
    them. Any access raises UserError when the stream cannot be read."""

    run: StoredRun
    boot: StoredBoot
    understand: Callable[[], Evidence]
    index: Index | None = None
    core: Core | None = None
    on_core: Callable[[CoreChoice], View] | None = None
    """The same boot as on another core, or without any. Raises UserError if nothing was counted for its
    caches."""
    on_board: Callable[[Board], View] | None = None
    """The same boot as with another board's devices and CPU, without a core."""
    board: Board | None = None
    """The profile with the costs of devices, if it is not that of the recording."""

    def kept(self, name: str, kind: type[T], make: Callable[[], T], also: str = "") -> T:
        """The result of `make`, which depends on this boot and `also` alone; from the index if possible."""
        return self.index.get(name, kind, make, also) if self.index else make()

    @cached_property
    def evidence(self) -> Evidence:
        """All that the recording contains."""
        return self.understand()

    @cached_property
    def timeline(self) -> Timeline:
        """The boot's timeline."""
        return self.kept("timeline", Timeline, lambda: self.evidence.timeline)

    @cached_property
    def consumers(self) -> list[Consumer]:
        """What the time was spent on, largest first."""
        return self.kept("consumers", list[Consumer], self._ranked)

    def _ranked(self) -> list[Consumer]:
        from bootscope.analysis.ranking import consumers

        return consumers(self.evidence)

    def tables(self, name: str, phase: str | None = None) -> tuple[Rows, ...]:
        """The tables of the view `name`, of one phase if named. Raises UserError for an unknown phase."""
        check_phase(self.timeline, phase)
        entry = f"view-{name}-{phase}" if phase else f"view-{name}"

        def make() -> tuple[Rows, ...]:
            from bootscope.analysis.all_views import rows_of

            return rows_of(name, self.evidence, self.stacks, phase)

        return self.kept(entry, tuple[Rows, ...], make)

    def path_to(self, milestone: str) -> tuple[Rows, ...]:
        """The critical path to a milestone. Raises UserError for an unknown one."""
        check_milestone(self.timeline, milestone)
        entry = f"path-{hashlib.sha256(milestone.encode()).hexdigest()[:16]}"

        def make() -> tuple[Rows, ...]:
            from bootscope.analysis.all_views import path_to

            return path_to(milestone, self.evidence, self.stacks)

        return self.kept(entry, tuple[Rows, ...], make)

    @cached_property
    def silences(self) -> list[Silence]:
        """The longest stretches without a console line."""
        return silences(self.timeline)

    @cached_property
    def stacks(self) -> Stacks:
        """Call paths."""
        from bootscope.analysis.functions import Stacks

        return Stacks(self.evidence)

    @cached_property
    def ground(self) -> Ground:
        """The basis of predictions."""
        from bootscope.analysis.whatif_plan import Ground

        return Ground(self.evidence, self.stacks)

    @cached_property
    def flame(self) -> tuple[Stack, ...]:
        """The flame graph."""
        return tuple(self.stacks.all())

    @cached_property
    def trace(self) -> Trace:
        """All tracks of the boot."""
        from bootscope.analysis.trace import trace

        return trace(self.evidence, self.stacks, self.flame)

    @property
    def counted(self) -> bool | None:
        """Whether the boot was counted for the core that its board names; None if it names none."""
        board = self.board or self.run.info.board
        if not isinstance(board.core, str):
            return None
        from bootscope.analysis.timing import own_timing
        from bootscope.boards.changed import core_of

        return own_timing(self.run, self.boot, board) is not None if core_of(board) else None

    @property
    def picture(self) -> bytes | None:
        """The screen at first-frame as PNG, if there is one."""
        path = self.boot.path / PICTURE
        return path.read_bytes() if path.exists() and (self.boot.path / FRAME).exists() else None


def choose_boot(run: StoredRun, number: int | None) -> StoredBoot:
    """Boot `number` of a run, or the first one that reached its milestone.

    Raises UserError when there is no such boot.
    """
    if not run.boots:
        raise UserError(f"run {run.info.run_id} has no boot yet")
    if number is None:
        return next((b for b in run.boots if b.info.complete), run.boots[0])
    for boot in run.boots:
        if boot.info.number == number:
            return boot
    raise UserError(f"run {run.info.run_id} has no boot {number}", hint=f"it has 1 to {len(run.boots)}")


def view(
    store: Store,
    run: StoredRun,
    number: int | None = None,
    board: Board | None = None,
    indexed: bool = False,
    core: CoreChoice = None,
) -> View:
    """Everything about one boot; with `board`, as with that profile's devices; with `core`, as on that core,
    or without any; with `indexed`, results are kept for the next time. By default the core is the board's, if
    its caches were counted.

    Raises UserError for a `core` whose caches were not counted.
    """
    boot = choose_boot(run, number)
    if board and not same_clock(board, run.info.board):
        raise UserError(
            f"run {run.info.run_id} was recorded with {clock_words(run.info.board)}, "
            f"board {board.name} has {clock_words(board)}",
            hint=f"another clock needs another boot: bootscope record SYSTEM --board {board.name}",
        )
    timing = _timing(run, boot, board or run.info.board, core)
    seen_as = msgspec.json.encode(timing.core) + timing.digest if timing else b""
    index = Index(run, boot, seen_as) if indexed and not board else None

    def understand() -> Evidence:
        from bootscope.analysis.evidence import evidence_of

        return evidence_of(store, run, boot, board, timing)

    def on_core(other: CoreChoice) -> View:
        return view(store, run, boot.info.number, board, core=other)

    def on_board(other: Board) -> View:
        return view(store, run, boot.info.number, other)

    return View(run, boot, understand, index, timing.core if timing else None, on_core, on_board, board)


def _timing(run: StoredRun, boot: StoredBoot, board: Board, core: CoreChoice) -> Timing | None:
    if core == NO_CORE or (core is None and not isinstance(board.core, str)):
        return None
    from bootscope.analysis.timing import own_timing, timing_of

    return timing_of(run, boot, core) if core else own_timing(run, boot, board)


def comparison(store: Store, a: View, b: View) -> Comparison:
    """View B against view A, with the differences in what booted."""
    from bootscope.analysis.compare import compare, differences
    from bootscope.kbuild.kconfig import parse

    def text(sha256: str) -> str:
        return objects.unpacked(store.object(sha256)).decode("utf-8", "replace")

    def symbols(run: StoredRun, name: str) -> dict[str, str]:
        sha256 = run.info.system.symbols.get(name)
        return parse(text(sha256)) if sha256 else {}

    def contents(run: StoredRun) -> dict[str, str]:
        """Files of the root file system -> their hash or target."""
        sha256 = run.info.system.symbols.get(objects.ROOT_CONTENTS)
        lines = text(sha256).splitlines() if sha256 else []
        return dict(line.split("\t", 1) for line in lines if "\t" in line)

    configs = {name: (symbols(a.run, name), symbols(b.run, name)) for name in objects.CONFIG_OF.values()}
    files = (contents(a.run), contents(b.run))
    if all(files):  # recordings of the first days have no list
        configs["file"] = files
    found = differences(a.run.info, b.run.info, configs)
    same_build = a.run.info.build_id == b.run.info.build_id
    return compare(a.timeline, b.timeline, found, same_build, (_end(a), _end(b)))


def _end(v: View) -> End:
    from bootscope.analysis.compare import End

    info = v.boot.info
    return End(v.run.info.until, "" if info.complete else f"{info.ended}: {info.message}")
