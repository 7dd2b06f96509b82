# SPDX-License-Identifier: Apache-2.0
"""Switches a fake board on: `switch.py ON HEARD` writes to ON and waits until the board has said so in HEARD.

A board that is busy with something else (still sending, or unplugged by its test) is not waited for longer
than a second.
"""

import contextlib
import sys
import time
from pathlib import Path

on, heard = map(Path, sys.argv[1:])
now = str(time.time())
on.write_text(now)
end = time.monotonic() + 1
while time.monotonic() < end:
    with contextlib.suppress(OSError):
        if heard.read_text() == now:
            break
    time.sleep(0.001)
