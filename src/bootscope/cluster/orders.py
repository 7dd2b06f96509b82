# SPDX-License-Identifier: Apache-2.0
"""The messages to a worker and its answers: JSON, so that nothing of ours is unpickled."""

from __future__ import annotations

import msgspec

from bootscope.boards.physical import RealBoard
from bootscope.boards.profile import Board
from bootscope.builder.sources import Resolved
from bootscope.capture.record import Part, SourceFact
from bootscope.core.errors import (
    BoardError,
    BootscopeError,
    SpaceError,
    StepError,
    SymbolError,
    ToolError,
    UserError,
)
from bootscope.emulator.plugin_config import Limits
from bootscope.hardware.ending import EndWish
from bootscope.hardware.farm import Held as HeldPlace
from bootscope.hardware.farm import Wish
from bootscope.system.model import System

PLUGIN_STEP = "plugin"
"""The step that builds the plugin; it belongs to no system."""


class Held(msgspec.Struct, frozen=True):
    """Something that workers have: its hash (of a folder, or of a source file), and its holders."""

    content: str
    holders: tuple[str, ...]


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """A system as it is sent: `base` is the path of its file (relative for a system that comes with
    bootscope). `sources`: name -> where it is on the client's computer. `folders`: path on the client's
    computer of a folder beside the system's file -> its hash."""

    system: System
    base: str
    sources: dict[str, Resolved]
    folders: dict[str, str]


class BuildOrder(msgspec.Struct, frozen=True, kw_only=True, tag="build"):
    """One step of a build; its result must have the id `step_id`. `needs`: id -> holders of that result;
    `files`: hash -> holders of that source or folder. `jobs` 0: as many as the worker has cores for it."""

    token: str
    step: str
    step_id: str
    given: Given | None
    ids: dict[str, str]
    needs: dict[str, Held]
    files: dict[str, Held]
    jobs: int = 0
    use_ccache: bool = False


class BootOrder(msgspec.Struct, frozen=True, kw_only=True, tag="boot"):
    """One recording, with the id `run_id`; `ids` are those of the build's steps by name."""

    token: str
    run_id: str
    build_id: str
    system: System
    board: Board
    until: str
    boots: int
    timeout_s: float
    limits: Limits
    ids: dict[str, str]
    results: tuple[str, ...]
    plugin_id: str
    needs: dict[str, Held]
    facts: dict[str, SourceFact]


class MeasureOrder(msgspec.Struct, frozen=True, kw_only=True, tag="measure"):
    """Boots of a board in a farm, as a run with the id `run_id`: `wish` says which place, `end` where the
    boots end."""

    token: str
    run_id: str
    board: RealBoard
    wish: Wish
    end: EndWish
    boots: int


Asked = BuildOrder | BootOrder | MeasureOrder


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A finished step: the hash of its folder, its files, and whether it was `built` for this order
    (otherwise it was there already, or came from another worker)."""

    step_id: str
    content: str
    parts: tuple[Part, ...]
    built: bool


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error. `kind` is that of our errors; `unfit`: this worker cannot do it; `lost`: things that could
    not be fetched; `wrong`: holder -> what was wrong with what it sent."""

    kind: str
    message: str
    hint: str = ""
    log: str = ""
    names: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    wrong: dict[str, str] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of a worker: its address, the time it took, and one of the other results. `stopped`: it was
    told to stop. `fetched`: ids that came from others; `unpacked`: the number of sources unpacked for it;
    `said`: messages for people."""

    worker: str
    host_ms: int
    made: Made | None = None
    run_id: str = ""
    failure: Failure | None = None
    stopped: bool = False
    fetched: tuple[str, ...] = ()
    unpacked: int = 0
    said: tuple[str, ...] = ()
    wrong: dict[str, str] = {}


UNFIT, LOST = "unfit", "lost"
"""Kinds of failures that occur only on clusters."""
_KINDS: dict[str, type[BootscopeError]] = {
    kind.__name__: kind for kind in (UserError, BoardError, ToolError, SpaceError, HeldPlace)
}


def failure_of(error: BootscopeError, log: str = "") -> Failure:
    """An error of ours, as it is sent; `log` is the text of a build's output."""
    names = error.names if isinstance(error, SymbolError) else ()
    kind = type(error).__name__
    return Failure(kind=kind, message=error.message, hint=error.hint or "", log=log, names=names)


def error_of(failure: Failure, log: str = "") -> BootscopeError:
    """The error that was sent; `log` is the path of the kept output."""
    if failure.kind == "StepError":
        return StepError(failure.message, log, hint=failure.hint or None)
    hint = f"full log: {log}" if log else failure.hint or None
    if failure.kind == "SymbolError":
        return SymbolError(failure.message, failure.names, hint=hint)
    return _KINDS.get(failure.kind, ToolError)(failure.message, hint=hint)
