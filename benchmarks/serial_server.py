# SPDX-License-Identifier: Apache-2.0
"""How late lines arrive through ser2net, run as by labgrid's exporter, on this computer.

    python benchmarks/serial_server.py [SECONDS_BETWEEN_LINES] [LINES]

Needs ser2net. Prints the lateness of the last byte of each line, from its writing to its stamp.
"""

from __future__ import annotations

import os
import pty
import socket
import subprocess
import sys
import threading
import time
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.capture import tap, tapper

LINE_BYTES = 60


def main(gap_s: float, lines: int) -> None:
    """Writes lines into a pseudo terminal and receives them through ser2net."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    settings = [
        f"connection: &c#  accepter: telnet(rfc2217,mode=server),tcp,{port}",
        f"  connector: serialdev(nouucplock=true),{os.ttyname(slave)},115200n81,local",
    ]
    server = subprocess.Popen(["ser2net", "-d", "-n", *(w for s in settings for w in ("-Y", s))])
    time.sleep(1)
    words = [sys.executable, "-I", tapper.__file__, "tcp", "127.0.0.1", port]
    listener = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert listener.stdin
    assert listener.stdout
    heard = bytearray()
    out = listener.stdout
    thread = threading.Thread(target=lambda: heard.extend(out.read()))
    thread.start()
    time.sleep(1)
    sent = []
    for number in range(lines):
        sent.append(time.monotonic_ns())
        os.write(master, b"%05d" % number + b"x" * (LINE_BYTES - 7) + b"\r\n")
        time.sleep(gap_s)
    time.sleep(1)
    listener.stdin.close()
    thread.join()
    server.terminate()
    # The telnet event means that telnet's own bytes are to be removed.
    speaks = tap.event_record(0, "telnet")
    found = tap.read(tap.MAGIC + speaks + bytes(heard[len(tap.MAGIC) :]))
    if len(found.data) != lines * LINE_BYTES:
        raise SystemExit(f"{len(found.data)} of {lines * LINE_BYTES} bytes arrived")
    late, read = [], 0
    for number, at_ns in enumerate(sent, start=1):
        while found.ends[read] < number * LINE_BYTES:
            read += 1
        late.append((found.at_ns[read] - at_ns) / 1e6)
    late.sort()
    middle, most = late[lines // 2], late[lines * 95 // 100]
    print(f"lateness: median {middle:.1f} ms, 95 % within {most:.1f} ms, all within {late[-1]:.1f} ms")


if __name__ == "__main__":
    main(float(sys.argv[1]) if sys.argv[1:] else 0.01, int(sys.argv[2]) if sys.argv[2:] else 1000)
