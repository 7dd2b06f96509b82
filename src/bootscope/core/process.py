# SPDX-License-Identifier: Apache-2.0
"""All child processes are started here.

Every child gets its own process group (so that it can be ended with all its descendants), dies with us, reads
nothing from our terminal, and has its output either captured or written to a log file.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bootscope.core import interrupts
from bootscope.core.errors import CommandError, ToolError

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


_FIXED = {"LC_ALL": "C", "LANGUAGE": "C", "TZ": "UTC"}
_HARMLESS = ("HOME", "TMPDIR", "USER", "LOGNAME", "http_proxy", "https_proxy", "no_proxy")


@dataclass(frozen=True)
class Finished:
    """A child that has ended: its exit status, its output if captured, and the CPU time of it and of all
    children that it waited for."""

    status: int
    output: str
    cpu_ns: int = 0


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for children: ours, in the C locale and UTC, so that output can be parsed."""
    env = dict(os.environ)
    # A parent 'make' must not pass its job server and flags on to the builds we start.
    for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
        env.pop(name, None)
    return {**env, **_FIXED, "PATH": search_path(), **(extra or {})}


def build_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment for builds: nothing of ours that could change the result (a sourced SDK sets compilers
    and flags), only what programs need to run at all."""
    kept = {name: value for name, value in os.environ.items() if name in _HARMLESS}
    return {**kept, **_FIXED, "PATH": search_path(), **extra}


def search_path() -> str:
    """Where programs are searched: also where Debian keeps mkfs, which is not in a user's PATH."""
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([*path, *(p for p in ("/usr/local/sbin", "/usr/sbin", "/sbin") if p not in path)])


def spawn(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.STDOUT,
    outlives: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts a child and returns at once; `env` is its whole environment (default: :func:`environment`).

    One that `outlives` us ends by itself when its standard input does. Raises ToolError when it cannot be
    started.
    """
    if cwd and not cwd.is_dir():
        raise ToolError(f"cannot run {command[0]} in {cwd}: no such folder")
    child = None
    try:
        with interrupts.holding():
            child = subprocess.Popen(
                [os.fspath(part) for part in command],
                cwd=cwd,
                env=environment() if env is None else env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                preexec_fn=None if outlives else _die_with_parent,
            )
    except KeyboardInterrupt:
        if child:
            end(child)
        raise
    except FileNotFoundError as error:
        raise ToolError(
            f"cannot run {command[0]}: not found", hint="'bootscope doctor' shows how to install it"
        ) from error
    except OSError as error:
        raise ToolError(f"cannot run {command[0]}: {error.strerror}") from error
    return child


def end(child: subprocess.Popen[bytes], grace_s: float = 2.0) -> None:
    """Ends a child and everything in its process group; harmless when it has ended already."""
    if child.poll() is not None:
        return  # its id may have been reused by now
    # The second signal is for processes that ignored the first, even if the child itself did not.
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace_s)


def first_bytes(command: Sequence[str | Path], most: int) -> bytes:
    """At most `most` bytes of a command's output; then it is ended. Its error output is dropped."""
    child = spawn(command, stderr=subprocess.DEVNULL)
    assert child.stdout
    try:
        return child.stdout.read(most)
    finally:
        end(child)
        child.wait()
        child.stdout.close()


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    timeout_s: float = 7200,
    check: bool = True,
) -> Finished:
    """Runs a child to its end and returns its status and output (stdout and stderr together).

    `env` is its whole environment (default: :func:`environment`).

    With `log` the output is also appended to that file; `on_line` sees every line as it comes.
    Raises ToolError when it cannot be started, takes longer than `timeout_s` or, with `check`,
    ends with a status other than 0; the error shows the last lines.
    """
    child = spawn(command, cwd=cwd, env=env)
    late = threading.Event()
    watchdog = threading.Timer(timeout_s, _end_late, (child, late))
    watchdog.daemon = True  # after an interrupt at its start we must not wait for its end
    assert child.stdout
    try:
        watchdog.start()
        lines = _read(child.stdout, command, log, on_line)
        cpu_ns = _cpu_ns(child)
        status = child.wait()
    finally:
        watchdog.cancel()
        if watchdog.is_alive():
            watchdog.join()
        if child.poll() is None:
            end(child)
        child.stdout.close()
    if late.is_set():
        raise ToolError(f"{command[0]} took too long and was stopped")
    if check and status != 0:
        hint = f"full log: {log}" if log else None
        raise CommandError(_failure(command, status, lines), status, hint=hint)
    return Finished(status, "\n".join(lines), cpu_ns)


def _read(
    output: IO[bytes], command: Sequence[str | Path], log: Path | None, on_line: Callable[[str], None] | None
) -> list[str]:
    """The lines of a child's output, logged and passed on as they come."""
    lines: list[str] = []
    with log.open("ab") if log else contextlib.nullcontext() as sink:
        if sink:
            sink.write(f"$ {shlex.join(os.fspath(c) for c in command)}\n".encode())
        for raw in output:
            if sink:
                sink.write(raw)
            lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
            if on_line:
                on_line(lines[-1])
    return lines


def _cpu_ns(child: subprocess.Popen[bytes]) -> int:
    """Waits for a child's end and returns its CPU time, read just before that can no longer be queried."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        # proc(5): utime, stime, cutime and cstime are fields 14 to 17; the first two are removed here.
        return sum(map(int, fields[11:15])) * 10**9 // os.sysconf("SC_CLK_TCK")
    return 0


def _end_late(child: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    end(child)


def _failure(command: Sequence[str | Path], status: int, lines: list[str]) -> str:
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return "\n  ".join([f"{Path(command[0]).name} failed ({how})", *_telling(lines)])


_TOLD, _LOOKED_AT = 8, 400
_COMPLAINT = re.compile(
    r"\berror\b|undefined reference|\*\*\*|\bcannot |No space left|\bKilled\b", re.IGNORECASE
)
_ECHO = re.compile(r"make(\[\d+\])?: \*\*\* .*\bError \d+$")


def _telling(lines: Sequence[str]) -> list[str]:
    """The lines that say what went wrong. Several jobs write at once, so they need not be the last."""
    tail = [line for line in lines if line.strip()][-_LOOKED_AT:]
    # That an outer make failed as well is not informative.
    told = [line for line in tail if _COMPLAINT.search(line) and not _ECHO.match(line)]
    return (told or tail)[-_TOLD:]
