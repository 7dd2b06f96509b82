# SPDX-License-Identifier: Apache-2.0
"""Cores that a machine cannot have, and counts that are not of a boot: refused by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from bootscope.analysis.timing import check_architecture, core_counted, find_timing, timing_of
from bootscope.boards.profile import Board, load_board
from bootscope.capture import counted
from bootscope.capture.counted import CountedInfo
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.core.errors import UserError
from bootscope.cores.counts import Count
from bootscope.cores.profile import Core, load_core
from bootscope.emulator import timing_pass
from tests.fixtures import stock_boot

A8 = load_core("cortex-a8")
EMPTY = counted.MAGIC + bytes([len(Count), 0, 1, 0])
"""Counts of a boot with one phase in which nothing was counted."""


def with_cpus(board: Board, number: int) -> Board:
    return msgspec.structs.replace(board, qemu=msgspec.structs.replace(board.qemu, cpus=number))


@pytest.mark.parametrize(
    ("board", "core", "said"),
    [
        (load_board("virt-arm64"), A8, "core cortex-a8 is of architecture arm, board virt-arm64 of arm64"),
        (load_board("cubieboard"), load_core("sifive-u54"), "core sifive-u54 is of architecture riscv64"),
        (with_cpus(load_board("virt-arm64"), 4), load_core("cortex-a53"), "board virt-arm64 has 4 CPUs"),
    ],
)
def test_a_core_that_the_machine_is_not_is_refused(board: Board, core: Core, said: str) -> None:
    with pytest.raises(UserError) as error:
        timing_pass.control_of(board, core)
    assert said in error.value.message


@pytest.mark.parametrize(
    ("board", "first", "end"),
    [
        ("cubieboard", 0x40000000, 0x80000000),
        ("imx8mp-evk", 0x40000000, 0x80000000),
        ("q35", 0, 0x40000000),
        ("vexpress-a9", 0x60000000, 0x80000000),
        ("virt-arm64", 0x40000000, 0x80000000),
        ("virt-riscv64", 0x80000000, 0xC0000000),
        ("zynq", 0, 0x40000000),
    ],
)
def test_where_the_memory_of_a_board_is(board: str, first: int, end: int) -> None:
    assert timing_pass.memory_of(load_board(board)) == (first, end)


@pytest.fixture
def run(tmp_path: Path) -> StoredRun:
    """The recorded stock boot, which has no counts."""
    store = Store(tmp_path / "store")
    return store.load(stock_boot.unpack(store))


def keep(run: StoredRun, name: str, stream_sha256: str, core: str = "cortex-a8") -> None:
    """Puts counts beside the boot."""
    info = CountedInfo(
        core=core, geometry={}, stream_sha256=stream_sha256, phases=("spl",), size_bytes=len(EMPTY), host_ms=1
    )
    counted.keep(run.boots[0].path, name, info, EMPTY)


def test_a_recording_without_counts_says_what_to_run(run: StoredRun) -> None:
    assert core_counted(run) is None and find_timing(run, run.boots[0], A8) is None
    with pytest.raises(UserError, match="was recorded without --timing") as error:
        timing_of(run, run.boots[0], A8)
    assert error.value.hint == "bootscope record stock --timing --core cortex-a8"


def test_counts_of_another_boot_are_refused(run: StoredRun) -> None:
    keep(run, A8.geometry_id, "0" * 64)
    assert find_timing(run, run.boots[0], A8) is None
    with pytest.raises(UserError, match="boot 1 is another boot than that"):
        timing_of(run, run.boots[0], A8)


def test_counts_of_other_caches_are_refused_by_both_names(run: StoredRun) -> None:
    keep(run, load_core("cortex-a9").geometry_id, run.boots[0].info.stream_sha256, "cortex-a9")
    counted_for = core_counted(run)
    assert counted_for is not None and counted_for.name == "cortex-a9"
    with pytest.raises(UserError, match="counted for cortex-a9, whose caches are not those of cortex-a8"):
        timing_of(run, run.boots[0], A8)
    with pytest.raises(UserError, match="core cortex-a53 is of architecture arm64"):
        check_architecture(run, load_core("cortex-a53"))


def test_damaged_counts_are_refused(run: StoredRun) -> None:
    keep(run, A8.geometry_id, run.boots[0].info.stream_sha256)
    assert timing_of(run, run.boots[0], A8).counted.info.core == "cortex-a8"
    folder = run.boots[0].path / counted.FOLDER
    (folder / f"{A8.geometry_id}.bin").write_bytes(b"x")
    with pytest.raises(UserError, match="is damaged"):
        print(timing_of(run, run.boots[0], A8).counted)
    shutil.rmtree(folder)
    assert find_timing(run, run.boots[0], A8) is None


def test_a_core_of_the_users_own_under_our_name_is_not_taken_for_ours(run: StoredRun) -> None:
    # Counted for a file that calls itself cortex-a8 and has other caches.
    keep(run, "0123456789abcdef", run.boots[0].info.stream_sha256)
    assert core_counted(run) is None
