# SPDX-License-Identifier: Apache-2.0
"""Measures `bootscope import` of a million lines of each kind of log, beside a plain pass over the file.

    .venv/bin/python benchmarks/million_lines.py [--lines N] [--times N] [--kind WORD] [--json]

The logs consist of one of our kernel logs, of a single boot that keeps printing, as each tool writes it;
traces are fixtures repeated with later stamps. Every import is a separate process with an empty folder as its
store. CPU time is user and system time, the least of `--times` runs; memory is the peak of the process. The
peer is a short Python script: it searches every line for a time stamp with a regular expression, and keeps
nothing. The bounds of the project are 5 s and 500 MB.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from log_reading import FIXTURES, ROOT, console_log, dmesg_log, events_log, graph_log, strace_log

BOUND_S, BOUND_MB = 5.0, 500
STEP_US = 100
SHORT = 1000
"""Lines of the warm-up log that is imported before measuring."""
_START = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
_PEER = """
import re, sys
stamp = re.compile(rb"(\\d+)[.:](\\d+)")
with open(sys.argv[1], "rb") as file:
    print(sum(stamp.search(line) is not None for line in file))
"""


@dataclass(frozen=True)
class Cost:
    """The cost of one kind: CPU time in seconds, peak memory in MB; the multiple of the peer's CPU time."""

    kind: str
    read_as: str
    lines: int
    cpu_s: float
    memory_mb: int
    peer_cpu_s: float

    @property
    def ratio(self) -> float:
        """CPU time as a multiple of the plain pass over the same file."""
        return self.cpu_s / self.peer_cpu_s

    @property
    def within(self) -> bool:
        """Whether both bounds are met."""
        return self.cpu_s <= BOUND_S and self.memory_mb <= BOUND_MB


def messages(lines: int) -> Iterator[tuple[int, str]]:
    """That many lines of one boot: microseconds, and the kernel's words. Repeated messages follow the real
    ones."""
    named = FIXTURES / "dmesg" / "raw.txt"
    real = [text for line in named.read_text().splitlines() if (text := line.split("] ", 1)[1])]
    talk = [x for x in real[-400:] if "init" not in x and "calling" not in x and "Freeing" not in x]
    for n in range(lines):
        yield n * STEP_US, real[n] if n < len(real) else f"{talk[n % len(talk)]} {n}"


def _printk(us: int) -> str:
    return f"[{us // 1_000_000:5}.{us % 1_000_000:06}]"


def _clock(us: int, form: str) -> str:
    """The wall clock; `%f` is microseconds and `%L` milliseconds."""
    at = _START + timedelta(microseconds=us)
    return at.strftime(form.replace("%L", f"{at.microsecond // 1000:03}"))


def _short(us: int, n: str, form: str) -> str:
    return f"{_clock(us, form)} board kernel: {n}"


def _record(us: int, text: str) -> dict[str, str]:
    return {
        "__REALTIME_TIMESTAMP": str(1_772_352_000_000_000 + us),
        "__MONOTONIC_TIMESTAMP": str(us),
        "_BOOT_ID": "0123456789abcdef0123456789abcdef",
        "_TRANSPORT": "kernel",
        "PRIORITY": "6",
        "SYSLOG_IDENTIFIER": "kernel",
        "MESSAGE": text,
    }


def _export(us: int, text: str) -> str:
    return "".join(f"{name}={value}\n" for name, value in _record(us, text).items())


def _lava(us: int, text: str) -> str:
    line = json.dumps(f"{_printk(us)} {text}")
    return f'- {{"dt": "{_clock(us, "%Y-%m-%dT%H:%M:%S.%f")}", "lvl": "target", "msg": {line}}}'


def _teraterm(us: int, text: str) -> str:
    seconds, ms = us // 1_000_000, us // 1000 % 1000
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"[0 {clock}.{ms:03}] {_printk(us)} {text}"


def _grabserial(us: int, text: str) -> str:
    return f"[{us // 1_000_000}.{us % 1_000_000:06} 0.000100] {_printk(us)} {text}"


def stamped(form: str) -> Callable[[int, str], str]:
    """The host's clock before the kernel's own lines."""
    return lambda us, text: f"{_clock(us, form)}{_printk(us)} {text}"


LINES: dict[str, Callable[[int, str], str]] = {
    "console, no stamps of a host": lambda us, text: f"{_printk(us)} {text}",
    "dmesg -r": lambda us, text: f"<6>{_printk(us)} {text}",
    "dmesg with callers": lambda us, text: f"{_printk(us)}[    T1] {text}",
    "grabserial -t": _grabserial,
    "ts '%F %H:%M:%.S'": stamped("%Y-%m-%d %H:%M:%S.%f "),
    "ts '%b %d %H:%M:%S'": stamped("%b %d %H:%M:%S "),
    "tio 24hour": stamped("[%H:%M:%S.%L] "),
    "tio iso8601": stamped("[%Y-%m-%dT%H:%M:%S.%L] "),
    "minicom, extended": stamped("[%Y-%m-%d %H:%M:%S.%L] "),
    "Tera Term, elapsed": _teraterm,
    "Python logging": stamped("%Y-%m-%d %H:%M:%S,%L - console - INFO - "),
    "journalctl -o short": lambda us, n: _short(us, n, "%b %d %H:%M:%S"),
    "journalctl -o short-precise": lambda us, n: _short(us, n, "%b %d %H:%M:%S.%f"),
    "journalctl -o short-iso": lambda us, n: _short(us, n, "%Y-%m-%dT%H:%M:%S+00:00"),
    "journalctl -o short-monotonic": lambda us, n: f"{_printk(us)} board kernel: {n}",
    "journalctl -o json": lambda us, text: json.dumps(_record(us, text)),
    "journalctl -o export": _export,
    "logread": lambda us, text: (
        f"{_clock(us, '%a %b %d %H:%M:%S %Y')} kern.info kernel: {_printk(us)} {text}"
    ),
    "LAVA, yaml": _lava,
    "GitHub Actions": stamped("%Y-%m-%dT%H:%M:%S.%f0Z "),
    "GitLab": stamped("%Y-%m-%dT%H:%M:%S.%fZ 01O "),
    "Jenkins": stamped("[%Y-%m-%dT%H:%M:%S.%LZ] "),
}


