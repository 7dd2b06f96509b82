# SPDX-License-Identifier: Apache-2.0
"""The one door to child processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bootscope.core.errors import ToolError
from bootscope.core.process import build_environment, end, environment, run, search_path, spawn

from . import builders

WAIT_S = 5.0


@pytest.fixture
def ended_later() -> Iterator[Callable[[int], None]]:
    """Ends processes by their ids when the test is over, whatever became of it."""
    pids: list[int] = []
    yield pids.append
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], bool]) -> bool:
    """Whether it became true in time."""
    limit = time.monotonic() + WAIT_S
    while not true() and time.monotonic() < limit:
        time.sleep(0.01)
    return true()


def number_in(path: Path) -> int:
    """The process id that a child writes into a file, waited for."""
    assert wait_until(lambda: path.exists() and path.read_text().endswith("\n")), f"no {path}"
    return int(path.read_text())


def sh(script: str, *arguments: str | Path) -> list[str | Path]:
    return ["sh", "-c", script, "sh", *arguments]


def test_output_and_errors_are_captured_together() -> None:
    done = run(sh("echo one; echo two >&2; printf three"))
    assert (done.status, done.output) == (0, "one\ntwo\nthree")


def test_bytes_that_are_no_text_do_not_matter() -> None:
    assert run(sh(r"printf '\377\n'")).output == "�"


def test_a_child_reads_nothing_from_our_terminal() -> None:
    assert run(["cat"]).output == ""


def test_the_log_gets_the_command_and_its_output_and_keeps_what_it_had(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    run(["echo", "first"], log=log)
    run(["echo", "two words"], log=log)
    assert log.read_text() == "$ echo first\nfirst\n$ echo 'two words'\ntwo words\n"


def test_every_line_is_seen_as_it_comes() -> None:
    seen: list[tuple[str, float]] = []
    run(sh("echo a; sleep 0.3; echo b"), on_line=lambda line: seen.append((line, time.monotonic())))
    assert [line for line, _ in seen] == ["a", "b"]
    assert seen[1][1] - seen[0][1] > 0.2


def test_it_runs_where_and_with_what_it_is_told(tmp_path: Path) -> None:
    done = run(sh("pwd; echo $LC_ALL $TZ $MORE"), cwd=tmp_path, env=environment({"MORE": "more"}))
    assert done.output == f"{tmp_path.resolve()}\nC UTC more"


def test_the_flags_of_a_make_around_us_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKEFLAGS", "-j --jobserver-auth=3,4")
    monkeypatch.setenv("MAKELEVEL", "1")
    assert not {"MAKEFLAGS", "MAKELEVEL"} & set(environment())


def test_a_failure_shows_the_last_lines_and_where_the_rest_is(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with pytest.raises(ToolError) as caught:
        run(sh("seq 1 20; echo; exit 7"), log=log)
    assert caught.value.message.splitlines() == [
        "sh failed (status 7)",
        *(f"  {number}" for number in range(13, 21)),
    ]
    assert caught.value.hint == f"full log: {log}"
    assert "12\n" in log.read_text()


def test_a_child_that_a_signal_ended_is_said_to_be() -> None:
    with pytest.raises(ToolError, match=r"sh failed \(signal 9\)"):
        run(sh("kill -9 $$"))


def test_a_failure_can_be_looked_at_instead() -> None:
    assert run(["false"], check=False).status == 1


def test_a_program_that_is_not_there_is_said_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot run no-such-program: not found") as caught:
        run(["no-such-program"])
    assert "doctor" in (caught.value.hint or "")
    with pytest.raises(ToolError, match=r"cannot run .*: Permission denied"):
        run([tmp_path])


def test_a_chatty_child_that_takes_too_long_is_ended_with_its_group(
    tmp_path: Path, ended_later: Callable[[int], None]
) -> None:
    begun = time.monotonic()
    with pytest.raises(ToolError, match="sh took too long"):
        run(
            sh("sleep 60 & echo $! > $1; while :; do echo x; sleep 0.05; done", tmp_path / "pid"),
            timeout_s=0.5,
        )
    sleeper = number_in(tmp_path / "pid")
    ended_later(sleeper)
    assert time.monotonic() - begun < WAIT_S
    assert wait_until(lambda: not is_running(sleeper))


def test_a_silent_child_that_takes_too_long_is_ended() -> None:
    begun = time.monotonic()
    with pytest.raises(ToolError, match="sleep took too long"):
        run(["sleep", "2"], timeout_s=0.3)
    assert time.monotonic() - begun < 1.5


def test_a_child_that_closes_its_output_and_goes_on_is_ended() -> None:
    with pytest.raises(ToolError, match="sh took too long"):
        run(sh("exec > /dev/null 2>&1; sleep 2"), timeout_s=0.3)


def test_an_observer_that_fails_ends_the_child(tmp_path: Path) -> None:
    def fail(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(sh("echo $$ > $1; echo now; exec sleep 60", tmp_path / "pid"), on_line=fail)
    assert not is_running(number_in(tmp_path / "pid"))


def test_ending_ends_also_what_does_not_listen(tmp_path: Path) -> None:
    child = spawn(sh("trap '' TERM; echo $$ > $1; while :; do sleep 0.1; done", tmp_path / "pid"))
    number_in(tmp_path / "pid")
    end(child, grace_s=0.3)
    assert child.returncode == -signal.SIGKILL
    assert child.stdout
    child.stdout.close()


def test_ending_ends_a_grandchild_that_does_not_listen(
    tmp_path: Path, ended_later: Callable[[int], None]
) -> None:
    """The leader goes at the first signal; what it started must not stay behind."""
    deaf = "trap '' TERM; echo $$ > $1; while :; do sleep 0.1; done"
    child = spawn(sh('sh -c "$2" sh $1 & wait', tmp_path / "pid", deaf), stdout=subprocess.DEVNULL)
    grandchild = number_in(tmp_path / "pid")
    ended_later(grandchild)
    end(child, grace_s=0.3)
    assert wait_until(lambda: not is_running(grandchild))


def test_ending_what_has_ended_is_harmless() -> None:
    child = spawn(["true"], stdout=subprocess.DEVNULL)
    child.wait()
    end(child)
    assert child.returncode == 0


def test_a_child_dies_with_its_killed_parent(tmp_path: Path, ended_later: Callable[[int], None]) -> None:
    script = (
        "import sys; from pathlib import Path; from bootscope.core.process import run\n"
        "run(['sh', '-c', 'echo $$ > $1; exec sleep 60', 'sh', Path(sys.argv[1])])"
    )
    parent = subprocess.Popen(builders.python(script, tmp_path / "pid"), env=builders.environment())
    child = number_in(tmp_path / "pid")
    ended_later(child)
    assert is_running(child)
    parent.kill()
    parent.wait()
    assert wait_until(lambda: not is_running(child))


def test_a_build_sees_nothing_that_could_change_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KCFLAGS", "CFLAGS", "ARCH", "LOCALVERSION", "KBUILD_BUILD_USER", "CCACHE_BASEDIR"):
        monkeypatch.setenv(name, "x")
    env = build_environment({"SOURCE_DATE_EPOCH": "1"})
    assert "x" not in env.values()
    assert env["SOURCE_DATE_EPOCH"] == "1"


def test_programs_are_also_looked_for_where_a_user_has_no_path_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert search_path().split(":") == ["/usr/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"]


def test_the_time_on_cpus_is_that_of_all_it_started() -> None:
    """Nearly: what passed, at the most, as it uses one CPU at a time; waiting does not count."""
    begun_ns = time.monotonic_ns()
    done = run(["sh", "-c", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; sleep 0.2"])
    passed_ns = time.monotonic_ns() - begun_ns
    assert 20_000_000 <= done.cpu_ns <= passed_ns - 150_000_000
