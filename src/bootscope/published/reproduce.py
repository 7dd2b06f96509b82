# SPDX-License-Identifier: Apache-2.0
"""Published tables, run again on the emulated board: every row is built, booted and measured."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from bootscope.analysis.views import View, view
from bootscope.boards.changed import without_core
from bootscope.boards.profile import Board, load_board
from bootscope.capture.record import RunInfo
from bootscope.capture.stored import StoredRun
from bootscope.changes.experiment import variant, with_bases, with_techniques
from bootscope.core.errors import BootscopeError, SpaceError, UserError
from bootscope.cores.changes import changed
from bootscope.cores.profile import Core, load_core
from bootscope.devices.model import CardClass
from bootscope.inventory.recorded import Recorded, facts
from bootscope.published.agreement import pairs
from bootscope.published.measures import measured
from bootscope.published.reproduced import Result, RowResult
from bootscope.published.shared_parts import bases
from bootscope.published.tables import OtherBoard, Row, Table
from bootscope.search.bench import Bench
from bootscope.system.changes import Change, apply
from bootscope.system.load import LoadedSystem, load_system

Tell = Callable[[str], None]


def reproduce(bench: Bench, table: Table, tell: Tell) -> Result:
    """Runs a table. Earlier measurements are taken from the store.

    A row that cannot be built or booted is a result too. Raises UserError for a table whose base is not a
    valid system, SpaceError where a disk is full.
    """
    loaded = with_techniques(load_system(table.system), list(table.techniques))
    base = changed_system(loaded, bases(table), f"{loaded.system.name}.{table.id}")
    boots_on, looks_on = boards(load_board(base.system.board), table.board)
    core = core_of(table.board)
    if core:
        bench = bench.with_limits(replace(bench.limits, timing=(core,)))
    known: dict[str, tuple[Recorded, ...]] = {}
    systems = {"": base}
    found: dict[str, RowResult] = {}
    here: dict[str, str] = {}
    # The reference row's boot is needed for the others.
    ordered = sorted(table.rows, key=lambda name: name != table.reference)
    for number, name in enumerate(ordered, start=1):
        tell(f"{table.id}, row {number} of {len(table.rows)}: {name}")
        try:
            row = table.rows[name]
            if row.on not in systems:
                raise UserError(f"the row {row.on}, which it is built upon, is not there")
            told = known.get(row.on) or known.get(table.reference, ())
            made = systems[name] = system_of_row(systems[row.on], row, told)
            run = bench.measured(made, boots_on, table.until)
            # A boot that did not reach its end has no counts.
            reached = run.boots[0].info.complete
            seen = view(bench.store, run, board=looks_on, core=core if reached else None)
            here = here or here_of(run.info, looks_on, core, table.board.core_changes if table.board else ())
            found[name] = _row(table, name, run, seen)
            if reached:
                known[name] = (facts(bench.store, seen), *told)
        except SpaceError:
            raise
        except BootscopeError as error:
            found[name] = RowResult(error=(error.message.splitlines() or [""])[0])
        if found[name].error:
            tell(f"  {found[name].error}")
    return Result(
        table=table.id,
        date=datetime.now(UTC).date().isoformat(),
        command=f"bootscope reproduce {table.id}",
        here=here,
        rows={name: found[name] for name in table.rows},
    )


def boards(board: Board, other: OtherBoard | None) -> tuple[Board, Board]:
    """The board to boot on, and the one whose devices the boot is viewed with.

    The cost of a card is computed afterwards, so that another card needs no boot of its own.
    """
    board = without_core(board)  # a table names the core that it needs
    if not other:
        return board, board
    if other.icount_shift:
        qemu = msgspec.structs.replace(board.qemu, icount_shift=other.icount_shift)
        board = msgspec.structs.replace(board, qemu=qemu)
    card = msgspec.structs.replace(board.card, title=other.title)
    if other.bandwidth_bytes_per_s or other.command_latency_ns:
        card = CardClass(
            title=other.title,
            bandwidth_bytes_per_s=other.bandwidth_bytes_per_s or board.card.bandwidth_bytes_per_s,
            command_latency_ns=other.command_latency_ns or board.card.command_latency_ns,
        )
    classes = {**board.card_classes, "other": card}
    return board, msgspec.structs.replace(board, card_class="other", card_classes=classes)


def core_of(other: OtherBoard | None) -> Core | None:
    """The core whose caches and memory a table needs, if any."""
    if not other or not other.core:
        return None
    core = load_core(other.core)
    return changed(core, other.core_changes).core if other.core_changes else core


def changed_system(loaded: LoadedSystem, changes: Mapping[str, Change], name: str) -> LoadedSystem:
    """The system with changes (their origin -> change), under another name."""
    return LoadedSystem(msgspec.structs.replace(apply(loaded.system, changes), name=name), loaded.path)


def system_of_row(base: LoadedSystem, row: Row, known: Sequence[Recorded]) -> LoadedSystem:
    """The system of a row. Raises UserError where it uses a technique and there is no boot to fill in its
    values from."""
    made = with_bases(base, list(row.base_of))
    if row.techniques:
        if not known:
            raise UserError("its reference row did not boot")
        made = by_what_is_known(made, known, row.techniques)
    return changed_system(made, {"the row": row.change}, base.system.name)


def by_what_is_known(
    base: LoadedSystem, known: Sequence[Recorded], techniques: Sequence[str]
) -> LoadedSystem:
    """A system with techniques; their values come from the newest boot that shows them, as a quiet kernel
    no longer prints its calibration. `known`: newest first. Raises UserError where no boot does."""
    *newest, first = known
    for one in newest:
        with contextlib.suppress(UserError):
            return variant(base, one, list(techniques), force=True)
    return variant(base, first, list(techniques), force=True)


def _row(table: Table, name: str, run: StoredRun, seen: View) -> RowResult:
    complete = seen.boot.info.complete
    values, problems = {}, [] if complete else [seen.boot.info.message]
    # For a row that others are compared with, also what is compared, even if not published for it.
    compared = pairs(table, Result(table.id, "", "", {}, {}))
    wanted = {*table.rows[name].published, *(pair.measure for pair in compared if pair.against == name)}
    # What was built has a size even if it does not boot.
    told = (key for key, measure in table.measures.items() if complete or measure.kind == "parts")
    for key in (key for key in told if key in wanted):
        try:
            values[key] = measured(table.measures[key], seen)
        except UserError as error:
            problems.append(error.message)
    return RowResult(run.info.run_id, "; ".join(problems), values)


def here_of(
    info: RunInfo, board: Board, core: Core | None, core_changes: Sequence[str] = ()
) -> dict[str, str]:
    """What something was run on, in words: by aspect."""
    tick, card = board.tick_ns, board.card
    kernel = info.system.kernel_source
    flat = f"{tick} ns an instruction, no caches"
    rate, wait = card.bandwidth_bytes_per_s.value / 1e6, card.command_latency_ns.value / 1e6
    return {
        "board": board.title,
        "cpu": ", ".join([core.title, *core_changes, "as modelled"]) if core else flat,
        "card": f"{card.title}: {rate:.4g} MB/s, {wait:.3g} ms a command",
        **{"linux" if name == kernel else name: source.version for name, source in info.sources.items()},
        **info.tools,
    }
