# SPDX-License-Identifier: Apache-2.0
"""The bench of prebuilt images: changed on copies, booted on the emulated board, recorded."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.ids import id_of
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredBoot, StoredRun
from bootscope.core.errors import UserError
from bootscope.emulator import qemu
from bootscope.emulator.plugin_config import Limits
from bootscope.emulator.recording import Observer, Task
from bootscope.imageboot.start import ordered, recorded
from bootscope.imageboot.subject import Ready, Wish, opened
from bootscope.imageedit import content
from bootscope.imageedit.edits import Edits, edits
from bootscope.imageedit.known import with_known
from bootscope.imageedit.record import ImageRecord
from bootscope.imageedit.system import loaded as as_loaded
from bootscope.imageedit.system import system_of
from bootscope.imageedit.variant import Changed, changed
from bootscope.search.bench import PATIENCE_S, certain
from bootscope.system.load import LoadedSystem
from bootscope.system.model import System

KEY = "image.key"
"""A setting of recordings: the name of the boot, as :meth:`ImageBench.key` makes it."""


@dataclass(frozen=True)
class ImageOrder:
    """A changed image, ready for one boot."""

    loaded: LoadedSystem
    limits: Limits


@dataclass(frozen=True)
class ImageBench:
    """Where an image with a record is booted, unchanged or changed. `base` is the image as a system, of which
    variants are made; `content` is the id of its files. `timeout_s` is host time for one boot."""

    store: Store
    runner: Runner
    progress: Progress
    observer: Observer
    record: ImageRecord
    base: System
    content: str
    timeout_s: float = PATIENCE_S
    limits: Limits = field(default_factory=Limits)

    @property
    def hands(self) -> int:
        """Images are changed and booted in this process only."""
        return 0

    @property
    def cache(self) -> Cache:
        """Where the sources of the plugin and of firmware are."""
        return self.runner.cache

    @property
    def loaded(self) -> LoadedSystem:
        """The image as a system, without changes."""
        return as_loaded(self.base)

    def watched_by(self, progress: Progress, observer: Observer) -> ImageBench:
        """The same bench with other receivers for its progress."""
        runner = replace(self.runner, progress=progress)
        return replace(self, progress=progress, observer=observer, runner=runner)

    def limited(self, limit_ns: int) -> ImageBench:
        """The same bench, which gives up a boot after so much virtual time."""
        return replace(self, limits=replace(self.limits, limit_ns=limit_ns))

    def key(self, loaded: LoadedSystem) -> str:
        """A name for the boot of this image with these changes: the same content, watched in the same way,
        has the same name. Raises UserError for changes that cannot be made to an image."""
        board, wish = load_board(self.record.board), self.record.wish()
        by = (plugin.step().step_id({}), qemu.check(board), self.limits.explain)
        wanted = edits(self.base, loaded.system)
        told = (self.record.application, _config(self.record))
        return id_of([self.content, repr(wanted), board, repr(wish), by, told])

    def recorded(self, loaded: LoadedSystem) -> StoredRun | None:
        """A recording of this image with these changes, made before."""
        key = self.key(loaded)
        for summary in reversed(self.store.summaries()):
            if not summary.system.startswith(self.record.name):
                continue
            with contextlib.suppress(UserError):
                run = self.store.load(summary.run_id)
                if run.info.system.settings.get(KEY) == key and any(map(self.lasting, run.boots)):
                    return run
        return None

    def measured(self, loaded: LoadedSystem) -> StoredRun:
        """A recording of the image with changes, made before or made now; also that of a failed boot."""
        return self.recorded(loaded) or self.boot(self.order(loaded))

    def order(self, loaded: LoadedSystem) -> ImageOrder:
        """The order to record one boot. Raises UserError for changes that cannot be made to an image."""
        edits(self.base, loaded.system)
        return ImageOrder(loaded, self.limits)

    def known(self, order: ImageOrder) -> StoredRun | None:
        """A recording of what an order boots, made before."""
        return self.recorded(order.loaded)

    def boot(self, order: ImageOrder, boots: int = 1) -> StoredRun:
        """Makes the changes on a copy and boots it.

        Raises UserError for what cannot be changed in this image, ToolError as tools and recordings do.
        """
        with self._ready(order.loaded) as (ready, _):
            return recorded(
                ready, self.store, self.runner, self.observer, boots, self.timeout_s, order.limits
            )

    def lasting(self, boot: StoredBoot) -> bool:
        """Whether a boot would end in the same way the next time."""
        return certain(boot, self.limits)

    def unanswered(self, loaded: LoadedSystem) -> tuple[str, ...]:
        """Always empty: an image declares no required milestones."""
        return ()

    def hand_out(self, loaded: LoadedSystem, folder: Path) -> Changed:
        """Writes the changed image into `folder`, which must be empty. Raises as :meth:`boot` does."""
        board = load_board(self.record.board)
        with opened(self.record.files, board, self.record.wish(), self.runner) as ready:
            wanted = edits(self.base, loaded.system)
            wish = self.record.wish()
            return changed(ready.image, ready.given, board.arch, wish, wanted, folder)

    @contextlib.contextmanager
    def ready(self) -> Iterator[tuple[Task, Path]]:
        """The unchanged image, ready for one boot, and what is on its card. Raises as :meth:`boot` does, and
        UserError for an image without a card."""
        with self._ready(self.loaded) as (ready, _):
            if not ready.given.card:
                raise UserError(f"{self.record.name} has no card: its files boot from memory alone")
            how = (self.store, self.runner, 1, self.timeout_s, self.limits)
            with ordered(ready, *how) as task:
                yield task, ready.given.card

    @contextlib.contextmanager
    def _ready(self, loaded: LoadedSystem) -> Iterator[tuple[Ready, tuple[str, ...]]]:
        wanted = edits(self.base, loaded.system)
        with tempfile.TemporaryDirectory(prefix="bootscope-") as folder:
            files, wish, notes = self._files(wanted, Path(folder))
            board = load_board(self.record.board)
            with opened(files, board, wish, self.runner, loaded.system.name) as ready:
                yield self._with_known(ready, loaded), (*ready.notes, *notes)

    def _files(self, wanted: Edits, folder: Path) -> tuple[list[str], Wish, tuple[str, ...]]:
        wish = self.record.wish()
        if not wanted:
            return list(self.record.files), wish, ()
        board = load_board(self.record.board)
        with opened(self.record.files, board, wish, self.runner) as ready:
            made = changed(ready.image, ready.given, board.arch, wish, wanted, folder)
        return [str(path) for path in made.files], made.wish, made.notes

    def _with_known(self, ready: Ready, loaded: LoadedSystem) -> Ready:
        more = {KEY: self.key(loaded)}
        system = system_of(ready.image, ready.given, ready.board, loaded.system.name, self.record.application)
        return with_known(ready, system, more, _config(self.record))


def bench_of_image(
    store: Store, runner: Runner, progress: Progress, observer: Observer, record: ImageRecord
) -> ImageBench:
    """The bench of an image. Raises UserError if the image is not understood or cannot boot on its board."""
    board = load_board(record.board)
    _config(record)
    with opened(record.files, board, record.wish(), runner, record.name) as ready:
        base = system_of(ready.image, ready.given, ready.board, record.name, record.application)
    return ImageBench(store, runner, progress, observer, record, base, content.of_files(record.files))


def _config(record: ImageRecord) -> str:
    """The kernel's configuration as the record names it; empty for none."""
    if not record.kernel_config:
        return ""
    try:
        return Path(record.kernel_config).read_text(errors="replace")
    except OSError as error:
        raise UserError(f"cannot read {record.kernel_config}: {error.strerror}") from error
