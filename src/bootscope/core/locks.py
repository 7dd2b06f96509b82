# SPDX-License-Identifier: Apache-2.0
"""Locks that say that somebody is at work: they end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
from pathlib import Path


def is_held(path: Path) -> bool | None:
    """Whether a process holds the lock of that file; None where there is no such file. Nothing is written.

    Raises OSError where the file cannot be opened.
    """
    try:
        with path.open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return None
    return False
