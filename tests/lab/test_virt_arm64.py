# SPDX-License-Identifier: Apache-2.0
"""The board virt-arm64: firmware, boot loader and 64-bit Linux, recorded as exactly as on `cubieboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.stream import Cpu, Hook, read
from tests.command import ROOT, Bootscope, recorded_once

pytestmark = [pytest.mark.boot, pytest.mark.long]
Recorded = tuple[Bootscope, dict[str, Any]]
SYSTEM, BOARD = "debian-arm64", ROOT / "src/bootscope/boards.d/virt-arm64.toml"
PARTS = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
FIRMWARE = ["bl1", "bl2", "bl31"]
PHASES = ["rom", *FIRMWARE, "bootloader", "load", "kernel", "init", "application"]
NAMELESS = ("without a symbol", "before its MMU", "program ", "user programs")


@pytest.fixture(scope="session")
def arm64(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two boots up to first-frame, in a store for looking only."""
    return recorded_once(SYSTEM, tmp_path_factory.getbasetemp(), SYSTEM, "-n", "2")


def rows(command: Bootscope, view: str) -> list[dict[str, Any]]:
    tables = command.json("show", "--view", view, "--top", "100000")["tables"]
    return [row for table in tables for row in table["rows"]]


def test_two_boots_are_equal_to_the_nanosecond(arm64: Recorded) -> None:
    command, recorded = arm64
    assert recorded["complete"]
    assert [boot["ended"] for boot in recorded["boots"]] == ["milestone", "milestone"]
    assert command.stream(recorded, 1) == command.stream(recorded, 2)


def test_every_stage_is_a_phase_and_all_of_it_adds_up(arm64: Recorded) -> None:
    shown = arm64[0].json("show")
    assert [phase["name"] for phase in shown["phases"]] == PHASES
    at_ns = 0
    for phase in shown["phases"]:
        assert phase["start_ns"] == at_ns
        assert sum(phase[part] for part in PARTS) == phase["end_ns"] - phase["start_ns"]
        at_ns = phase["end_ns"]
    assert at_ns == shown["total_ns"] == shown["milestones"]["first-frame"]
    assert [name for name in shown["milestones"] if name in FIRMWARE] == FIRMWARE
    assert (Path(arm64[1]["boots"][0]["path"]) / "screen.png").read_bytes().startswith(b"\x89PNG")


def test_nearly_all_of_the_cpus_time_has_a_function(arm64: Recorded) -> None:
    found = rows(arm64[0], "functions")
    total = sum(row["self_ns"] for row in found)
    nameless = sum(row["self_ns"] for row in found if any(word in row["what"] for word in NAMELESS))
    assert nameless < total // 20
    for program in ("BL1 ", "BL2 ", "U-Boot ", "kernel ", "busybox ", "testcard "):
        assert any(row["what"].startswith(program) for row in found), program


def test_the_kernel_is_looked_into(arm64: Recorded) -> None:
    command = arm64[0]
    programs = {row["name"].partition("[")[0]: row for row in rows(command, "processes") if "pid" in row}
    assert {"init", "insmod", "testcard"} <= programs.keys()
    kinds = {row.get("kind") for row in rows(command, "initcalls")}
    assert {"initcall", "probe", "uboot command", "uboot initcall"} <= kinds
    read_by = {row["what"] for row in rows(command, "storage")}
    assert {"kernel", "initramfs", "/usr/bin/testcard"} <= read_by


def test_four_cpus_are_equal_to_the_nanosecond_too(arm64: Recorded, tmp_path: Path) -> None:
    """Each record says which CPU it is of, and all of them come to run what the kernel has."""
    board = tmp_path / "four.toml"
    board.write_text(BOARD.read_text().replace("[qemu]", "[qemu]\ncpus = 4"))
    command = Bootscope(tmp_path / "store")
    recorded = command.json("record", SYSTEM, "--board", board, "--until", "init", "-n", "2")
    assert command.stream(recorded, 1) == command.stream(recorded, 2)
    cpu, hooked = 0, set()
    for record in read(Path(recorded["boots"][0]["path"]) / "stream.bin"):
        if isinstance(record, Cpu):
            cpu = record.cpu
        elif isinstance(record, Hook):
            hooked.add(cpu)
    assert hooked == {0, 1, 2, 3}
    names = [row["name"] for row in rows(command, "processes") if "pid" in row]
    assert any(name.startswith("cryptomgr_test") for name in names)