def babeltrace_log(lines: int) -> str:
    """A trace of `babeltrace2 --clock-cycles` with that many lines: a fixture repeated with later stamps."""
    real = gzip.decompress((FIXTURES / "babeltrace" / "cycles.txt.gz").read_bytes()).decode().splitlines()
    stamps = [int(line[1:21]) for line in real]
    turn_ns = stamps[-1] - stamps[0] + 1000
    places = (divmod(n, len(real)) for n in range(lines))
    return "".join(f"[{stamps[at] + turn * turn_ns:020}{real[at][21:]}\n" for turn, at in places)


WHOLE: dict[str, Callable[[int], str]] = {
    "grabserial -t, boots, initcall_debug": console_log,
    "dmesg, initcall_debug": dmesg_log,
    "strace -f -ttt -T": strace_log,
    "ftrace, events": events_log,
    "ftrace, function_graph": graph_log,
    "babeltrace2 --clock-cycles": babeltrace_log,
}


def perfetto_trace(events: int) -> bytes:
    """A trace of Perfetto with at least that many events: a fixture repeated, each time later."""
    schema = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    made = schema.Trace.FromString((FIXTURES / "perfetto" / "boot.pftrace").read_bytes())
    bundles = [packet.ftrace_events for packet in made.packet if packet.HasField("ftrace_events")]
    count = sum(len(b.event) + len(b.compact_sched.switch_timestamp) for b in bundles)
    turn_ns = 1_000 + max(event.timestamp for bundle in bundles for event in bundle.event)
    parts = [made.SerializeToString()]
    again = schema.Trace(packet=[packet for packet in made.packet if packet.HasField("ftrace_events")])
    for _ in range(events // count):
        for packet in again.packet:
            for event in packet.ftrace_events.event:
                event.timestamp += turn_ns if event.timestamp else 0
            if packet.ftrace_events.compact_sched.switch_timestamp:
                # The first one is a time, the others are the data between.
                packet.ftrace_events.compact_sched.switch_timestamp[0] += turn_ns
        parts.append(again.SerializeToString())
    return b"".join(parts)


BYTES: dict[str, Callable[[int], bytes]] = {"Perfetto, events": perfetto_trace}


def write(kind: str, path: Path, lines: int) -> None:
    """Writes a log of that kind. A record of a journal's export is eight lines of the file."""
    if kind in BYTES:
        path.write_bytes(BYTES[kind](lines))
        return
    if kind in WHOLE:
        path.write_text(WHOLE[kind](lines))
        return
    line = LINES[kind]
    count = lines // 8 if line is _export else lines
    with path.open("w") as file:
        file.writelines(f"{line(us, text)}\n" for us, text in messages(count))


def measured(command: list[str], folder: Path) -> tuple[float, int, str]:
    """CPU time in s, peak memory in MB and the output of a command. Raises RuntimeError when it fails."""
    settings = {**os.environ, "BOOTSCOPE_STORE": str(folder / "store"), "COLUMNS": "100"}
    # Modules are compiled once and kept, as for every user.
    settings |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=settings, cwd=folder, text=True)
    assert process.stdout
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {said[-300:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, said


def cost(kind: str, lines: int, times: int) -> Cost:
    """Makes the log, and measures its import and the peer's pass in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "long.log"
        # In a separate process: its memory would count as that of the next one.
        writer = multiprocessing.Process(target=write, args=(kind, path, lines))
        writer.start()
        writer.join()
        ours = [str(ROOT / "bin" / "bootscope"), "import", "--json", str(path)]
        write(kind, folder / "short.log", SHORT)
        measured([*ours[:-1], str(folder / "short.log")], folder)
        told = [measured(ours, folder) for _ in range(times)]
        peer = [measured([sys.executable, "-c", _PEER, str(path)], folder) for _ in range(times)]
        read_as = json.loads(told[0][2])["files"][0]["format"]
    return Cost(
        kind,
        read_as,
        lines,
        min(one[0] for one in told),
        max(one[1] for one in told),
        min(one[0] for one in peer),
    )


def main() -> int:
    """Prints the table; returns 1 when a kind misses a bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=3, help="runs of each; the fastest counts")
    parser.add_argument("--kind", default="", help="only kinds whose name contains this word")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = []
    if not args.json:
        print(f"{'kind':37} {'read as':15} {'CPU s':>6} {'x plain':>8} {'MB':>5}")
    for kind in (kind for kind in (*LINES, *WHOLE, *BYTES) if args.kind in kind):
        one = cost(kind, args.lines, args.times)
        found.append(one)
        if not args.json:
            over = "" if one.within else "  over"
            print(
                f"{kind:37} {one.read_as:15} {one.cpu_s:6.2f} {one.ratio:8.1f} {one.memory_mb:5}{over}",
                flush=True,
            )
    if args.json:
        rows = [{**asdict(one), "ratio": round(one.ratio, 2), "within": one.within} for one in found]
        print(json.dumps({"lines": args.lines, "times": args.times, "kinds": rows}, indent=2))
    return int(not all(one.within for one in found))


if __name__ == "__main__":
    sys.exit(main())
