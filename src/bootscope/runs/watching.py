# SPDX-License-Identifier: Apache-2.0
"""A run while another process records it: how far its boots have come, by what is written as they go on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bootscope.capture.measured import TAP
from bootscope.capture.record import BOOT, STREAM, BootInfo, RunInfo, read_json
from bootscope.capture.store import Store
from bootscope.capture.stored import BOARD, MeasuredRun
from bootscope.capture.tail import Tail
from bootscope.core.errors import UserError, printable
from bootscope.timeline.live import Live


@dataclass(frozen=True)
class Progress:
    """How far a boot has come: moments are ns of board time, from what the boot counts from.

    `ended` says how it ended; empty while it goes on.
    """

    run_id: str
    boot: int
    now_ns: int
    phases: Mapping[str, int]
    """Phases that were reached -> when, in order."""
    milestones: Mapping[str, int]
    ended: str = ""

    @property
    def phase(self) -> str:
        """The phase that it is in; empty before the first."""
        return (list(self.phases) or [""])[-1]


def recording_now(store: Store, name: str | None) -> str:
    """The newest run that is being recorded, whose id has `name` in it. Raises UserError for none."""
    going = [i for i in store.run_ids() if (not name or name in i) and store.is_recording(store.runs / i)]
    if not going:
        what = f"no run called '{printable(name)}'" if name else "no run"
        hint = "start bootscope record in another terminal; without --watch, show is of finished runs"
        raise UserError(f"{what} is being recorded", hint=hint)
    return going[-1]


class _Boot(Protocol):
    def read(self) -> tuple[int, Mapping[str, int], Mapping[str, int]]:
        """(now, phases, milestones), by what is there by now."""


class Watcher:
    """Follows a run. Nothing is written."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self.run_id, self._path = store, run_id, store.runs / run_id
        self._measured = store.load_measured(run_id) if store.kind(run_id) == BOARD else None
        self._done = 0
        self._boot: _Boot | None = None
        self.over = False
        """Whether the recording has ended, and all of it was seen."""

    def look(self) -> Iterator[Progress]:
        """What boots have come to since the last look: those that ended, and the one that goes on."""
        # Asked first: what is written until it ends is read all the same.
        going = self._store.is_recording(self._path)
        while (folder := self._path / "boots" / f"{self._done + 1:03}").exists():
            self._boot = self._boot or self._follow(folder)
            # How it ended is written after the rest, so it is looked for before the rest is read.
            ended = self._ended(folder, going)
            yield Progress(self.run_id, self._done + 1, *self._boot.read(), ended)
            if not ended:
                break
            self._done, self._boot = self._done + 1, None
        self.over = not going

    def _follow(self, folder: Path) -> _Boot:
        if self._measured:
            return _Heard(self._measured, folder)
        return _Streamed(self._store.load(self.run_id).info, folder)

    def _ended(self, folder: Path, going: bool) -> str:
        if (folder / BOOT).exists():
            return read_json(folder / BOOT, BootInfo).message or "ended"
        return "" if going else "the recorder was killed"


class _Streamed:
    """A boot of an emulated board."""

    def __init__(self, run: RunInfo, folder: Path) -> None:
        self._live = Live(run, lambda *_: None)
        self._tail = Tail(folder / STREAM)

    def read(self) -> tuple[int, Mapping[str, int], Mapping[str, int]]:
        self._live.feed(self._tail.new())
        return self._live.now_ns, dict(self._live.starts), dict(self._live.milestones)


class _Heard:
    """A boot of a real board: its console is understood anew whenever there is more of it."""

    def __init__(self, run: MeasuredRun, folder: Path) -> None:
        self._run, self._folder, self._size = run, folder, -1
        self._found: tuple[int, dict[str, int], dict[str, int]] = (0, {}, {})

    def read(self) -> tuple[int, Mapping[str, int], Mapping[str, int]]:
        from bootscope.importing.files import of_boot

        size = path.stat().st_size if (path := self._folder / TAP).exists() else 0
        if size != self._size:
            self._size = size
            # A capture with no line in it yet is no boot.
            with contextlib.suppress(UserError):
                trace = of_boot(self._run, int(self._folder.name)).trace(1, lines=False)
                spans = [span for track in trace.tracks if track.kind == "phase" for span in track.spans]
                phases = {span.name: span.start_ns for span in spans}
                self._found = trace.total_ns, phases, dict(trace.milestones())
        return self._found
