# SPDX-License-Identifier: Apache-2.0
"""What a scheduler needs to build systems and boot them on emulated boards; :class:`Bench` implements it."""

from __future__ import annotations

from typing import Any, Protocol, Self

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.emulator.plugin_config import Limits
from bootscope.emulator.recording import Observer
from bootscope.system.load import LoadedSystem


class Ordered(Protocol):
    """What a bench prepares for a later boot."""

    @property
    def limits(self) -> Limits: ...


class Emulator(Protocol):
    """Builds systems and boots them; :class:`Bench` documents the methods. An order goes back only to the
    bench that made it: its type is private to that bench."""

    @property
    def store(self) -> Store: ...
    @property
    def cache(self) -> Cache | None: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def hands(self) -> int: ...
    def key(self, loaded: LoadedSystem) -> str: ...
    def recorded(self, loaded: LoadedSystem) -> StoredRun | None: ...
    def order(self, loaded: LoadedSystem) -> Ordered: ...
    def known(self, order: Any) -> StoredRun | None: ...
    def boot(self, order: Any) -> StoredRun: ...
    def lasting(self, boot: StoredBoot) -> bool: ...
    def unanswered(self, loaded: LoadedSystem) -> tuple[str, ...]: ...
    def limited(self, limit_ns: int) -> Self: ...
    def watched_by(self, progress: Progress, observer: Observer) -> Self: ...


class Measuring(Emulator, Protocol):
    """The same, with a method that makes one recording at a time."""

    def measured(self, loaded: LoadedSystem) -> StoredRun: ...
