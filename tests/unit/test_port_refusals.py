# SPDX-License-Identifier: Apache-2.0
"""What is said of a serial port that may not be opened, or is not there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bootscope.hardware.listener import refused


@pytest.mark.parametrize(
    ("mode", "hint"),
    [
        (0o660, "sudo usermod -aG {group} $USER, then log in again"),
        (0o600, "its permissions (600) do not let its group use it: sudo chmod a+rw {port}"),
        (0o640, "its permissions (640) do not let its group use it: sudo chmod a+rw {port}"),
    ],
)
def test_the_hint_gives_access(tmp_path: Path, mode: int, hint: str) -> None:
    port = tmp_path / "ttyUSB0"
    port.touch()
    port.chmod(mode)
    error = refused(("serial", str(port)), errno.EACCES, os.strerror(errno.EACCES))
    assert error.message == f"no permission to open {port}"
    assert hint.format(group=port.group(), port=port) in str(error.hint)


def test_a_port_that_is_not_there() -> None:
    error = refused(("serial", "/dev/ttyUSB77"), errno.ENOENT, os.strerror(errno.ENOENT))
    assert error.message == "there is no port /dev/ttyUSB77"
    there = list(Path("/dev").glob("ttyUSB*")) + list(Path("/dev").glob("ttyACM*"))
    assert there or str(error.hint).endswith("; is the adapter plugged in?")
