# SPDX-License-Identifier: Apache-2.0
"""Booting an image that is ready, and keeping the recording."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.emulator import qemu
from bootscope.emulator.plugin_config import Limits, check_store_path
from bootscope.emulator.recording import Observer, Task, record_boots
from bootscope.imageboot.subject import Ready


def recorded(
    ready: Ready,
    store: Store,
    runner: Runner,
    observer: Observer,
    boots: int,
    timeout_s: float,
    limits: Limits,
) -> StoredRun:
    """A run of `boots` boots; one that fails is a result, too. Raises UserError and ToolError as a recording
    does."""
    with ordered(ready, store, runner, boots, timeout_s, limits) as task:
        return store.load(record_boots(store, task, observer))


@contextlib.contextmanager
def ordered(
    ready: Ready, store: Store, runner: Runner, boots: int, timeout_s: float, limits: Limits
) -> Iterator[Task]:
    """The task to record; what it needs stays in the cache meanwhile. Raises as :func:`recorded` does."""
    store.check_writable()
    qemu.check(ready.board)
    check_store_path(store.root)
    step = plugin.step()
    shared = runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
    with runner.cache.use([shared.parent.name, *ready.steps]):
        yield Task(ready.subject, ready.board, shared, ready.goal.until, boots, timeout_s, limits)
