# SPDX-License-Identifier: Apache-2.0
"""Locks that show that a process is at work: they end with it, however it ends."""

from __future__ import annotations

import fcntl
from pathlib import Path


def is_held(path: Path) -> bool | None:
    """Whether a process holds the lock of that file; None if there is no such file. Nothing is written.

    Raises OSError if the file cannot be opened.
    """
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return None
    return False
