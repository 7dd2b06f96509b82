# SPDX-License-Identifier: Apache-2.0
"""The core with which a boot is analysed, and the counts of its caches."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from bootscope.boards.changed import clock_core_of, core_of
from bootscope.boards.profile import Board
from bootscope.capture import counted
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import UserError
from bootscope.cores.profile import Core, core_names, load_core
from bootscope.timeline.core_time import Timing


def core_counted(run: StoredRun) -> Core | None:
    """The core whose caches were counted in a run, if it is a known core and the only one."""
    kept = {name: info for boot in run.boots for name, info in counted.kept(boot.path).items()}
    names = {info.core for info in kept.values()}
    name = names.pop() if len(names) == 1 else ""
    core = load_core(name) if name in core_names() else None
    return core if core and core.geometry_id in kept else None


def find_timing(run: StoredRun, boot: StoredBoot, core: Core) -> Timing | None:
    """A core with the counts of its caches in a boot; None if there are none, or those of another boot.

    All boots of a run with identical streams share the counts of one of them.
    """
    for other in (boot, *run.boots):
        info = counted.kept(other.path).get(core.geometry_id)
        if info and boot.info.stream_sha256 and info.stream_sha256 == boot.info.stream_sha256:
            digest = counted.digest(other.path, core.geometry_id)
            return Timing(core, partial(_read, other.path, core.geometry_id, digest), digest)
    return None


@lru_cache(maxsize=1)  # an audit looks at a boot on a dozen cores, which share its counts
def _read(folder: Path, name: str, digest: bytes) -> counted.Counted:
    """The counts of the file with this `digest`: reading takes a second."""
    return counted.read(folder, name)


def own_timing(run: StoredRun, boot: StoredBoot, board: Board | None = None) -> Timing | None:
    """The core that the board of a run names (or `board`), with the counts of its caches; None if it names
    none, or if they were not counted: a boot that did not complete has no counts."""
    core = core_of(board or run.info.board)
    return find_timing(run, boot, core) if core else None


def timing_of(run: StoredRun, boot: StoredBoot, core: Core) -> Timing:
    """The same. Raises UserError if nothing was counted for such caches, the counts are of another boot, or
    the board has no such core."""
    check_architecture(run, core)
    if own := clock_core_of(run.info.board):
        raise UserError(
            f"{run.info.run_id} was recorded with the clock of core {own.name}: "
            "its times are that core's already",
            hint="leave out --core; another core needs another boot",
        )
    found = find_timing(run, boot, core)
    if found is None:
        raise _nothing_counted(run, boot, core)
    return found


def check_architecture(run: StoredRun, core: Core) -> None:
    """Raises UserError for a core that the board of a run cannot have."""
    if core.architecture != run.info.board.architecture:
        raise UserError(
            f"core {core.name} is of architecture {core.architecture}, "
            f"board {run.info.board.name} of {run.info.board.architecture}"
        )


def _nothing_counted(run: StoredRun, boot: StoredBoot, core: Core) -> UserError:
    kept = [info for other in run.boots for info in counted.kept(other.path).values()]
    found = list(dict.fromkeys(info.core for info in kept))
    hint = f"bootscope record {run.info.system.name} --timing --core {core.name}"
    if not found:
        return UserError(f"{run.info.run_id} was recorded without --timing", hint=hint)
    counted_for = f"{run.info.run_id} was counted for {', '.join(found)}"
    if any(core.geometry_id in counted.kept(other.path) for other in run.boots):
        return UserError(f"{counted_for}, but boot {boot.info.number} is another boot than that", hint=hint)
    return UserError(f"{counted_for}, whose caches are not those of {core.name}", hint=hint)
