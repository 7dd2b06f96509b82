# SPDX-License-Identifier: Apache-2.0
"""Listening on the computer that a board is connected to, over ssh, with nothing installed there.

The listening program (capture/tapper.py and serial_port.py) is sent as the first line of the connection's
standard input, together with its arguments. The command that ssh passes to the remote shell never changes: it
contains nothing that a person or a board has said.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from bootscope.boards.physical import checked_host
from bootscope.capture import serial_port, tapper
from bootscope.core.errors import BoardError, UserError, printable

SSH_VARIABLE = "BOOTSCOPE_SSH"
"""The ssh command, with options, where it is not just `ssh`."""
SILENCE_S = 60.0
"""The program there ends when nobody has asked for its clock for this long: the connection is cut."""
_OPTIONS = (
    "BatchMode=yes",  # nobody can answer a question
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ClearAllForwardings=yes",
    "RemoteCommand=none",  # the user's configuration may have one
    "ControlMaster=no",  # a shared connection would stay when ours ends
)
_DEVICE = re.compile(r"/dev/[A-Za-z0-9._:@,+-]+(?:/[A-Za-z0-9._:@,+-]+)*", re.ASCII)
_OLDEST = (3, 7)
# One line that every shell takes literally: in single quotes, without any of them inside.
_START = (
    "import sys, json; "
    f"sys.version_info < {_OLDEST} and "
    'sys.exit("Python 3.7 or newer is needed there, and it has " + sys.version[:6]); '
    'm = json.loads(open(0, "rb", 0, closefd=False).readline().decode()); '
    'sys.argv = m["argv"]; '
    '[exec(t, sys.modules.setdefault(n, type(sys)(n)).__dict__) for n, t in m["modules"]]; '
    'exec(m["source"])'
)
_SAID_CHARACTERS = 300
_NOT_FOUND, _SSH_FAILED = 127, 255


def is_port(path: str) -> bool:
    """Whether a path that another computer reports can be that of a serial port."""
    return bool(_DEVICE.fullmatch(path)) and ".." not in path


def command(host: str) -> list[str]:
    """The command that connects: ssh without a terminal, and what it starts at the other end. Raises
    UserError."""
    try:
        ssh = shlex.split(os.environ.get(SSH_VARIABLE, "")) or ["ssh"]
    except ValueError as error:
        raise UserError(f"{SSH_VARIABLE} cannot be split into words: {error}") from error
    options = [word for option in _OPTIONS for word in ("-o", option)]
    return [*ssh, "-T", *options, checked_host(host), f"python3 -I -c '{_START}'"]


def first_line(words: Sequence[str]) -> bytes:
    """The first line for the other end: the program, and its arguments (tapper.py)."""
    argv = ["tapper.py", "--silence", str(SILENCE_S), *words]
    modules = [(serial_port.__name__, _source(serial_port))]
    return json.dumps({"argv": argv, "modules": modules, "source": _source(tapper)}).encode() + b"\n"


def _source(module: ModuleType) -> str:
    return Path(str(module.__file__)).read_text(encoding="utf-8")


def refused(host: str, status: int | None, said: str) -> BoardError:
    """Why nothing is heard from another computer, and what to do.

    `status` is that of ssh, None while it runs; `said` is the output of ssh and of the other end.
    """
    last = " / ".join(line.strip() for line in said.splitlines() if line.strip())[-_SAID_CHARACTERS:]
    told = f": {printable(last)}" if last else ""
    here = f"ssh -o BatchMode=yes {printable(host)}"
    message, hint = f"listening on {host} ended with status {status}", f"does '{here} python3 -V' work?"
    if status == _SSH_FAILED:
        message = f"{host} cannot be reached by ssh"
        hint = f"'{here} true' must work without a prompt: with a key (ssh-copy-id) and a known host"
    elif status == _NOT_FOUND:
        message, hint = f"there is no python3 on {host}", f"install it there, then '{here} python3 -V' works"
    elif status is None:
        message, hint = f"{host} does not answer", f"does '{here} python3 -V' answer at once?"
    return BoardError(message + told, hint=hint)
