# SPDX-License-Identifier: Apache-2.0
"""Measures how fast long logs are read, compared with the tools that people use for them, in one run.

    .venv/bin/python benchmarks/log_reading.py [--lines N]
        [--grabserial FILE] [--bootgraph FILE] [--pm-graph FILE]

The logs consist of the fixtures (real logs), repeated with increasing time stamps. Each reading runs in its
own process; its wall and CPU time, peak memory and lines per second are printed. Peers, if they are
installed:

- grabserial's own loop, which has no way to read a file: lines are fed to it through a pseudo terminal;
- scripts/bootgraph.pl of the kernel (perl), and pm-graph's bootgraph.py, on a shorter log, since the time
  of the latter grows faster than the log. For these also: how many of the calls they understand, in the
  spellings that kernels have.

The bounds of the project are 5 s and 500 MB for a million lines.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tty
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "readers"
BOUND_S, BOUND_MB = 5.0, 500
PEER_LINES = 4_000
SERIAL_LINES = 3_000
READ = """
import sys, time, resource, json
sys.path.insert(0, sys.argv[1])
from bootscope.readers.base import Options, Source
from bootscope.readers.registry import reader, readers
with open(sys.argv[2], "rb") as file:
    source = Source("log", file.read())
known = readers()
start, cpu = time.perf_counter(), time.process_time()
name = max(known, key=lambda r: r.sure(source)).name
got = reader(name).read(source, Options())
print(json.dumps([name, time.perf_counter() - start, time.process_time() - cpu,
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, got.lines_total, got.lines_understood,
    sum(len(t.spans) for b in got.boots for t in b.tracks if t.kind == "initcall")]))
"""


@dataclass(frozen=True)
class Result:
    """One reading: times in seconds, memory in MB."""

    what: str
    wall_s: float
    cpu_s: float
    memory_mb: int
    lines: int

    def line(self) -> str:
        """The row of the table."""
        rate = self.lines / self.cpu_s if self.cpu_s else 0
        return (
            f"{self.what:44} {self.lines:>9,} {self.wall_s:8.2f} {self.cpu_s:8.2f} "
            f"{self.memory_mb:>6,} {rate:>12,.0f}"
        )


def dmesg_log(lines: int, caller: str = "", symbols: bool = True) -> str:
    """A kernel log of that many lines, 100 us apart; every call has a name of its own."""
    real = [x.split("] ", 1)[1] for x in (FIXTURES / "dmesg/raw.txt").read_text().splitlines()]
    made = []
    for n in range(lines):
        turn, text = n // len(real), real[n % len(real)]
        match = re.match(r"(calling  |initcall )(\w+)(\+\S+)(.*)", text)
        if match:
            name = f"{match[2]}_{turn}{match[3]}" if symbols else f"0xc0{hash(match[2]) % 9999:04d}{turn:03d}"
            text = f"{match[1]}{name}{match[4]}"
        made.append(f"[{n // 10_000:5}.{n % 10_000:04}00]{caller} {text}\n")
    return "".join(made)


def console_log(lines: int) -> str:
    """A log of `grabserial -t` with that many lines: one boot after the other."""
    real = [x.split("] ", 1)[1] for x in (FIXTURES / "grabserial/initcall.log").read_text().splitlines()]
    return "".join(f"[{n // 1000}.{n % 1000:03}000 0.001000] {real[n % len(real)]}\n" for n in range(lines))


def quiet_log(lines: int) -> str:
    """A log of `grabserial -t` with one boot, after which the board keeps printing for long."""
    boot = console_log(1_700)
    words = [x.split("] ", 1)[1] for x in boot.splitlines()[-300:] if "probe of" in x or "hub" in x]
    talk = [x.replace("probe of", "device").split("] ", 1)[1] for x in words]
    later = range(1_700, lines)
    return boot + "".join(
        f"[{n // 1000}.{n % 1000:03}000 0.001000] [{n // 1000:5}.{n % 1000:03}000] {talk[n % len(talk)]}\n"
        for n in later
    )


def later(name: str, stamp: str, lines: int, head: int = 0) -> str:
    """A trace of that many lines: a fixture repeated, each time with later stamps. `stamp` matches what
    precedes a stamp in seconds and microseconds; the first `head` lines are written once."""
    real = (FIXTURES / name).read_text().splitlines(keepends=True)
    pattern = re.compile(stamp + r"(\d+)\.(\d{6})")
    body = [(pattern.search(line), line) for line in real[head:]]
    times = [int(m[1] + m[2]) for m, _ in body if m]
    turn_us = max(times) - min(times) + 100
    made = real[:head]
    for n in range(lines - head):
        turn, place = divmod(n, len(body))
        match, line = body[place]
        if match:
            us = int(match[1] + match[2]) + turn * turn_us
            line = f"{line[: match.start(1)]}{us // 1_000_000}.{us % 1_000_000:06}{line[match.end(2) :]}"
        made.append(line)
    return "".join(made)


def strace_log(lines: int) -> str:
    """A trace of `strace -f -ttt -T` with that many lines."""
    return later("strace/f-ttt-T.txt", r"^\d+ ", lines)


def events_log(lines: int) -> str:
    """A trace of kernel events (initcalls, tasks, storage) with that many lines."""
    return later("ftrace/boot-events.txt", r" (?=\d+\.\d{6}: )", lines, 12)


def graph_log(lines: int) -> str:
    """A trace of the function_graph tracer with stamps and that many lines."""
    return later("ftrace/boot-graph.txt", r"^ +", lines, 12)


def ours(what: str, path: Path) -> tuple[Result, list[int]]:
    """Reads a file in a process of its own: returns its figures; the lines in total, understood, and
    calls."""
    import json

    command = [sys.executable, "-c", READ, str(ROOT / "src"), str(path)]
    _, wall, cpu, memory, *counts = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    )
    return Result(what, wall, cpu, memory, counts[0]), counts


def child(what: str, command: list[str], lines: int, folder: Path) -> tuple[Result, str]:
    """Runs a peer: returns its figures and its output."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Result(what, wall, cpu, 0, lines), done.stdout + done.stderr


