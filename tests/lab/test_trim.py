# SPDX-License-Identifier: Apache-2.0
"""Trimming for real, where it is cheap: BusyBox without what never ran; and what counting costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.arch.arm import ARM
from bootscope.boards.profile import load_board
from bootscope.capture import usage
from bootscope.capture.record import STREAM, USAGE
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
TICK_NS = load_board("cubieboard").tick_ns


def boot_of(bootscope: Bootscope, run_id: str) -> Path:
    return bootscope.store / "runs" / run_id / "boots" / "001"


def kernel_phase(bootscope: Bootscope, run_id: str) -> dict[str, Any]:
    phases = bootscope.json("show", run_id)["phases"]
    return next(phase for phase in phases if phase["name"] == "kernel")


def test_busybox_goes_without_what_never_ran(bootscope: Bootscope, tmp_path: Path) -> None:
    """Counting leaves the recording as it is, to the byte; what was counted is what the CPU did; BusyBox
    becomes a third of its size, and init's programs say what they said."""
    arguments = ("trim", "stock", "--only", "busybox", "--sure")
    found = bootscope.json(*arguments, "-o", tmp_path / "out")
    assert found["ended"] == "nothing is left to try"
    assert (found["attempts"], found["programs_say"]) == (1, [])
    image = found["images"]["busybox"]
    assert image["after_bytes"] * 2 < image["before_bytes"]
    off = found["trees"]["busybox"]["off"]
    assert {"VI", "FDISK", "HTTPD"} <= set(off)
    assert not {"ASH", "INIT", "MOUNT", "MDEV"} & set(off)
    fragment = (tmp_path / "out" / "busybox.config").read_text()
    assert "# CONFIG_VI is not set" in fragment

    plain = bootscope.json("record", "stock", "--until", "app-ready")
    assert bootscope.stream(plain) == (boot_of(bootscope, found["base"]) / STREAM).read_bytes()

    counted = usage.read(boot_of(bootscope, found["base"]) / USAGE)
    kernel = [block for block in counted.blocks if block.address >= ARM.kernel.first_address]
    executed_ns = sum(block.executed(usage.KERNEL) for block in kernel) * TICK_NS
    assert executed_ns == pytest.approx(kernel_phase(bootscope, found["base"])["cpu_ns"], rel=0.02)
    assert counted.lost == 0

    # Asked again, nothing is built or booted, and the same comes out.
    again = bootscope.json(*arguments)
    assert (again["run_id"], again["trees"]) == (found["run_id"], found["trees"])
