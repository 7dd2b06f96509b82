# SPDX-License-Identifier: Apache-2.0
"""How exact the time stamps of console lines are, compared with grabserial's in the same run.

    python benchmarks/serial_stamps.py [--lines 600] [--load N] [--grabserial PATH] [--json]

A generator sends lines of 60 bytes, byte by byte as a line of 115200 baud brings them, to two pseudo
terminals at once; it notes when it sent the first byte of each line. `bootscope record` listens
to one, grabserial to the other, while N processes (default: two for each core) keep all cores busy. The error
of a stamp is how much later it is than the byte.

grabserial is installed into a folder that is thrown away (from PyPI, by hash), unless --grabserial names one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
import tty
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from pacing import in_time  # noqa: E402

from bootscope.capture import dating, tap  # noqa: E402
from bootscope.capture.measured import TAP  # noqa: E402

RATE, LINE_BYTES = 115200, 60
STEP_S = 10 / RATE
END = "the last line of all"
REQUIREMENTS = """\
grabserial==2.0.4 --hash=sha256:507b366d15272407f01e050f5f6cd189a601e1edf4b18880560a4276a252deb5
pyserial==3.5 --hash=sha256:c4451db6ba391ca6ca299fb3ec7bae67a5c55dde170964c7a14ceefec02f2cf0
"""


def generate(masters: list[int], lines: int) -> list[dict[str, int]]:
    """Sends lines to all of `masters`; returns when the first byte of each line was sent to each, by the
    monotonic clock and by wall-clock time, in ns."""
    sent: list[dict[str, int]] = []
    for number in range(lines + 1):
        words = f"{number:05} " + (END if number == lines else "what a boot loader says ".ljust(60, "."))
        text = (words[: LINE_BYTES - 2] + "\r\n").encode()
        for at, byte in enumerate(text):
            for which, master in enumerate(masters):
                if at == 0:
                    sent.append(
                        {"line": number, "to": which, "at_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
                    )
                os.write(master, bytes([byte]))
            # Never sooner than a line would deliver the next byte, however late this one was.
            time.sleep(STEP_S)
    return sent


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keeps cores busy."""
    hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def grabserial(folder: Path) -> list[str]:
    """A fresh grabserial, as a command."""
    venv.create(folder / "venv", with_pip=True)
    wanted = folder / "requirements.txt"
    wanted.write_text(REQUIREMENTS)
    pip: list[str | Path] = [
        folder / "venv/bin/python",
        "-m",
        "pip",
        "install",
        "-q",
        "--require-hashes",
        "-r",
        wanted,
    ]
    subprocess.run(pip, check=True)
    found = next(
        path for name in ("grabserial", "grabserial.py") if (path := folder / "venv/bin" / name).exists()
    )
    return [str(folder / "venv/bin/python"), str(found)]


def terminal() -> tuple[int, int, str]:
    """(master, slave, path) of a new pseudo terminal."""
    master, slave = pty.openpty()
    tty.setraw(slave)
    return master, slave, os.ttyname(slave)


def ours(store: Path) -> dict[int, int]:
    """Line number -> stamp on the monotonic clock, from the run in a store."""
    capture = tap.read(next(store.glob(f"runs/*/boots/001/{TAP}")).read_bytes())
    found = {}
    for at_ns, line in dating.lines(capture, capture.rate):
        if line[:5].isdigit():
            found[int(line[:5])] = at_ns
    return found


def theirs(log: str) -> dict[int, int]:
    """Line number -> time of day in ns, from grabserial's output."""
    pattern = re.compile(r"^\[(\d\d):(\d\d):(\d\d)\.(\d{6})\] (\d{5}) ", re.MULTILINE)
    return {
        int(m[5]): ((int(m[1]) * 60 + int(m[2])) * 60 + int(m[3])) * 1_000_000_000 + int(m[4]) * 1000
        for m in pattern.finditer(log)
    }


def day_ns(wall_ns: int) -> int:
    """The time of day of a moment on this computer's wall clock."""
    local = time.localtime(wall_ns // 1_000_000_000)
    seconds = (local.tm_hour * 60 + local.tm_min) * 60 + local.tm_sec
    return seconds * 1_000_000_000 + wall_ns % 1_000_000_000


def summary(errors: list[int]) -> dict[str, Any]:
    """Median, 99th percentile and maximum of the absolute errors in us."""
    found = sorted(abs(e) for e in errors)
    at = {"median_us": len(found) // 2, "p99_us": len(found) * 99 // 100, "max_us": len(found) - 1}
    return {"lines": len(found), **{name: found[i] / 1000 for name, i in at.items()}}


def measure(lines: int, load: int, peer: list[str]) -> dict[str, Any]:
    """Runs both at once; returns their errors."""
    (m0, s0, path0), (m1, s1, path1) = terminal(), terminal()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "BOOTSCOPE_STORE": str(store)}
        record = [
            sys.executable,
            "-m",
            "bootscope",
            "record",
            "--board",
            f"serial:{path0}",
            "--until-text",
            END,
        ]
        log = Path(folder) / "grabserial.log"
        quiet = subprocess.DEVNULL
        with log.open("wb") as out:
            b = subprocess.Popen([*record, "--timeout", "600"], env=env, stdout=quiet, stderr=quiet)
            g = subprocess.Popen(
                [*peer, "-S", "-d", path1, "-T", "-n", "-Q", "-o", str(log)], stdout=quiet, stderr=quiet
            )
            out.flush()
            time.sleep(4)
            with busy(load):
                time.sleep(0.5)
                with in_time():
                    sent = generate([m0, m1], lines)
                b.wait(60)
                time.sleep(1)
                g.terminate()
                g.wait(20)
        mine, other = ours(store), theirs(log.read_text(errors="replace"))
    for fd in (m0, s0, m1, s1):
        os.close(fd)
    errors0 = [mine[s["line"]] - s["at_ns"] for s in sent if s["to"] == 0 and s["line"] in mine]
    errors1 = [other[s["line"]] - day_ns(s["wall_ns"]) for s in sent if s["to"] == 1 and s["line"] in other]
    own, peers = summary(errors0), summary(errors1)
    ratio = round(own["p99_us"] / peers["p99_us"], 4)
    return {"bootscope": own, "grabserial": peers, "load": load, "p99_ratio": ratio}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare time stamps of console lines with grabserial's.")
    parser.add_argument("--lines", type=int, default=600)
    parser.add_argument("--load", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--grabserial", help="path of the grabserial to compare with")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peer = [sys.executable, args.grabserial] if args.grabserial else grabserial(Path(folder))
        found = measure(args.lines, args.load, peer)
    if args.json:
        print(json.dumps(found))
        return 0
    for name in ("bootscope", "grabserial"):
        s = found[name]
        off = f"{s['median_us']:,.0f} us (median), {s['p99_us']:,.0f} us (99 %), {s['max_us']:,.0f} us (most)"
        print(f"{name:12} {s['lines']} lines: off by {off}")
    print(f"99 % of ours is {found['p99_ratio']} of theirs, with {found['load']} busy processes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
