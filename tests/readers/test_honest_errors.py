# SPDX-License-Identifier: Apache-2.0
"""How far off a time may be: what a computer beside the board adds, and what a coarse clock must not."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.command import environment

_FIRST = "Linux version 6.6.1 (a@b) (gcc 13) #1 SMP"
_LAST = "Run /sbin/init as init process"


def _kernel(count: int = 40) -> list[tuple[int, str]]:
    """Lines of a kernel with their stamps in microseconds."""
    dice = random.Random(1)
    lines, now_us = [(0, _FIRST)], 0
    for number in range(count):
        now_us += dice.randint(10_000, 120_000)
        lines.append((now_us, f"driver{number}: probed device number {number}"))
    return [*lines, (now_us + 50_000, _LAST)]


def _stamped(us: int) -> str:
    return f"{us // 10**6:5d}.{us % 10**6:06d}"


def _shown(folder: Path, **files: str) -> Any:
    """`bootscope show --json` of the files, imported together."""
    paths = []
    for name, text in files.items():
        paths.append(folder / f"{name}.log")
        paths[-1].write_text(text)
    env = environment(folder / "store")
    command = [sys.executable, "-m", "bootscope"]
    subprocess.run([*command, "import", *map(str, paths)], env=env, check=True, capture_output=True)
    done = subprocess.run([*command, "show", "last", "--json"], env=env, check=True, capture_output=True)
    return json.loads(done.stdout)


def _host(lines: list[tuple[int, str]], delays_us: list[int], kernel_stamps: bool) -> str:
    """The lines as grabserial writes them, each late by its delay."""
    rows = []
    for (us, words), delay_us in zip(lines, delays_us, strict=True):
        own = f"[{_stamped(us)}] " if kernel_stamps else ""
        rows.append(f"[{(us + 1_500_000 + delay_us) / 1e6:.6f} 0.000001] {own}{words}\n")
    return "".join(["[0.000001 0.000001] U-Boot 2024.01 (Jan 01 2024 - 00:00:00 +0000)\n", *rows])


def test_a_journal_of_whole_seconds_does_not_blunt_a_dmesg(tmp_path: Path) -> None:
    dmesg = "".join(f"[{_stamped(us)}] {words}\n" for us, words in _kernel())
    journal = "".join(
        f"Nov 10 12:00:{10 + (us + 1_300_000) // 10**6:02d} board kernel: {words}\n"
        for us, words in _kernel()
    )
    journal += "Nov 10 12:00:21 board systemd[1]: Reached target multi-user.target - Multi-User System.\n"
    shown = _shown(tmp_path, dmesg=dmesg, journal=journal)
    assert "kernel clock" in shown["clock"]
    assert shown["milestone_errors_ns"]["init"] == 1_000


def test_the_computers_delay_is_in_the_error_of_every_line(tmp_path: Path) -> None:
    lines = _kernel()
    dice = random.Random(2)
    delays_us = [dice.randint(0, 3_000) for _ in lines]
    shown = _shown(tmp_path, host=_host(lines, delays_us, kernel_stamps=True))
    assert 2_000_000 < shown["milestone_errors_ns"]["bootloader"] < 4_000_000
    assert shown["milestone_errors_or_more"] == []


def test_where_nothing_tells_the_delay_the_resolution_is_the_least_error(tmp_path: Path) -> None:
    lines = _kernel()
    shown = _shown(tmp_path, host=_host(lines, [0] * len(lines), kernel_stamps=False))
    assert shown["milestone_errors_ns"]["bootloader"] == 1_000
    assert {"bootloader", "kernel-entry"} <= set(shown["milestone_errors_or_more"])
