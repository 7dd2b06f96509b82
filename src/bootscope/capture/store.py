# SPDX-License-Identifier: Apache-2.0
"""The store of recorded runs: files that are never edited, and an index that can be made again.

    runs/RUN/run.json               what booted, on what
    runs/RUN/boots/001/boot.json    how that boot ended; missing while it is recorded
    runs/RUN/boots/001/stream.bin   and the rest of the raw capture
    runs/RUN/boots/001/index/       results derived from it, may be deleted (index.py)
    runs/RUN/measured.json          instead of run.json: boots of a real board (measured.py)
    runs/RUN/import.json            instead of the above: files of the user's own (imported.py)
    runs/RUN/labels.json            people's labels (labels.py)
    objects/SHA256.gz               symbol tables, shared by runs
    index.sqlite                    for listing; rebuilt from the folders if lost

A run folder has a lock that its recorder holds. A boot without boot.json whose recorder is gone was cut off
(power cut, SIGKILL): it gets a boot.json that says so the next time the store is opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from bootscope.capture import access, labels, naming
from bootscope.capture.imported import IMPORT, read_import
from bootscope.capture.measured import MEASURED, read_measured
from bootscope.capture.packing import gunzipped
from bootscope.capture.record import BOOT, RUN, BootInfo, RunInfo, read_json, write_whole
from bootscope.capture.run_index import RunIndex
from bootscope.capture.stored import (
    BOARD,
    DAMAGED,
    IMPORTED,
    RECORDED,
    RECORDING,
    MeasuredRun,
    StoredBoot,
    StoredRun,
    Summary,
    mark_partial,
    of_boots,
)
from bootscope.core.errors import ToolError, UserError, to_stderr
from bootscope.core.locks import is_held

_LOCK = "recording.lock"


class Store:
    """The store below `root`, which is created if it does not exist.

    `says` is told which newer runs a name passed over. `marks` are the labels for new runs.
    """

    def __init__(
        self,
        root: Path,
        says: Callable[[str], None] = to_stderr,
        marks: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.root, self._marks = root, marks
        self._says = says
        self._told: set[str] = set()
        self.made: list[str] = []
        """Ids of the runs that were made here, oldest first."""
        self.runs = root / "runs"
        self._objects = root / "objects"
        self._index = RunIndex(root / "index.sqlite")
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                self._objects.mkdir(exist_ok=True)
            for grave in root.glob(".removed-*"):
                shutil.rmtree(grave, ignore_errors=True)
            with os.scandir(self.runs):  # that it exists does not mean that it may be read
                pass
        except OSError as error:
            # A read-only store can still be read; one that does not exist cannot be created.
            raise access.refused(root, error) from error

    # ---- writing ----

    def check_writable(self) -> None:
        """Raises ToolError when nothing can be recorded: to be called before work that takes minutes."""
        access.check_writable(self.root, self.runs)

    def new_run_id(self, system: str, now: datetime) -> str:
        """Makes the folder of a new run and returns its id: time, system, and a number if needed."""
        self.check_writable()
        base = f"{now:%Y%m%d-%H%M%S}-{system}"
        for suffix in ("", *(f"-{n}" for n in range(2, 1000))):
            with contextlib.suppress(FileExistsError):
                (path := self.runs / f"{base}{suffix}").mkdir()
                if self._marks:
                    labels.write(path, self._marks)
                self.made.append(path.name)
                return path.name
        raise ToolError(f"cannot make a new run folder in {self.runs}")

    def new_run(self, name: str) -> Path:
        """Makes the folder of a new run, named by the time and `name`."""
        return self.runs / self.new_run_id(name, datetime.now().astimezone())

    def mark(self, run_id: str) -> None:
        """Gives a run that was made elsewhere the labels of those made here."""
        if self._marks:
            self.label(run_id, self._marks)

    @contextlib.contextmanager
    def recording(self, run_id: str) -> Iterator[Path]:
        """The folder of a run, locked while its recorder is at work."""
        path = self.runs / run_id
        (path / "boots").mkdir(exist_ok=True)
        with (path / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield path
        (path / _LOCK).unlink(missing_ok=True)

    def keep_object(self, data: bytes) -> str:
        """Keeps a blob; returns its SHA-256, by which :meth:`object` finds it."""
        name = hashlib.sha256(data).hexdigest()
        path = self._objects / f"{name}.gz"
        if not path.exists():
            write_whole(path, gzip.compress(data, mtime=0))
        return name

    def object(self, name: str) -> bytes:
        """A blob kept before. Raises ToolError when it is missing or damaged."""
        try:
            data = gunzipped((self._objects / f"{name}.gz").read_bytes())
        except OSError as error:
            raise ToolError(f"the store lacks object {name[:12]}: {error}") from error
        if data is None or hashlib.sha256(data).hexdigest() != name:
            raise ToolError(f"the store's copy of {name[:12]} is damaged")
        return data

    def label(self, run_id: str, changed: Mapping[str, str]) -> dict[str, str]:
        """Sets labels of a run, and removes those that are empty; returns the result."""
        self.check_writable()
        return labels.write(self.runs / run_id, changed)

    def labels_of(self, run_id: str) -> dict[str, str]:
        """The labels of a run; empty if they cannot be read."""
        return labels.known(self.runs / run_id)

    def remove(self, run_id: str) -> None:
        """Removes a run for good. Raises UserError while it is being recorded."""
        path = self.runs / run_id
        if self.is_recording(path):
            raise UserError(f"run {run_id} is being recorded", hint="stop the recording first")
        self.check_writable()
        grave = self.root / f".removed-{run_id}"
        path.rename(grave)
        shutil.rmtree(grave)
        self._index.forget([run_id])

    # ---- reading ----

    def is_here(self, run_id: str) -> bool:
        """Whether the files of a run are on this computer."""
        return (self.runs / run_id).is_dir()

    def fetch(self, run_id: str) -> None:
        """Fetches the files of a run to this computer, if the store is on a server."""

    def sent_figure(self, run_id: str, *, own: bool) -> str:
        """The figures that came with a run that is not here, as JSON; empty for none, and, with `own`, if
        another program computed them."""
        return ""

    def run_ids(self) -> list[str]:
        """All runs, oldest first."""
        described = (RUN, IMPORT, MEASURED)
        found = (p.name for p in self.runs.iterdir() if any((p / name).exists() for name in described))
        return sorted(found, key=natural)

    def kind(self, run_id: str) -> str:
        """RECORDED, IMPORTED or BOARD."""
        path = self.runs / run_id
        if (path / MEASURED).exists():
            return BOARD
        return IMPORTED if (path / IMPORT).exists() else RECORDED

    def find(self, name: str | None) -> StoredRun:
        """The recorded run called `name` (see :meth:`find_id`).

        Raises UserError also when it is damaged, or was imported.
        """
        run_id = self.find_id(name)
        if self.kind(run_id) != RECORDED:
            how = "was imported" if self.kind(run_id) == IMPORTED else "is of a real board"
            hint = "bootscope list shows which are of an emulated board"
            raise UserError(f"{run_id} {how}; this needs a recording of an emulated board", hint=hint)
        return self.load(run_id)

    def find_id(self, name: str | None) -> str:
        """The id of the run called `name` (naming.py says what names there are).

        Reports newer runs that were passed over because they are not complete.
        Raises UserError when there is none, or more than one.
        """
        found = self.named(name)
        self.report_skipped(found.skipped)
        return found.run_id

    def report_skipped(self, run_ids: Sequence[str]) -> None:
        """Reports runs that were passed over, newest first; each only once."""
        skipped = [run_id for run_id in run_ids if run_id not in self._told]
        if skipped:
            self._told.update(skipped)
            more = f" (and {len(skipped) - 1} more before it)" if skipped[1:] else ""
            self._says(f"skipped {skipped[0]}: {self.summary(skipped[0]).why}{more}")

    def named(self, name: str | None) -> naming.Found:
        """What a name selects, and what was passed over for it. Raises UserError like :meth:`find_id`."""
        return naming.resolve(name, self.run_ids(), lambda run_id: self.summary(run_id).usable)

    def newest(self, kind: str) -> str | None:
        """The newest complete run of a kind; if none is complete, the newest."""
        ids = [run_id for run_id in self.run_ids() if self.kind(run_id) == kind]
        return naming.resolve(None, ids, lambda i: self.summary(i).usable).run_id if ids else None

    def load(self, run_id: str) -> StoredRun:
        """A recorded run by its whole id. Raises UserError when its description is damaged."""
        path = self.runs / run_id
        return StoredRun(read_json(path / RUN, RunInfo), path, self._boots(path))

    def load_measured(self, run_id: str) -> MeasuredRun:
        """A run of a real board by its whole id. Raises UserError when its description is damaged."""
        path = self.runs / run_id
        return MeasuredRun(read_measured(path), path, self._boots(path))

    def _boots(self, path: Path) -> tuple[StoredBoot, ...]:
        boots = []
        for folder in sorted((path / "boots").glob("[0-9]*")):
            described = folder / BOOT
            if not described.exists() and self.is_recording(path):
                continue
            # The recorder may have finished between the two checks.
            known = described.exists()
            boot_id = f"{path.name}/{folder.name}"
            info = read_json(described, BootInfo) if known else mark_partial(folder, boot_id)
            boots.append(StoredBoot(info, folder))
        return tuple(boots)

    def summaries(self) -> list[Summary]:
        """All runs, oldest first, from the index; what it lacks is read from the folders."""
        return self.summaries_of(self.run_ids())

    def summaries_of(self, ids: list[str]) -> list[Summary]:
        """The same for these ids, all of runs that are here."""
        rows = self._index.all()
        self._index.forget(sorted(set(rows) - set(ids)))
        # Written together: this rebuilds a lost index of many runs many times faster.
        read = {i: self._read_summary(i) for i in ids if i not in rows}
        if whole := [s for s in read.values() if s.ended not in (RECORDING, DAMAGED)]:
            self._index.put(*whole)
        return [rows[i] if i in rows else read[i] for i in ids]

    def summary(self, run_id: str) -> Summary:
        """A run, from the index if possible."""
        return self._index.get(run_id) or self._indexed(self._read_summary(run_id))

    def _read_summary(self, run_id: str) -> Summary:
        """A run that the index lacks; one that cannot be read must not hide the others."""
        try:
            return self._read(run_id)
        except UserError:
            return Summary(run_id, "", "", "", "", "", 0, 0, DAMAGED, self.kind(run_id))

    def index(self, run_id: str) -> Summary:
        """Reads a run from its folder; puts it into the index unless it is still being recorded."""
        return self._indexed(self._read(run_id))

    def _indexed(self, summary: Summary) -> Summary:
        if summary.ended not in (RECORDING, DAMAGED):
            self._index.put(summary)
        return summary

    def _read(self, run_id: str) -> Summary:
        # Checked first: a recorder that ends while we read must not have its row overwritten by ours.
        recording = self.is_recording(self.runs / run_id)
        kind = self.kind(run_id)
        if kind == IMPORTED:
            info = read_import(self.runs / run_id)
            boots = info.boots
            return Summary(run_id, info.created, info.name, "", "", "", boots, boots, "", IMPORTED)
        run = self.load_measured(run_id) if kind == BOARD else self.load(run_id)
        return of_boots(run_id, run, recording)

    def is_recording(self, path: Path) -> bool:
        return bool(is_held(path / _LOCK))


def natural(run_id: str) -> list[str | int]:
    """A sort key in which `-10` comes after `-9`."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", run_id)]
