# SPDX-License-Identifier: Apache-2.0
"""Another computer's clock beside ours: questions and answers, captures made there, what is sent there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bootscope.boards.physical import checked_host, real_board
from bootscope.capture import dating, serial_port, tap, tapper
from bootscope.capture.offset import Answer, offset_of
from bootscope.core.errors import UserError
from bootscope.hardware import remote_capture
from bootscope.readers.base import Options, Source
from bootscope.readers.formats.tap import LISTENED, READERS

MS = 1_000_000
S = 1_000 * MS
CLOCK_NS = 1_030_000
"""The error of the captures below: half of a trip, and what crystals may do in 0.3 s."""


@given(
    st.integers(-(10**15), 10**15),
    st.integers(-200, 200),
    st.lists(st.tuples(st.integers(0, 5 * MS), st.integers(0, 5 * MS)), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 5 * MS), st.integers(0, 5 * MS)), max_size=12),
    st.integers(2, 120),
)  # fmt: skip
@example(0, 54, [(55556, 0)], [], 2)
def test_the_truth_is_within_the_error(
    apart_ns: int,
    fast_ppm: int,
    before: list[tuple[int, int]],
    after: list[tuple[int, int]],
    boot_s: int,
) -> None:
    """However the ways there and back were, and the clocks drifted: at each moment between the questions."""

    def there(ours_ns: int) -> int:
        return 10**16 + apart_ns + ours_ns + ours_ns * fast_ppm // 1_000_000

    answers, now = [], 10 * S
    for group in (before, after):
        for way, back in group:
            answers.append(Answer(now, there(now + way), now + way + back))
            now += way + back + 20 * MS
        now += boot_s * S
    found = offset_of(answers)
    assert found
    # Two crystals are 100 ppm apart at most.
    slack = 300 * MS * max(0, abs(fast_ppm) - 100) // 1_000_000 + 2
    # What they drift while a question is under way is left out.
    slack += max(a.heard_ns - a.asked_ns for a in answers) * abs(fast_ppm) // 1_000_000
    for ours in range(answers[0].asked_ns, answers[-1].heard_ns, S):
        assert abs(there(ours) + found.offset_ns - ours) <= found.error_ns + slack


def test_half_of_the_shortest_trip_is_the_error_where_nothing_drifts() -> None:
    slow, quick = Answer(0, 1000, 9000), Answer(9_000, 14_100, 9_400)
    found = offset_of([slow, quick])
    assert found
    assert (found.offset_ns, found.error_ns, found.shortest_ns) == (-4900, 200, 400)
    # What comes long after the last question is less sure.
    later = offset_of([slow, quick], 14_100 + 10 * S)
    assert later
    assert later.error_ns == 200 + MS
    assert offset_of([]) is None


# ---- captures ----


def far(*reads: tuple[int, bytes], trip_ns: int = 2 * MS, ahead_ns: int = 1000 * S, power: str = "") -> bytes:
    """A capture of a computer whose clock is ahead of ours; the reads are at our moments."""
    records = [tap.MAGIC_FAR, tap.event_record(1, "tapped", host="lab1")]
    records.append(tap.event_record(ahead_ns + 1, "open", rate=0, source=["serial", "/dev/x", "0"]))
    for asked in (MS, 30 * S):
        there = ahead_ns + asked + trip_ns // 2
        records.append(tap.event_record(there, "clock", asked_ns=asked, heard_ns=asked + trip_ns))
    if power:
        call, back = map(int, power.split())
        records.append(tap.event_record(call * MS, "power", what="on", at="call"))
        records.append(tap.event_record(back * MS, "power", what="on", at="return"))
    return b"".join(records) + b"".join(tap.record(tapper.BYTES, ahead_ns + at, data) for at, data in reads)


def test_moments_of_a_far_capture_are_ours() -> None:
    found = tap.read(far((5 * S, b"one\n"), (6 * S, b"two\n"), power="4000 4010"))
    assert list(found.at_ns) == [5 * S, 6 * S]
    assert found.of("power")[0].at_ns == 4 * S  # it was ours all the time
    assert found.of("open")[0].at_ns == 1
    assert (found.host, found.clock_error_ns) == ("lab1", CLOCK_NS)


def test_what_is_not_known_of_the_clock_is_in_the_error_of_time_zero() -> None:
    zero_ns, error_ns, words, _ = dating.zero_of(tap.read(far((5 * S, b"x"), power="4000 4010")))
    assert (zero_ns, error_ns) == (4005 * MS, 5 * MS + CLOCK_NS)
    assert "known to ±0.006030 s" in words
    # Its first byte may be a little later than it seems: the call is not ruled out by it.
    zero_ns, error_ns, *_ = dating.zero_of(tap.read(far((4000 * MS - MS // 2, b"x"), power="4000 4010")))
    assert (zero_ns, error_ns) == (4000 * MS + 265_000, 265_000 + CLOCK_NS)
    # From the first byte on, the other clock alone counts.
    assert dating.zero_of(tap.read(far((5 * S, b"x"))))[:2] == (5 * S, 0)


def test_a_far_capture_tells_who_listened() -> None:
    reading = READERS[0].read(Source("console.tap", far((5 * S, b"x\n"))), Options())
    words = reading.boots[0].facts[LISTENED]
    assert words.startswith("on lab1, whose clock is known to ±1.030 ms (2 round trips, ")


@given(st.dictionaries(st.sampled_from(["asked_ns", "heard_ns"]), st.one_of(st.integers(), st.text())))
def test_damaged_answers_are_left_out(facts: dict[str, object]) -> None:
    data = far((5 * S, b"x")) + tap.event_record(7, "clock", **facts)
    assert bytes(tap.read(data).data) == b"x"


# ---- what is sent to another computer ----


@pytest.mark.parametrize("module", [tapper, serial_port])
def test_the_program_is_one_of_python_3_7(module: ModuleType) -> None:
    """Its syntax; and of the library nothing that came later and is likely to be used here."""
    tree = ast.parse(Path(str(module.__file__)).read_text(), feature_version=(3, 7))
    newer = {"removeprefix", "removesuffix", "missing_ok", "waitstatus_to_exitcode", "pidfd_open", "pairwise"}
    assert not {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & newer
    zips = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "zip"]
    assert not [word for call in zips for word in call.keywords]
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported <= {*sys.stdlib_module_names, serial_port.__name__}


def start(line: bytes, version: str = "") -> subprocess.CompletedProcess[bytes]:
    """Runs what the shell there is told, with its own idea of Python's version."""
    code = remote_capture.command("lab1")[-1].removeprefix("python3 -I -c '").removesuffix("'")
    assert "'" not in code
    if version:
        code = f"import sys; sys.version_info = {version}; {code}"
    command = [sys.executable, "-I", "-c", code]
    return subprocess.run(command, input=line, capture_output=True, timeout=60)


