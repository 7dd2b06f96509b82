# SPDX-License-Identifier: Apache-2.0
"""The list of other people's boot logs, and the tool that compares bootscope with it."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .builders import ROOT

TOOLS = ROOT / "tools"
LOGS: list[dict[str, Any]] = tomllib.loads((TOOLS / "foreign_logs.toml").read_text())["log"]
TIME = re.compile(r"(>=)?\d+|unknown")
BOOTS_OF_TWO = b"""\
U-Boot SPL 2024.04 (Aug 07 2025 - 18:29:00 +0800)\r
NOTICE:  BL31: v2.11.0(release):v2.11.0\r
U-Boot SPL 2024.04 (Aug 07 2025 - 18:29:48 +0800)\r
U-Boot 2024.04 (Aug 07 2025 - 18:29:48 +0800)\r
Starting kernel ...\r
[    0.000000] Booting Linux on physical CPU 0x0\r
[    1.250000] Run /sbin/init as init process\r
[  OK  ] Reached target Multi-User System.\r
board login: [    8.404498] i2c: timed out\r
U-Boot SPL 2024.04 (Aug 07 2025 - 18:29:00 +0800)\r
"""
DMESG = b"""\
[    0.000000] Booting Linux on physical CPU 0x0
[    0.000000] Linux version 6.12.0 (a@b) (gcc 14.2.0) #1 SMP Fri Nov 14 12:00:00 UTC 2025
[    0.010000] Calibrating delay loop... 1987.37 BogoMIPS (lpj=9936896)
[    1.200000] Freeing unused kernel image (initmem) memory: 1024K
[    1.250000] Run /sbin/init as init process
[    1.500000] random: crng init done
"""


def tool(words: str, argument: str) -> Any:
    """What an expression over the tool's modules comes to; `argument` is its `given`."""
    program = (
        f"import json, sys, foreign_lines, foreign_logs; given = sys.argv[1]; print(json.dumps({words}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, argument], cwd=TOOLS, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_list_holds_a_hundred_logs_of_thirty_kinds() -> None:
    assert len(LOGS) >= 100
    assert len({log["kind"] for log in LOGS}) >= 30
    assert len({log["kind"].partition(";")[0] for log in LOGS}) >= 30


def test_names_and_contents_differ() -> None:
    assert len({log["name"] for log in LOGS}) == len(LOGS)
    assert len({log["sha256"] for log in LOGS}) == len(LOGS)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log["name"])
def test_a_log_says_where_it_is_from_and_what_is_true(log: dict[str, Any]) -> None:
    assert re.fullmatch(r"[a-z0-9-]{3,28}", log["name"])
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}:.+", log["source"])
    assert re.fullmatch(r"[0-9a-f]{64}", log["sha256"])
    assert log["kind"].count(";") == 2
    assert log["stages"]
    assert all(TIME.fullmatch(str(log[f"{name}_ns"])) for name in ("kernel", "init", "end"))


def test_plain_expressions_read_two_boots_with_two_spls(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(BOOTS_OF_TWO)
    read = "foreign_lines.read(open(given, 'rb').read())"
    words = f"(lambda p: [p.boots, p.stages, p.kernel, p.init, p.end])({read})"
    stages = ["spl", "bl31", "spl", "u-boot", "kernel", "init"]
    assert tool(words, str(tmp_path / "a.log")) == [2, stages, "0", "1250000000", ">=1250000000"]


def test_each_wrong_figure_is_named() -> None:
    said = "foreign_logs.Said(1, ('bootloader', 'kernel'), '0', 'unknown', 'unknown', 1.0)"
    log = "foreign_logs.Foreign('x', 'a; b; c', 's', '', ('u-boot', 'kernel'), '0', '5', 'unknown', 2)"
    assert tool(f"foreign_logs.wrong({log}, {said})", "") == [
        "boots 1, right is 2",
        "init unknown, right is 5",
    ]


def test_a_time_in_a_log_without_one_is_wrong() -> None:
    said = "foreign_logs.Said(1, ('kernel',), dated=('root-mounted',))"
    log = "foreign_logs.Foreign('x', 'a; b; c', 's', '', ('kernel',), 'unknown', 'unknown', 'unknown')"
    assert tool(f"foreign_logs.wrong({log}, {said})", "") == [
        "times that the log does not hold: root-mounted"
    ]


def test_another_file_under_the_name_is_not_compared(tmp_path: Path) -> None:
    log = LOGS[0]
    path = tmp_path / f"{log['name']}.log"
    path.write_bytes(BOOTS_OF_TWO)
    assert hashlib.sha256(BOOTS_OF_TWO).hexdigest() != log["sha256"]
    command = [sys.executable, str(TOOLS / "foreign_logs.py"), str(tmp_path), log["name"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "its sha256 is not that of the list" in done.stdout


@pytest.mark.parametrize(("init", "right"), [("1250000000", True), ("1250000001", False)])
def test_the_whole_way_through_bootscope(tmp_path: Path, init: str, right: bool) -> None:
    (tmp_path / "ours.log").write_bytes(DMESG)
    known = f"'{hashlib.sha256(DMESG).hexdigest()}', ('kernel', 'init'), '0', '{init}', 'unknown'"
    log = f"foreign_logs.Foreign('ours', 'a; b; c', 's', {known})"
    # How long it takes is for a run of the tool alone: this computer may be busy.
    patient = "setattr(foreign_logs, 'LIMIT_S', 600)"
    checked = f"foreign_logs.check([{log}], __import__('pathlib').Path(given))"
    assert tool(f"{patient} or {checked}", str(tmp_path)) is right
