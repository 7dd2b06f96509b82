# SPDX-License-Identifier: Apache-2.0
"""Boots that do not go well: each is kept, marked, and the next command works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bootscope.capture import stream
from tests.command import Bootscope, environment
from tests.mounts import own_mounts

pytestmark = pytest.mark.boot


def qemu_below(pid: int) -> int | None:
    """The process id of the QEMU that `pid` started, if it has."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = entry.read_text().rpartition(")")
        except OSError:
            continue
        if "qemu-system" in name and int(rest.split()[1]) == pid:
            return int(entry.parent.name)
    return None


def alive(pid: int) -> bool:
    """Whether a process runs (one that has ended but was not waited for does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for_stream(store: Path, size: int, seconds: float = 120) -> Path:
    """Waits until a recording has grown to `size` committed bytes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in store.rglob("stream.bin"):
            with path.open("rb") as f:
                if stream.committed_bytes(f.read(stream.HEADER_BYTES)) >= size:
                    return path
        time.sleep(0.05)
    raise AssertionError("the recording did not begin")


def test_until_an_early_milestone_is_quick_and_exact(bootscope: Bootscope) -> None:
    recorded = bootscope.json("record", "stock", "-n", "3", "--until", "bootloader")
    assert len({boot["stream_sha256"] for boot in recorded["boots"]}) == 1
    shown = bootscope.json("show")
    assert [phase["name"] for phase in shown["phases"]] == ["rom", "spl", "bootloader"]
    assert shown["phases"][-1]["end_ns"] == shown["milestones"]["bootloader"] == shown["total_ns"]


def test_a_panic_is_said_and_kept(bootscope: Bootscope, variant: Callable[..., Path]) -> None:
    broken = variant(("root=/dev/mmcblk0p2 rootwait rw", "root=/dev/nothing"))
    done = bootscope.run("record", broken)
    assert done.returncode == 3
    assert "the kernel panicked at" in done.stderr
    assert "Kernel panic - not syncing: VFS: Unable to mount root fs" in done.stderr
    assert bootscope.json("list")["runs"][0]["ended"] == "panic"
    assert bootscope.json("show")["phases"][-1]["name"] == "kernel"


def test_a_hang_is_said_and_kept(bootscope: Bootscope, variant: Callable[..., Path]) -> None:
    silent = variant(("setenv bootargs {command_line}\n", "while true; do sleep 1; done\n"))
    recorded = bootscope.json("record", silent, "--hang", "1.5", status=3)
    assert recorded["boots"][0]["ended"] == "hang"
    assert "nothing happened" in recorded["boots"][0]["message"]
    assert bootscope.json("show")["ended"] == "hang"


def test_a_board_that_resets_itself_is_quoted(bootscope: Bootscope, variant: Callable[..., Path]) -> None:
    resets = variant(("setenv bootargs {command_line}\n", "echo no kernel here\nreset\n"))
    recorded = bootscope.json("record", resets, status=3)
    assert recorded["boots"][0]["ended"] == "died"
    message = recorded["boots"][0]["message"]
    assert message.startswith("the board reset itself, or switched itself off, at ")
    assert "/ no kernel here / resetting ..." in message


def test_a_milestone_that_never_comes_ends_at_the_limit(bootscope: Bootscope) -> None:
    recorded = bootscope.json("record", "stock", "--limit", "0.3", status=3)
    assert recorded["boots"][0]["ended"] == "limit"
    assert bootscope.json("show")["ended"] == "limit"


def test_host_time_is_limited_too(bootscope: Bootscope) -> None:
    recorded = bootscope.json("record", "stock", "--timeout", "2", status=3)
    assert recorded["boots"][0]["ended"] == "timeout"


def test_a_qemu_that_dies_leaves_a_boot_that_can_be_shown(bootscope: Bootscope) -> None:
    with bootscope.start("record", "stock", "--json") as child:
        wait_for_stream(bootscope.store, 50_000)
        qemu = qemu_below(child.pid)
        assert qemu
        os.kill(qemu, signal.SIGKILL)
        child.communicate(timeout=60)
    assert child.returncode == 3
    shown = bootscope.json("show")
    assert shown["ended"] == "died"
    assert shown["total_ns"] > 0


def test_a_killed_recorder_takes_qemu_along_and_damages_nothing(bootscope: Bootscope) -> None:
    with bootscope.start("record", "stock", "--json") as child:
        path = wait_for_stream(bootscope.store, 50_000)
        qemu = qemu_below(child.pid)
        assert qemu
        child.kill()
        child.communicate(timeout=60)
    time.sleep(1)
    assert not alive(qemu)
    assert bootscope.json("list")["runs"][0]["ended"] == "partial"
    assert bootscope.json("show")["ended"] == "partial"
    assert len(stream.read(path)) > 1000
    assert bootscope.json("record", "stock", "--until", "bootloader")["complete"]


def test_interrupted_is_130_and_keeps_what_there_is(bootscope: Bootscope) -> None:
    with bootscope.start("record", "stock", "--json") as child:
        wait_for_stream(bootscope.store, 50_000)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 130
    assert bootscope.json("show")["ended"] == "interrupted"


@pytest.mark.parametrize("room_kb", [900, 1500])
def test_a_full_disk_is_said_and_the_next_command_works(
    bootscope: Bootscope, tmp_path: Path, room_kb: int
) -> None:
    """A store on a file system that is too small to begin, and one that is while recording."""
    small = tmp_path / "small"
    small.mkdir()
    command = f"'{sys.executable}' -m bootscope"
    script = f"""
        mount -t tmpfs -o size={room_kb}k tmpfs '{small}' || exit 99
        {command} record stock
        echo "record ended with $?"
        {command} list --json > /dev/null || exit 98
        mount -o remount,size=20m '{small}' || exit 97
        {command} record stock --until bootloader || exit 96
        {command} show --json
        umount '{small}'
    """
    done = subprocess.run(
        [*own_mounts(), "sh", "-c", script],
        env=environment(small),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "record ended with 3" in done.stdout
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert '"ended": "milestone"' in done.stdout
