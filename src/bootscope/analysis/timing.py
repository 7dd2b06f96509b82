# SPDX-License-Identifier: Apache-2.0
"""Which core a boot is looked at with, and what was counted of its caches."""

from __future__ import annotations

from bootscope.boards.profile import Board
from bootscope.capture import counted
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import UserError
from bootscope.cores.profile import Core, load_core
from bootscope.timeline.core_time import Timing


def core_of(board: Board) -> Core | None:
    """The core that a board profile names, if it does."""
    return load_core(board.core) if isinstance(board.core, str) else None


def timing_of(run: StoredRun, boot: StoredBoot, core: Core) -> Timing:
    """A core with what was counted of its caches in a boot.

    All boots of a run that have one stream share what was counted of one of them. Raises UserError where
    nothing was counted for such caches, or it is of another boot.
    """
    if core.architecture != run.info.board.architecture:
        raise UserError(
            f"core {core.name} is of architecture {core.architecture}, "
            f"board {run.info.board.name} of {run.info.board.architecture}"
        )
    found: list[str] = []
    for other in (boot, *run.boots):
        passes = counted.kept(other.path)
        found += [info.core for info in passes.values()]
        info = passes.get(core.geometry_id)
        if info and boot.info.stream_sha256 and info.stream_sha256 == boot.info.stream_sha256:
            return Timing(core, counted.read(other.path, core.geometry_id))
    raise _nothing_counted(run, boot, core, list(dict.fromkeys(found)))


def _nothing_counted(run: StoredRun, boot: StoredBoot, core: Core, found: list[str]) -> UserError:
    hint = f"bootscope record {run.info.system.name} --timing --core {core.name}"
    if not found:
        return UserError(f"{run.info.run_id} was recorded without --timing", hint=hint)
    counted_for = f"{run.info.run_id} was counted for {', '.join(found)}"
    if any(core.geometry_id in counted.kept(other.path) for other in run.boots):
        return UserError(f"{counted_for}, but boot {boot.info.number} is another boot than that", hint=hint)
    return UserError(f"{counted_for}, whose caches are not those of {core.name}", hint=hint)
