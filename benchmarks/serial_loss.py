# SPDX-License-Identifier: Apache-2.0
"""Whether bytes are lost at 3,000,000 baud while the disk is busy.

    python benchmarks/serial_loss.py [--seconds 60] [--json]

A generator sends 300,000 bytes a second to a pseudo terminal that does not wait for its reader: bytes that
the reader does not take in time are lost, as in the buffer of a serial port. `bootscope record` listens,
while another process writes to the disk and waits for it, again and again. The recording is compared byte by
byte.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pty
import subprocess
import sys
import tempfile
import time
import tty
from pathlib import Path
from typing import Any

from pacing import in_time

ROOT = Path(__file__).resolve().parent.parent
RATE, PIECE = 3_000_000, 300
STEP_NS = PIECE * 10 * 1_000_000_000 // RATE
MOST_BEHIND_NS = 20_000_000
"""A delay that is made up for at once: 6 kB, as an adapter may buffer."""
BUSY = """
import os, sys
data = os.urandom(1 << 20) * 8
while True:
    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for _ in range(8):
        os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
"""


def piece(number: int) -> bytes:
    """The bytes of a piece: each piece is different, and text."""
    text = hashlib.sha512(str(number).encode()).hexdigest()
    return (f"{number:08} " + text * 3)[: PIECE - 2].encode() + b"\r\n"


def generate(master: int, seconds: float) -> tuple[int, int]:
    """Sends pieces at the line's rate; returns (pieces, bytes that found no room)."""
    os.set_blocking(master, False)
    number = lost = 0
    begun = time.monotonic_ns()
    while number * STEP_NS < int(seconds * 1e9):
        wait = begun + number * STEP_NS - time.monotonic_ns()
        if wait > 0:
            time.sleep(wait / 1e9)
        elif wait < -MOST_BEHIND_NS:
            # This process did not get the CPU. A line does not make up for that: its rate is constant.
            begun -= wait
        sent = 0
        with contextlib.suppress(BlockingIOError):
            sent = os.write(master, piece(number))
        lost += PIECE - sent
        number += 1
    return number, lost


def measure(seconds: float) -> dict[str, Any]:
    """The bytes sent, the bytes that found no room, and whether the recording equals what was sent."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BOOTSCOPE_STORE": str(store)}
        record = [sys.executable, "-m", "bootscope", "record", "--board", f"serial:{os.ttyname(slave)}"]
        record += ["--rate", str(RATE), "--until-silence", "3", "--timeout", str(seconds + 60), "--json"]
        disk = subprocess.Popen([sys.executable, "-c", BUSY, str(Path(folder) / "load")])
        bootscope = subprocess.Popen(record, env=env, stdout=subprocess.DEVNULL)
        try:
            time.sleep(4)
            with in_time():
                pieces, lost = generate(master, seconds)
            bootscope.wait(seconds + 120)
        finally:
            disk.kill()
            disk.wait()
            os.close(master)
            os.close(slave)
        heard = next(store.glob("runs/*/boots/001/console.bin")).read_bytes()
    same = heard == b"".join(piece(n) for n in range(pieces))
    return {"sent": pieces * PIECE, "lost": lost, "heard": len(heard), "same": same, "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description="Check whether bytes are lost at 3,000,000 baud.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = measure(args.seconds)
    if args.json:
        print(json.dumps(found))
    else:
        told = "all as sent" if found["same"] else "NOT as sent"
        print(f"{found['sent']:,} bytes in {found['seconds']:g} s, {found['lost']:,} lost; "
              f"{found['heard']:,} recorded, {told}")  # fmt: skip
    return 0 if found["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
