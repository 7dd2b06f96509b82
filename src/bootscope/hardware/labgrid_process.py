# SPDX-License-Identifier: Apache-2.0
"""The process of labgrid's own Python that holds a place (labgrid_worker.py)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bootscope.core import process
from bootscope.core.errors import ToolError, printable
from bootscope.hardware import labgrid_worker

CLIENT = "labgrid-client"
CLIENT_VARIABLE = "BOOTSCOPE_LABGRID_CLIENT"
ANSWER_S = 90.0
_GOODBYE_S = 15.0
# The script's folder is not put on the path: its modules are not labgrid's.
_START = "import sys; sys.path.pop(0); import runpy; runpy.run_path(sys.argv[1], run_name='__main__')"
_SHEBANG = re.compile(rb"#! *(\S+)(?: +(\S+))?")
_LONG_SHEBANG = re.compile(rb"'''exec' \"?([^\"\n]+?)\"? \"\$0\" \"\$@\"")


def labgrid_python(client: str = "") -> str:
    """The Python that runs labgrid: the one in the first line of its command.

    `client` is the path of labgrid-client; by default it is searched for. Raises ToolError.
    """
    wanted = client or os.environ.get(CLIENT_VARIABLE, "")
    beside = Path(sys.executable).with_name(CLIENT)
    found = shutil.which(wanted or CLIENT) or (str(beside) if not wanted and beside.exists() else None)
    if not found:
        raise ToolError(
            f"{printable(wanted or CLIENT)} is not there",
            hint="pip install 'bootscope[labgrid]', or give its path with --labgrid-client",
        )
    try:
        head = Path(found).read_bytes()[:4096]
    except OSError as error:
        raise ToolError(f"{printable(found)} cannot be read: {error.strerror}") from error
    match = _LONG_SHEBANG.search(head) or _SHEBANG.match(head)
    words = [os.fsdecode(word) for word in match.groups() if word] if match else []
    if words[:1] == ["/usr/bin/env"]:
        words = [shutil.which(words[-1]) or ""]
    if not words or "python" not in Path(words[0]).name:
        raise ToolError(
            f"{printable(found)} is not labgrid's own script",
            hint="name the one in labgrid's own folder: --labgrid-client VENV/bin/labgrid-client",
        )
    return words[0]


class Gone(Exception):
    """The process that holds the place has ended, or does not answer; the message is its last output."""


class WorkerProcess:
    """The process that holds a place."""

    def __init__(self, python: str, coordinator: str) -> None:
        env = process.environment({"LG_COORDINATOR": coordinator} if coordinator else None)
        env.pop("PYTHONPATH", None)
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it is read until the process has ended
        self._rest = b""
        self._child = process.spawn(
            [python, "-c", _START, labgrid_worker.__file__],
            env=env,
            stdin=subprocess.PIPE,
            stderr=self._said.fileno(),
            outlives=True,
        )

    def ask(self, do: str, answer_s: float = ANSWER_S, **facts: object) -> dict[str, Any]:
        """Sends a command and returns its answer. Raises Gone."""
        assert self._child.stdin
        try:
            self._child.stdin.write(json.dumps({"do": do, **facts}).encode() + b"\n")
            self._child.stdin.flush()
            answer = json.loads(self._line(time.monotonic() + answer_s))
        except (BrokenPipeError, ValueError) as error:
            raise Gone(self._last_words()) from error
        return dict(answer)

    def _line(self, until: float) -> bytes:
        assert self._child.stdout
        while b"\n" not in self._rest:
            left = max(0.0, until - time.monotonic())
            if not select.select([self._child.stdout], [], [], left)[0]:
                raise Gone("labgrid does not answer")
            data = os.read(self._child.stdout.fileno(), 65536)
            if not data:
                raise Gone(self._last_words())
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return printable(lines[-1]) if lines else "labgrid has ended"

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._child.poll() is not None

    def close(self) -> bool:
        """Lets it release the place and end; False when it is still trying to."""
        assert self._child.stdin
        with contextlib.suppress(OSError):
            self._child.stdin.close()
        try:
            self._child.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Ends it without releasing anything."""
        self._child.kill()
        self._child.wait()