def serial(script: str, folder: Path) -> Result:
    """grabserial's loop on lines that are ready in a pseudo terminal."""
    ours_fd, its_fd = pty.openpty()
    tty.setraw(its_fd)
    name = os.ttyname(its_fd)
    command = [
        script,
        "-S",
        "-d",
        name,
        "-b",
        "115200",
        "-N",
        "-t",
        "-Q",
        "-q",
        "END-OF-LOG",
        "-o",
        "out.log",
    ]
    if script.endswith(".py") or not os.access(script, os.X_OK):
        command.insert(0, sys.executable)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    fed = "".join(dmesg_log(SERIAL_LINES)) + "END-OF-LOG\n"
    data = fed.encode()
    while data and process.poll() is None:
        data = data[os.write(ours_fd, data[:2048]) :]
    process.wait(timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    os.close(ours_fd)
    os.close(its_fd)
    wall = time.perf_counter() - start - 1
    return Result("grabserial -t, through a pseudo terminal", wall, cpu, 0, SERIAL_LINES)


def find_bootgraph() -> str | None:
    """bootgraph.pl in a kernel tree that bootscope has unpacked."""
    sys.path.insert(0, str(ROOT / "src"))
    from bootscope.core.paths import cache_dir

    return next((str(p) for p in cache_dir().glob("steps/*/tree/scripts/bootgraph.pl")), None)


def peers(args: argparse.Namespace, folder: Path) -> None:
    """The peers' times on a short log, and what they understand of each spelling of calls."""
    spellings = {
        "as dmesg prints it": dmesg_log(PEER_LINES),
        "with CONFIG_PRINTK_CALLER": dmesg_log(PEER_LINES, caller="[    T1]"),
        "without kallsyms": dmesg_log(PEER_LINES, symbols=False),
    }
    print(f"\nshare of calls understood, in {PEER_LINES:,} lines")
    for name, text in spellings.items():
        path = folder / "short.txt"
        path.write_text(text)
        calls = text.count(" initcall ")
        mine, counts = ours("", path)
        row = [f"bootscope {counts[2] / calls:.0%}"]
        if args.bootgraph and shutil.which("perl"):
            peer, out = child("", ["perl", args.bootgraph, str(path)], PEER_LINES, folder)
            # It draws only long calls; its own expression shows what it matched.
            found = len(re.findall(r"[0-9.]+\] initcall [a-zA-Z0-9_.]+\+.*returned", text))
            row.append(f"bootgraph.pl {found / calls:.0%} ({peer.cpu_s / mine.cpu_s:.1f} x our CPU time)")
        if args.pm_graph:
            command = [sys.executable, args.pm_graph, "-verbose", "-dmesg", str(path), "-o", str(folder)]
            peer, out = child("", command, PEER_LINES, folder)
            found = sum(int(n) for n in re.findall(r"\((\d+) initcalls\)", out))
            row.append(f"pm-graph {found / calls:.0%} ({peer.cpu_s / mine.cpu_s:.1f} x)")
        print(f"  {name:28} " + ", ".join(row))


def main() -> int:
    """Runs all of it; returns 1 when a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--grabserial", default=shutil.which("grabserial"))
    parser.add_argument("--bootgraph", default=find_bootgraph())
    parser.add_argument("--pm-graph", default=shutil.which("bootgraph"))
    args = parser.parse_args()
    missed = 0
    print(f"{'':44} {'lines':>9} {'wall s':>8} {'CPU s':>8} {'MB':>6} {'lines/CPU s':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, made in (
            ("grabserial -t, one long log", quiet_log),
            ("grabserial -t, boots with initcall_debug", console_log),
            ("strace -f -ttt -T", strace_log),
            ("ftrace, events", events_log),
            ("ftrace, function_graph with stamps", graph_log),
            ("dmesg with initcall_debug", dmesg_log),
        ):
            path = folder / "log.txt"
            path.write_text(made(args.lines))
            result, counts = ours(what, path)
            print(f"{result.line()}   {counts[1] / counts[0]:.2%} of the lines understood")
            missed += result.wall_s > BOUND_S or result.memory_mb > BOUND_MB
        # grabserial reads the last log.
        if args.grabserial:
            own = serial(args.grabserial, folder)
            print(own.line())
            ratio = own.cpu_s / own.lines * result.lines / result.cpu_s
            print(f"  grabserial needs {ratio:.0f} x our CPU time per line")
        peers(args, folder)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
