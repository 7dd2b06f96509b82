# SPDX-License-Identifier: Apache-2.0
"""The content of the store: runs and boots, and a line about each run."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bootscope.capture import decoded, record, stream
from bootscope.capture.measured import TAP, MeasuredInfo
from bootscope.capture.record import BootEnd, BootInfo, RunInfo
from bootscope.core.errors import UserError

RECORDED, IMPORTED, BOARD = "recorded", "imported", "measured"
RECORDING = "recording"
"""The end of a run that is still being recorded."""
DAMAGED = "damaged"
"""The end of a run whose description cannot be read."""
_WHY = {
    RECORDING: "it is being recorded",
    BootEnd.PARTIAL: "its recorder was killed",
    DAMAGED: "it is damaged",
    "no boot": "it has no boot",
}


@dataclass(frozen=True)
class Summary:
    """One line of the list of runs; `ended` is how the last boot ended.

    `kind` is `recorded`, `imported` or `measured`; an imported run has a name instead of a system, and
    neither board nor build; one of a real board has no build.
    """

    run_id: str
    created: str
    system: str
    board: str
    build_id: str
    until: str
    boots: int
    complete: int
    ended: str
    kind: str = RECORDED

    @property
    def usable(self) -> bool:
        """Whether at least one boot came to its end, and nobody is recording the run any more."""
        return self.complete > 0 and self.ended != RECORDING

    @property
    def failed(self) -> bool:
        """Whether no boot came to its end, and none will. Unknown, so False, for a damaged run."""
        return not self.complete and self.ended not in (RECORDING, DAMAGED)

    @property
    def why(self) -> str:
        """Why it is not usable, in words."""
        return _WHY.get(self.ended, f"ended by {self.ended}")


@dataclass(frozen=True)
class StoredBoot:
    """A boot in the store."""

    info: BootInfo
    path: Path

    def records(self) -> list[stream.Record]:
        """The records of its stream. Raises UserError when the file is no stream."""
        try:
            return decoded.read(self.path / record.STREAM, self.path / record.RECORDS)
        except FileNotFoundError:
            return []
        except UserError as error:
            raise UserError(f"boot {self.info.boot_id}: {error.message}", hint=error.hint) from error


def mark_partial(folder: Path, boot_id: str) -> BootInfo:
    """Gives a boot whose recorder was killed the missing description.

    If it cannot be written (a full disk), it is only returned.
    """
    path = folder / record.STREAM
    if path.exists():
        with contextlib.suppress(UserError, OSError):
            stream.trim(path)
    else:
        path = folder / TAP  # may end in the middle of a record, which its reader accepts
    info = BootInfo(
        boot_id=boot_id,
        number=int(folder.name),
        started=datetime.fromtimestamp(folder.stat().st_ctime).astimezone().isoformat(timespec="seconds"),
        ended=BootEnd.PARTIAL,
        message="the recorder was killed",
        host_ms=0,
        stream_sha256=hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "",
    )
    with contextlib.suppress(OSError):
        record.write_json(folder / record.BOOT, info)
    return info


@dataclass(frozen=True)
class StoredRun:
    """A run in the store, with its boots in order."""

    info: RunInfo
    path: Path
    boots: tuple[StoredBoot, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a real board in the store, with its boots in order."""

    info: MeasuredInfo
    path: Path
    boots: tuple[StoredBoot, ...]


def of_boots(run_id: str, run: StoredRun | MeasuredRun, recording: bool) -> Summary:
    """The line about a run of boots, which may still be in progress."""
    info, count = run.info, len(run.boots)
    complete = sum(boot.info.complete for boot in run.boots)
    ended = RECORDING if recording else run.boots[-1].info.ended if run.boots else "no boot"
    name, build, kind = (
        (info.name, "", BOARD)
        if isinstance(info, MeasuredInfo)
        else (info.system.name, info.build_id, RECORDED)
    )
    board = info.board.name
    return Summary(run_id, info.created, name, board, build, info.until, count, complete, ended, kind)
