# SPDX-License-Identifier: Apache-2.0
"""Whether a system still does what it must, beyond its first picture, by a check that the user supplies."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bootscope.core.errors import UserError, printable
from bootscope.core.process import environment

_CHECK_S = 3600
"""Host time for a check that the user supplies."""


def refused(command: str, words: Sequence[str], run: Path, names: Mapping[str, str]) -> tuple[str, ...]:
    """The complaint of a user's command about a recorded boot; empty when it ends with status 0.

    Its `words` are run without a shell, with BOOTSCOPE_RUN (the folder of the recording), BOOTSCOPE_RUN_ID
    and `names` in the environment. Raises UserError when it cannot be started.
    """
    given = {"BOOTSCOPE_RUN": str(run), "BOOTSCOPE_RUN_ID": run.name, **names}
    try:
        done = subprocess.run(
            words,
            env=environment(given),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_CHECK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return (f"the check {printable(command)} did not end within an hour",)
    except OSError as error:
        raise UserError(f"the check {printable(command)} cannot be started: {error.strerror}") from error
    if not done.returncode:
        return ()
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    said = f": {printable(lines[-1])}" if lines else ""
    return (f"the check {printable(command)} ended with status {done.returncode}{said}",)


def words_of(command: str) -> list[str]:
    """The words of a check as it was given. Raises UserError when it is not valid."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"the check {printable(command)} is not a command: {error}") from error
    if not words:
        raise UserError("the check is empty", hint="for example --check './smoke-test --quick'")
    return words