def test_nothing_that_was_said_is_in_the_command() -> None:
    words = ["serial", "/dev/tty'; touch evil", "0"]
    assert remote_capture.command("lab1") == remote_capture.command("lab1")
    line = remote_capture.first_line(words)
    assert line.count(b"\n") == 1
    assert json.loads(line)["argv"][-3:] == words
    assert "evil" not in " ".join(remote_capture.command("lab1"))


def test_an_old_python_is_told() -> None:
    done = start(remote_capture.first_line(["file", "/dev/null"]), "(3, 6, 1)")
    assert done.returncode == 1
    error = remote_capture.refused("lab1", done.returncode, done.stderr.decode())
    assert "Python 3.7 or newer is needed there" in error.message
    assert start(remote_capture.first_line(["file", "/dev/null"]), "(3, 7, 0)").stdout.startswith(tap.MAGIC)


def test_a_listener_that_nobody_asks_any_more_ends(tmp_path: Path) -> None:
    """A connection that was cut does not end its input."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    keeps = os.open(pipe, os.O_RDWR)
    words = tap.listening(["--silence", "1.5", "file", str(pipe)])
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin
        assert child.stdout
        child.stdin.write(b"??")
        child.stdin.flush()
        os.write(keeps, b"a board")
        data = child.stdout.read()  # until it ends by itself
        assert child.wait(10) == 0
    os.close(keeps)
    found = tap.read(data)
    assert bytes(found.data) == b"a board"
    assert len(found.of("clock")) == 2
    assert found.of("closed")


@pytest.mark.parametrize("name", ["-v", "-oProxyCommand=x", "a b", "a;b", "a@-b", "@a", "a@b@c", "a\nb", "ä"])
def test_what_is_no_host_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        checked_host(name)
    with pytest.raises(UserError):
        real_board("serial:/dev/ttyUSB0", None, name)


@pytest.mark.parametrize("name", ["lab1", "user@lab1", "root@10.0.0.7", "fe80::1%eth0", "::1", "a-b.example"])
def test_hosts_as_ssh_takes_them(name: str) -> None:
    assert real_board("serial:/dev/ttyUSB0", None, name).console.tap_host == name


@pytest.mark.parametrize(("path", "good"), [
    ("/dev/ttyUSB0", True), ("/dev/serial/by-id/usb-FTDI_FT232R-if00-port0", True), ("/dev/pts/3", True),
    ("/etc/shadow", False), ("/dev/../etc/shadow", False), ("", False), ("/dev/a b", False),
])  # fmt: skip
def test_what_a_farm_may_call_a_port(path: str, good: bool) -> None:
    assert remote_capture.is_port(path) == good


@pytest.mark.parametrize(("console", "wrong"), [
    ('port = "/dev/x"\ntap_host = "auto"', True), ('port = "/dev/x"\ntap_host = "-v"', True),
    ('kind = "labgrid"\nport = "desk"\ntap_host = "auto"', False), ('port = "/dev/x"\ntap_host = "l"', False),
])  # fmt: skip
def test_board_files(tmp_path: Path, console: str, wrong: bool) -> None:
    file = tmp_path / "board.toml"
    file.write_text(f"[console]\n{console}\n")
    if wrong:
        with pytest.raises(UserError, match="tap_host"):
            real_board(str(file))
    else:
        assert real_board(str(file)).console.tap_host
