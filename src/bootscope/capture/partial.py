# SPDX-License-Identifier: Apache-2.0
"""Boots whose recorder was killed: they are given the description that they lack."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import datetime
from pathlib import Path

from bootscope.capture import record, stream
from bootscope.capture.measured import TAP
from bootscope.capture.record import BootInfo
from bootscope.core.errors import UserError


def mark_partial(folder: Path, boot_id: str) -> BootInfo:
    """Gives a boot whose recorder was killed the description that it lacks.

    Where it cannot be written (a full disk), it is only returned.
    """
    path = folder / record.STREAM
    sha256 = ""
    if not path.exists():
        path = folder / TAP  # cut off in a record, which its reader minds not
    else:
        with contextlib.suppress(UserError, OSError):
            stream.trim(path)
    if path.exists():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    started = datetime.fromtimestamp(folder.stat().st_ctime).astimezone().isoformat(timespec="seconds")
    info = BootInfo(
        boot_id=boot_id,
        number=int(folder.name),
        started=started,
        ended="partial",
        message="the recorder was killed",
        host_ms=0,
        stream_sha256=sha256,
    )
    with contextlib.suppress(OSError):
        record.write_json(folder / record.BOOT, info)
    return info
