#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for sigrok-cli: samples, on the clock of the fake board, what that board's pins did.

    analyser.py BOARD FILE [sr]

BOARD is a file to which the board writes ``<ns of the monotonic clock> <channel> <level or text>``. Capturing
begins when the command is started, and ends with a newline on standard input; FILE then holds a dump of
changes (or a session) of D0 to D2, D2 being the console's line at 115200 baud. Its clock runs 40 ppm fast.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.unit.uart_wave import sampled, sent, session, vcd

BAUD, SAMPLES_HZ, FAST_PPM = 115200, 1_000_000, 40


def main(board: Path, file: Path, kind: str = "vcd") -> int:
    time.sleep(0.1)  # an analyser is opened before it samples
    began_ns = time.monotonic_ns()
    time.sleep(0.05)  # the first piece comes later than its first sample
    file.write_bytes(b"$version libsigrok 0.5.2 $end\n")
    sys.stdin.readline()
    end_ns = own(time.monotonic_ns(), began_ns)
    channels = {"D0": [(0, 0)], "D1": [(0, 0)]}
    said: list[tuple[int, bytes]] = []
    for line in board.read_text().splitlines() if board.exists() else []:
        at, channel, what = line.split(" ", 2)
        if int(at) < began_ns:
            continue
        at_ns = own(int(at), began_ns)
        if channel == "D2":
            said.append((at_ns, bytes.fromhex(what)))
        else:
            channels[channel].append((at_ns, int(what)))
    wave = list(sampled(sent(said, BAUD), SAMPLES_HZ))
    pins = {name: list(sampled(levels, SAMPLES_HZ)) for name, levels in channels.items()} | {"D2": wave}
    file.write_bytes(session(pins, end_ns, SAMPLES_HZ) if kind == "sr" else vcd(pins, end_ns))
    return 0


def own(at_ns: int, began_ns: int) -> int:
    """A moment on the analyser's clock."""
    return (at_ns - began_ns) * (1_000_000 + FAST_PPM) // 1_000_000


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
