# SPDX-License-Identifier: Apache-2.0
"""What one reads while a build goes on: in a log, and on a real terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from bootscope.builder.workload import Basis, Bound, Work, Workload
from bootscope.cli.progress import PlainProgress
from bootscope.report.workload import announced, estimated, fitted, passed

from .builders import environment

S = 10**9
MIN = 60 * S
HERE = (
    Work("uboot", "U-Boot", 727, 60 * S, Basis.HERE),
    Work("kernel", "the kernel", 1_734, 12 * MIN, Basis.HERE),
    Work("card"),
)


@pytest.mark.parametrize(
    ("time_ns", "bound", "text"),
    [
        (0, Bound.ABOUT, "less than a minute"),
        (59 * S, Bound.ABOUT, "less than a minute"),
        (60 * S, Bound.ABOUT, "about 1 min"),
        (8 * MIN + 31 * S, Bound.ABOUT, "about 9 min"),
        (8 * MIN + 31 * S, Bound.AT_LEAST, "at least 8 min"),
        (8 * MIN + 1, Bound.AT_MOST, "at most 9 min"),
        (60 * MIN, Bound.ABOUT, "about 1 h"),
        (64 * MIN, Bound.ABOUT, "about 1 h"),
        (66 * MIN, Bound.ABOUT, "about 1 h 10 min"),
        (66 * MIN, Bound.AT_LEAST, "at least 1 h"),
        (61 * MIN, Bound.AT_MOST, "at most 1 h 10 min"),
        (119 * MIN, Bound.ABOUT, "about 2 h"),
        (20 * S, Bound.AT_LEAST, ""),
        (9 * MIN, Bound.UNKNOWN, ""),
    ],
)
def test_an_estimated_time_is_no_more_exact_than_it_is_known(time_ns: int, bound: Bound, text: str) -> None:
    assert estimated(time_ns, bound) == text


def test_a_passed_time_is_exact() -> None:
    assert [passed(s * S) for s in (5, 65, 3_725)] == ["0:05", "1:05", "1:02:05"]


def test_what_will_be_built_is_said_with_its_time() -> None:
    assert announced(Workload(HERE, 2)) == (
        "will build U-Boot and the kernel: about 2,461 objects, about 13 min on 2 cores"
    )


def test_where_figures_come_from_is_said() -> None:
    first = Work("kernel", "the kernel", 1_734, 12 * MIN, Basis.ELSEWHERE)
    assert announced(Workload((Work("fetch-linux", "linux", fetched=True), first), 1)) == (
        "will build the kernel (first fetches linux): about 1,734 objects, about 12 min on 1 core; a first "
        "build here: the figures are from the reference system on another computer"
    )
    assert "; the kernel for the first time: " in announced(Workload((HERE[0], first), 2))


def test_what_is_not_known_is_said() -> None:
    musl = Work("libc", "musl", basis=Basis.UNKNOWN)
    most = Work("kernel", "the kernel", 1_734, 12 * MIN, Basis.HERE, continued=True)
    assert announced(Workload((musl,), 2)) == "will build musl on 2 cores; the time for musl is unknown"
    assert "at least 13 min on 2 cores; the time for musl" in announced(Workload((musl, *HERE), 2))
    assert announced(Workload((most,), 2)) == (
        "will build the kernel: about 1,734 objects, at most 12 min on 2 cores; the kernel continues an "
        "earlier build and may take much less"
    )


def test_nothing_is_announced_that_nobody_waits_for() -> None:
    assert announced(Workload((Work("rootfs"), Work("card")), 2)) == ""
    assert announced(Workload((), 2)) == ""


def test_the_least_important_goes_when_a_line_is_full() -> None:
    parts = [(1, "52 %"), (2, "1:00"), (0, "about 9 min left")]
    assert fitted(parts, 80) == "52 %, 1:00, about 9 min left"
    assert fitted(parts, 27) == "52 %, about 9 min left"
    assert fitted(parts, 16) == "about 9 min left"


def test_a_log_has_a_line_every_half_minute_with_an_end_in_sight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = [0]
    progress = PlainProgress(lambda: now[0])
    progress.expect(Workload(HERE, 2))
    progress.begin("uboot", "building U-Boot")
    for units in range(1, 728):
        now[0] += 120 * S // 727
        progress.update(units, None, "objects")
    progress.finish("uboot")
    progress.begin("kernel", "building the kernel")
    for units in range(1, 1_735):
        now[0] += 24 * MIN // 1_734
        progress.update(units, None, "objects")
    progress.finish("kernel")
    progress.begin("card", "SD card image")
    progress.finish("card")
    lines = capsys.readouterr().err.splitlines()
    assert lines[:4] == [
        "will build U-Boot and the kernel: about 2,461 objects, about 13 min on 2 cores",
        "step 1 of 3: building U-Boot ...",
        "  step 1 of 3, 182 of about 2,461 objects, 1 %, 0:30, about 18 min left",
        "  step 1 of 3, 364 of about 2,461 objects, 3 %, 1:00, about 20 min left",
    ]
    assert "  done: uboot, 119 s" in lines
    assert "step 2 of 3: building the kernel ..." in lines
    assert lines[-2:] == ["step 3 of 3: SD card image ...", "  done: card, 0 s"]
    told = [line for line in lines if " left" in line]
    assert len(told) == (2 + 24) * 2 - 1 - 2
    assert max(map(len, lines)) <= 80


def test_what_is_promised_comes_true_on_a_computer_half_as_fast(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0]
    progress = PlainProgress(lambda: now[0])
    progress.expect(Workload(HERE, 2))
    for step, units, time_ns in (("uboot", 727, 2 * MIN), ("kernel", 1_734, 24 * MIN)):
        progress.begin(step, step)
        for done in range(1, units + 1):
            now[0] += time_ns // units
            progress.update(done, None, "objects")
        progress.finish(step)
    told = re.findall(r", (\d+):(\d\d), about (\d+) min left", capsys.readouterr().err)
    assert len(told) >= 45
    for minutes, seconds, left in (map(int, found) for found in told[4:]):
        true_min = 26 - minutes - seconds / 60
        assert abs(left - true_min) <= 1.5 + 0.1 * true_min


def test_a_step_of_no_plan_is_told_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0]
    progress = PlainProgress(lambda: now[0])
    progress.begin("fetch-linux", "linux 6.12")
    now[0] = 31 * S
    progress.update(12, 140, "MiB")
    progress.finish("linux")
    assert capsys.readouterr().err.splitlines() == [
        "linux 6.12 ...",
        "  12 of about 140 MiB (8 %), 31 s",
        "  done: linux, 31 s",
    ]


# A build whose compiler does nothing but say so, of steps that are counted as real ones are.
BUILD = """
import sys, time
from pathlib import Path
from bootscope.builder.cache import Cache
from bootscope.builder.outlook import Outlook
from bootscope.builder.step import Runner, Step
from bootscope.cli.progress import progress

