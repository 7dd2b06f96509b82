# SPDX-License-Identifier: Apache-2.0
"""bootscope show --watch: a run while it is recorded, drawn on a terminal, else a line for each change."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import msgspec

from bootscope.capture.store import Store
from bootscope.cli.common import refuse
from bootscope.cli.verb import JSON_SCHEMA, terminal
from bootscope.report import watched
from bootscope.runs.watching import Progress, Watcher, recording_now

_LOOK_S = 0.25
_OF_FINISHED_RUNS = ("boot", "board", "view", "phase", "to", "top", "sort")


def watch(store: Store, args: argparse.Namespace, wait: Callable[[], None] | None = None) -> int:
    """Follows the newest run that is being recorded to its end; `wait` waits between two looks.

    Raises UserError when no run is being recorded, and for options that are for finished runs.
    """
    refuse(args, _OF_FINISHED_RUNS, "is about finished runs; --watch follows one that is being recorded")
    watcher = Watcher(store, recording_now(store, args.run))
    pause = wait or (lambda: time.sleep(_LOOK_S))
    if args.json:
        _follow(watcher, _Json().tell, pause)
    elif sys.stdout.isatty():
        with watched.Drawn(terminal()) as drawn:
            _follow(watcher, drawn.tell, pause)
    else:
        _follow(watcher, watched.Lines(_say).tell, pause)
    run = store.summary(watcher.run_id)
    if not args.json:
        _say(f"recording ended: {run.complete} of {run.boots} boots completed; bootscope show {run.run_id}")
    return 0


def _follow(watcher: Watcher, tell: Callable[[Progress], None], pause: Callable[[], None]) -> None:
    while True:
        for progress in watcher.look():
            tell(progress)
        if watcher.over:
            return
        pause()


def _say(line: str) -> None:
    # A reader at the other end of a pipe waits for each line.
    print(line, flush=True)


class _Json:
    """Each change as a document on one line."""

    def __init__(self) -> None:
        self._before: object = None

    def tell(self, progress: Progress) -> None:
        known = (progress.boot, tuple(progress.phases), tuple(progress.milestones), progress.ended)
        if known == self._before:
            return
        self._before = known
        document = {"schema": JSON_SCHEMA, "kind": "watch", **watched.document(progress)}
        _say(msgspec.json.encode(document).decode())
