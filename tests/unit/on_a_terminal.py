# SPDX-License-Identifier: Apache-2.0
"""bootscope on a terminal of a given width: all that it shows there."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from .builders import environment


def on_a_terminal(*words: str, columns: int = 80, status: int = 0, **extra: str) -> str:
    """What `bootscope WORDS` writes to a terminal; its exit code must be `status`. `extra` is for its
    environment."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "bootscope", *words],
        env=environment(PAGER="cat", TERM="xterm", COLUMNS=str(columns), **extra),
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    text = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        while True:
            try:
                text += terminal.read(65536)
            except OSError:  # closed at the other end
                break
    assert child.wait(30) == status, text
    return text.decode().replace("\r\n", "\n")
