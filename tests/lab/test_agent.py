# SPDX-License-Identifier: Apache-2.0
"""The collector on the emulated board: its size, how it lies in its file, and a boot with it as init."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.command import ROOT, Bootscope, environment

from .conftest import STOCK

pytestmark = pytest.mark.boot
READ_AT_ONCE = 16 * 1024
WORDS = (
    "init=/sbin/bootscope-agent bootscope.stop-process=testcard bootscope.linger=300 "
    "bootscope.console=/dev/ttyS0"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agent") / "bootscope-agent"
    command = [sys.executable, str(ROOT / "tools" / "build_agent.py"), str(path)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


def test_is_small_and_static(program: Path) -> None:
    assert program.stat().st_size < 100_000
    with program.open("rb") as f:
        kinds = [segment["p_type"] for segment in ELFFile(f).iter_segments()]
    assert "PT_INTERP" not in kinds and "PT_DYNAMIC" not in kinds


def test_what_runs_while_the_system_boots_is_read_at_once(program: Path) -> None:
    """native/agent/agent.ld: code and data for the boot first, the rest behind them."""
    with program.open("rb") as f:
        code, data, late = (s.header for s in ELFFile(f).iter_segments() if s["p_type"] == "PT_LOAD")
    assert code["p_offset"] == 0
    assert data["p_offset"] + data["p_filesz"] <= READ_AT_ONCE
    assert late["p_offset"] >= data["p_offset"] + data["p_filesz"]


def test_a_boot_with_it_as_init_comes_back_over_the_console(program: Path, tmp_path: Path) -> None:
    shutil.copy(STOCK, tmp_path)
    shutil.copytree(STOCK.parent / "stock", tmp_path / "stock")
    programs = tmp_path / "stock" / "rootfs" / "sbin"
    programs.mkdir()
    shutil.copy(program, programs)
    system = tmp_path / STOCK.name
    text = system.read_text().replace("rootwait rw", f"rootwait rw {WORDS}")
    # Which waits for 2.6 s and has nothing to do with this.
    text = text.replace("[rootfs]\n", '[rootfs]\nremove = ["/etc/init.d/S30seed"]\n')
    system.write_text(f'{text}\n[milestones.sent]\nconsole = "bootscope-agent: end"\n')
    bootscope = Bootscope(tmp_path / "store")
    recorded = bootscope.json("record", system, "--until", "sent")
    log = Path(recorded["boots"][0]["path"]) / "console.bin"
    assert b"bootscope-agent: begin 1 bootscope-agent.tgz" in log.read_bytes()
    imported = bootscope.json("import", log)
    files = [(file["name"].rsplit("/", 1)[-1], file["format"]) for file in imported["files"]]
    assert ("bootscope-agent.tgz", "bootchart") in files
    shown = bootscope.json("show", "last")
    names = [track["title"].split(" (")[0] for track in shown["tracks"] if track["kind"] == "process"]
    # Of a kernel without connector and taskstats, by its perf events: all that the scripts have started.
    assert {"rcS", "mdev", "mount", "hostname", "ifup", "syslogd", "testcard"} <= set(names)
    assert names.count("ip") == 5
    # QEMU's card erases 4 MiB at once.
    (facts,) = [
        boot["facts"]
        for file in imported["files"]
        for boot in file["boots"]
        if boot["facts"].get("tool", "").startswith("bootscope-agent")
    ]
    assert any(name.startswith("card mmc0:") for name in facts), facts
