# SPDX-License-Identifier: Apache-2.0
"""A run while another process records it: the progress of its boots, from the files as they grow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bootscope.capture.record import BOOT, BootInfo, read_json
from bootscope.capture.store import Store
from bootscope.core.errors import UserError, printable
from bootscope.runs.growing import Growing, SoFar, growing


@dataclass(frozen=True)
class Progress:
    """The progress of a boot: times are ns of board time, from the boot's zero.

    `ended` says how it ended; empty while it is running.
    """

    run_id: str
    boot: int
    now_ns: int
    phases: Mapping[str, int]
    """Phases that were reached -> their start, in order."""
    milestones: Mapping[str, int]
    ended: str = ""

    @property
    def phase(self) -> str:
        """The current phase; empty before the first."""
        return (list(self.phases) or [""])[-1]


def recording_now(store: Store, name: str | None) -> str:
    """The newest run that is being recorded, whose id has `name` in it. Raises UserError for none."""
    going = [i for i in store.run_ids() if (not name or name in i) and store.is_recording(store.runs / i)]
    if not going:
        what = f"no run called '{printable(name)}'" if name else "no run"
        hint = "start bootscope record in another terminal; without --watch, show is of finished runs"
        raise UserError(f"{what} is being recorded", hint=hint)
    return going[-1]


class Watcher:
    """Follows a run. Nothing is written."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self.run_id, self._path = store, run_id, store.runs / run_id
        self._done = 0
        self._boot: Growing | None = None
        self.over = False
        """Whether the recording has ended, and all of it was read."""

    def look(self) -> Iterator[Progress]:
        """The progress of boots since the last look: those that ended, and the current one."""
        # Checked first: whatever is written before the recording ends is still read below.
        going = self._store.is_recording(self._path)
        while (folder := self._path / "boots" / f"{self._done + 1:03}").exists():
            self._boot = self._boot or growing(self._store, self.run_id, self._done + 1)
            # The end is written last, so it is checked before the rest is read.
            ended = self._ended(folder, going)
            yield self._progress(self._boot, ended)
            if not ended:
                break
            self._done, self._boot = self._done + 1, None
        self.over = not going

    def _progress(self, boot: Growing, ended: str) -> Progress:
        found = SoFar()
        # A capture without a line is not a boot yet.
        with contextlib.suppress(UserError):
            found = boot.look(last=bool(ended))
        phases = {name: start_ns for name, start_ns, _ in found.phases}
        return Progress(self.run_id, self._done + 1, found.now_ns, phases, dict(found.milestones), ended)

    def _ended(self, folder: Path, going: bool) -> str:
        if (folder / BOOT).exists():
            return read_json(folder / BOOT, BootInfo).message or "ended"
        return "" if going else "the recorder was killed"
