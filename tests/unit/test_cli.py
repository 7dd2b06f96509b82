# SPDX-License-Identifier: Apache-2.0
"""What the command line refuses: exit code 2, one line of error, nothing done."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.boards.profile import board_dir
from bootscope.capture.store import Store
from bootscope.system.load import system_names

from .builders import BOOT, keep_run
from .conftest import Command, Done


def assert_refused(done: Done, *words: str) -> None:
    """Exit code 2, one line of error, at most one of hint, nothing on stdout."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    first, *rest = done.stderr.splitlines()
    assert first.startswith("bootscope: ")
    assert [line[:8] for line in rest] in ([], ["  hint: "])
    assert done.stderr.replace("\n", "").isprintable()
    for word in words:
        assert word in done.stderr


REFUSED: list[tuple[list[str], list[str]]] = [
    (["nonsense"], ["unknown verb 'nonsense'", "record"]),
    (["list", "--nonsense"], ["--nonsense"]),
    (["record"], ["system"]),
    (["optimize"], ["required: system", "bootscope optimize --help"]),
    (["optimize", "--only", "kernel-quiet", "stock"], ["required: system", "name the system before --only"]),
    (["trim", "--only", "kernel", "stock"], ["required: system", "name the system before --only"]),
    (
        ["trim", "--keep-symbol", "PINS", "stock"],
        ["required: system", "system before --keep-symbol"],
    ),
    (["record", "nonsense"], ["unknown system 'nonsense'", f"there are: {', '.join(system_names())}"]),
    (["record", "no\x1b[31m\nsystem"], ["unknown system 'no\\x1b[31m\\nsystem'"]),
    (["record", "gone.toml"], ["cannot read gone.toml"]),
    (["record", "stock", "--board", "nonsense"], ["unknown board 'nonsense'", "cubieboard"]),
    (
        ["record", "stock", "--board", "virt-arm64"],
        ["stock is built for the board cubieboard", "leave --board"],
    ),
    (
        ["record", "debian-arm64", "--board", "virt-riscv64"],
        ["built for the board virt-arm64 (QEMU's machine virt, arm64), not for the board virt-riscv64"],
    ),
    (["record", "gone.img", "--board", "virt-arm64"], ["cannot read gone.img: No such file"]),
    (["record", "no/folder", "--board", "virt-arm64"], ["cannot read no/folder: No such file"]),
    (["record", "stock", "--until", "nonsense"], ["unknown milestone 'nonsense'", "first-frame"]),
    (["record", "stock", "-n", "0"], ["-n must be above 0"]),
    (["record", "stock", "-n", "-3"], ["-n must be above 0"]),
    (["record", "stock", "-n", "two"], ["-n", "two"]),
    (["record", "stock", "--timeout", "0"], ["--timeout must be above 0"]),
    (["record", "stock", "--board-timeout", "nan"], ["--board-timeout must be above 0"]),
    (["record", "stock", "--board-timeout", "inf"], ["--board-timeout"]),
    (["record", "stock", "--hang-timeout", "1e300"], ["--hang-timeout"]),
    (["record", "stock", "--hang-timeout", "-1"], ["--hang-timeout must be above 0"]),
    (["build", "nonsense"], ["unknown system 'nonsense'"]),
    (["show"], ["no boot has been recorded", "bootscope record debian"]),
    (["show", "nonsense"], ["no boot has been recorded"]),
    (["compare", "last"], ["b"]),
    (["report"], ["-o"]),
    (["rm"], ["run"]),
    (["cache", "nonsense"], ["unknown word after cache 'nonsense'", "prune, show"]),
    (["cache", "prune", "--limit", "5X"], ["not a size: '5X'", "20G"]),
    (["cache", "prune", "--limit", "-5"], ["not a size: '-5'"]),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_what_cannot_be_done_is_refused_in_one_line(
    main_here: Command, tmp_path: Path, arguments: list[str], words: list[str]
) -> None:
    assert_refused(main_here(*arguments), *words)
    assert not list(tmp_path.glob("store/runs/*"))
    assert not list(tmp_path.glob("cache/sources/*"))


@pytest.mark.parametrize(
    "arguments",
    [["record", "nonsense"], ["record", "stock", "--board", "nonsense"], ["record", "stock", "-n", "0"]],
    ids=" ".join,
)
def test_the_exit_code_is_that_of_the_process(bootscope: Command, arguments: list[str]) -> None:
    assert_refused(bootscope(*arguments))


@pytest.mark.parametrize("run", ["nonsense", "2026112"])
def test_an_unknown_or_ambiguous_run_ends_the_process_with_2(
    bootscope: Command, store: Store, run: str
) -> None:
    for day in (20, 21):
        keep_run(store, BOOT, day=day)
    assert_refused(bootscope("show", run), "hint: ", "20261121-120000-test")


def test_an_unknown_milestone_is_refused_before_anything_is_built(bootscope: Command, tmp_path: Path) -> None:
    done = bootscope("record", "stock", "--until", "nonsense", "--json")
    assert_refused(done, "unknown milestone")
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "nonsense"],
        ["show", ""],
        ["show", "last/2"],
        ["show", "last/nonsense"],
        ["show", "last/²"],
        ["show", "--boot", "7"],
        ["show", "last/1", "--boot", "2"],
        ["show", "--board", "nonsense"],
        ["show", "--top", "-1"],
        ["show", "--top", "0"],
        ["show", "--view", "initcalls", "--top", "0"],
        ["compare", "last", "nonsense"],
        ["report", "nonsense", "-o", "report.html"],
        ["report", "last", "-o", "no/such/folder.html"],
        ["rm", "nonsense"],
        ["rm", "last", "nonsense"],
        ["rm", ""],
    ],
    ids=" ".join,
)
def test_a_run_or_boot_that_is_not_there_is_refused(
    main_here: Command, store: Store, tmp_path: Path, arguments: list[str]
) -> None:
    run_id = keep_run(store, BOOT)
    assert_refused(main_here(*arguments))
    assert store.run_ids() == [run_id]
    assert not list(tmp_path.glob("*.html*"))


def test_a_board_that_lacks_a_device_of_the_recording_is_refused(
    main_here: Command, store: Store, tmp_path: Path
) -> None:
    keep_run(store, BOOT)
    text = (board_dir() / "cubieboard.toml").read_text()
    (tmp_path / "other.toml").write_text(text.replace("[devices.pio]", "[devices.gpio]"))
    assert_refused(main_here("show", "--board", "other.toml"), "pio")


def test_a_damaged_stream_is_refused_with_its_place(bootscope: Command, store: Store) -> None:
    run_id = keep_run(store, BOOT)
    (store.runs / run_id / "boots" / "001" / "stream.bin").write_bytes(b"x" * 100)
    assert_refused(bootscope("show"), "not a bootscope stream", run_id)