def work(context):
    context.run(["sh", "-c", "for i in $(seq 60); do echo '  CC      x.o'; sleep 0.01; done"])

watcher = progress()
cache = Cache(Path(sys.argv[1]))
steps = [
    Step(name, f"building {name}", 1, work, program=name, figures=name) for name in ("uboot", "kernel")
]
ahead = Outlook.of(steps, {}, cache)
watcher.expect(ahead.workload(2))
runner = Runner(cache, watcher)
for step in steps:
    runner.run(step, ahead.ids[step.name], {})
"""


def on_terminal(columns: int, *command: str | Path) -> str:
    """All that a command writes to a terminal so wide."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, env=environment(), stdin=child, stdout=child, stderr=child) as process:
        os.close(child)
        seen = b""
        with contextlib.suppress(OSError):  # how Linux says that nobody writes any more
            while data := os.read(parent, 1 << 16):
                seen += data
        os.close(parent)
    assert process.returncode == 0, seen.decode()
    return seen.decode()


@pytest.mark.parametrize("columns", [80, 40])
def test_a_terminal_has_one_live_line_that_is_never_wrapped(tmp_path: Path, columns: int) -> None:
    (tmp_path / "build.py").write_text(BUILD)
    seen = on_terminal(columns, sys.executable, tmp_path / "build.py", tmp_path / "cache")
    drawn = [line.replace("\x1b[K", "") for line in re.split(r"[\r\n]+", seen)]
    assert max(map(len, drawn)) < columns
    live = [line for line in drawn if line.endswith(" left")]
    assert len(live) >= 2
    assert "step 2 of 2: building kernel ..." in drawn
    if columns == 80:
        assert all(re.match(r"  [█░]{6,16} [\d,]+ of about [\d,]+ objects, \d+ %, 0:\d\d, ", x) for x in live)
    # Each live line is drawn over the one before, and the last of them by what is said after it.
    assert not re.search(r" left(\x1b\[K)?\n", seen)


def test_what_was_built_here_is_what_the_next_estimate_is_made_of(tmp_path: Path) -> None:
    (tmp_path / "build.py").write_text(BUILD)
    for _ in range(2):
        seen = on_terminal(80, sys.executable, tmp_path / "build.py", tmp_path / "cache")
    assert seen == ""  # all is there
    (tmp_path / "build.py").write_text(BUILD.replace('f"building {name}", 1', 'f"building {name}", 2'))
    seen = on_terminal(80, sys.executable, tmp_path / "build.py", tmp_path / "cache")
    assert "will build uboot and kernel: about 120 objects, less than a minute on" in seen
    assert "another computer" not in seen
