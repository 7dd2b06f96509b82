# SPDX-License-Identifier: Apache-2.0
"""What reading takes, as a multiple of a plain pass over the same lines (benchmarks/million_lines.py has all
kinds and a million lines), and that it grows with the file and no faster."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings

from bootscope.readers.base import Options, Source
from bootscope.readers.json_objects import objects
from bootscope.readers.registry import reader

from .fuzzing import FIXTURES, damaged

LINES = 10_000
_STAMP = re.compile(rb"(\d+)[.:](\d+)")


def cpu_s(work: Callable[[], object]) -> float:
    """CPU time in s, the least of three."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def plain(data: bytes) -> int:
    """The least that a script does with a log: an expression on every line, and nothing kept."""
    return sum(_STAMP.search(line) is not None for line in data.splitlines())


def kernel(us: int) -> str:
    return f"[{us // 1_000_000:5}.{us % 1_000_000:06}] usb 1-1: new high-speed device {us}"


def record(us: int) -> str:
    stamp = {"__MONOTONIC_TIMESTAMP": str(us), "_BOOT_ID": "0" * 32, "PRIORITY": "6"}
    return json.dumps({**stamp, "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": f"usb 1-1: new device {us}"})


def lava(us: int) -> str:
    line = json.dumps(kernel(us))
    return f'- {{"dt": "2026-03-01T08:00:00.{us % 1_000_000:06}", "lvl": "target", "msg": {line}}}'


def switch(us: int) -> str:
    fields = f'prev_comm = "perf", prev_pid = 7, prev_state = 2, next_comm = "sh", next_pid = {us % 500}'
    event = f"sched:sched_switch: {{ cpu_id = 0 }}, {{ perf_tid = 7, common_pid = 7, {fields} }}"
    return f"[{us * 1000:020}] (+000000004617) {event}"


@pytest.mark.parametrize(
    ("name", "line", "most"),
    [
        ("dmesg", kernel, 20),
        ("grabserial", lambda us: f"[{us // 1_000_000}.{us % 1_000_000:06} 0.000100] {kernel(us)}", 30),
        ("logread", lambda us: f"Sun Mar  1 08:00:00 2026 kern.info kernel: {kernel(us)}", 20),
        ("journalctl", record, 2),
        ("journalctl", lambda us: kernel(us).replace("] ", "] board kernel: ", 1), 25),
        ("lava", lava, 20),
        ("babeltrace", switch, 3),
    ],
)
def test_reading_beside_a_plain_pass(name: str, line: Callable[[int], str], most: int) -> None:
    data = "".join(f"{line(n * 10)}\n" for n in range(LINES)).encode()
    source, wanted = Source("long.log", data), reader(name)
    assert wanted.read(source, Options()).lines_understood == LINES
    assert cpu_s(lambda: wanted.read(source, Options())) < most * cpu_s(lambda: plain(data))


def boots(count: int) -> bytes:
    """A console of so many boots whose lines are worth a closer look."""
    return b"".join(
        b"[    0.000000] Linux version 6.6.%d\n" % n
        + b"".join(
            b"[    %d.%06d] probe of 1-%d returned 0 after 5 usecs\n" % (i, n, i) for i in range(1, 30)
        )
        for n in range(count)
    )


def test_many_boots_take_as_long_as_so_many_lines() -> None:
    few, many = (Source("boots.log", boots(count)) for count in (200, 1600))
    wanted = reader("dmesg")
    assert len(wanted.read(many, Options()).boots) == 1600
    assert cpu_s(lambda: wanted.read(many, Options())) < 16 * cpu_s(lambda: wanted.read(few, Options()))


def test_rows_of_blanks_take_as_long_as_they_are() -> None:
    """On a screen whose rows are filled up: found by the fuzzer, which waited."""

    def taken(blanks: int) -> float:
        row = "Linux version 2.6.21 (a@b) (gcc) #2"
        screen = Source("x", f"{row:80}\n".encode() * 30 + (b" " * blanks + b"x\n") * 4)
        return cpu_s(lambda: reader("plain").read(screen, Options()))

    assert taken(40_000) < 20 * taken(4_000)


def journal() -> bytes:
    odd = (
        b'{"A":"\\ud800"}\n{"A":"\xff"}\n{"A":1.50}\n{"A":["1","2"]}\n{"A":{"B":NaN}}\n\n{"A":null}\r\n'
        b'\x1e{"A":"b","A":"c"}\ndata: {"A":"\\u00e4"}\n{"A":"x\x01"}\n{"A":"b"},\n[{"A":"b"}]\n'
    )
    return b"".join(odd.splitlines(keepends=True)[:7]) + b'{"A":"b"}\n' * 3 + odd


def every(data: bytes) -> Iterator[object]:
    """The objects, none of them looked for line by line: the first line holds two."""
    found = objects(b"{}{}\n" + data)
    assert [next(found), next(found)] == [{}, {}]
    return found


@settings(max_examples=200, deadline=None)
@given(damaged(journal()))
def test_objects_line_by_line_are_those_of_the_whole_text(data: bytes) -> None:
    assert list(objects(data)) == list(every(data))


def test_a_journal_line_by_line_is_that_of_the_whole_text() -> None:
    for path in sorted((FIXTURES / "journalctl").glob("json*.txt")):
        data = path.read_bytes()
        assert list(objects(data)) == list(every(data))
