# SPDX-License-Identifier: Apache-2.0
"""Explanations of real boots, checked against what the kernel says itself and against other boots. (That
explaining a boot does not change it: test_soak.py.)"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot
COMMAND_LINE = "root=/dev/mmcblk0p2 rootwait rw"
Recorded = tuple[Bootscope, dict[str, Any]]


def view(command: Bootscope, name: str, *more: str) -> dict[str, Any]:
    """The table of a view of the last run that is called as the view is."""
    tables: list[dict[str, Any]] = command.json("show", "--view", name, *more)["tables"]
    return next(table for table in tables if table["name"] == name)


def total_ns(command: Bootscope) -> int:
    """The length of the last run."""
    found: int = command.json("show")["total_ns"]
    return found


# ---- initcalls ----

CLOCK_SWITCH = b"clocksource: Switched to clocksource"
RETURNED = re.compile(rb"initcall (\w+)\+0x\S+ returned -?\d+ after (\d+) usecs")
EARLY_STEP_NS = 10_000_000
"""The kernel's clock goes in steps of a jiffy until it has switched to a real clock source."""


def test_initcalls_agree_with_the_kernels_own_figures(
    bootscope: Bootscope, variant: Callable[..., Path]
) -> None:
    """initcall_debug on the very same boot, each to 1 percent or 5 microseconds."""
    system = variant((COMMAND_LINE, f"{COMMAND_LINE} initcall_debug loglevel=8"))
    recorded = bootscope.json("record", system)
    seen: dict[str, list[int]] = defaultdict(list)
    rows = view(bootscope, "initcalls")["rows"]
    for row in sorted((r for r in rows if r["kind"] == "initcall"), key=lambda r: r["start_ns"]):
        seen[row["what"]].append(row["virtual_ns"])
    console = Path(recorded["boots"][0]["path"], "console.txt").read_bytes()
    early, _, late = console.partition(CLOCK_SWITCH)
    compared = 0
    for part, allowed_ns in ((early, EARLY_STEP_NS), (late, 5_000)):
        for name, microseconds in RETURNED.findall(part):
            if name == b"clocksource_done_booting":
                continue  # the switch itself: its end is told by another clock than its start
            told_ns, ours_ns = int(microseconds) * 1000, seen[name.decode()].pop(0)
            # The kernel cuts its figure off to whole microseconds.
            assert abs(ours_ns - told_ns) <= max(allowed_ns + 1000, told_ns // 100), name
            compared += 1
    assert compared > 500
    assert not [name for name, left in seen.items() if left and name != "clocksource_done_booting"]


def test_initcalls_have_levels_and_probes_have_devices(stock: Recorded) -> None:
    rows = view(stock[0], "initcalls")["rows"]
    levels = {row["level"] for row in rows if row["kind"] == "initcall"}
    assert levels == {"early", "pure", "core", "postcore", "arch", "subsys", "fs", "rootfs", "device", "late"}
    probes = {row["what"]: row for row in rows if row["kind"] == "probe"}
    assert "1c0f000.mmc (sunxi-mmc)" in probes
    assert any(row["result"] == "deferred" for row in probes.values())


# ---- who had the time ----


def test_cpu_time_has_names(stock: Recorded) -> None:
    sums = view(stock[0], "functions")["sums"]
    assert sums["named_ns"] >= 0.99 * sums["cpu_ns"]


def test_code_of_programs_lies_in_the_files_that_their_processes_mapped(stock: Recorded) -> None:
    """Each process has the shared libraries at addresses of its own."""
    names = [row["what"] for row in view(stock[0], "functions")["rows"]]
    assert "testcard main" in names
    assert not [name for name in names if name.startswith("program ") or name == "user programs"]


def test_storage_time_has_names(stock: Recorded) -> None:
    shown = stock[0].json("show")
    table = view(stock[0], "storage")
    storage_ns = sum(phase["storage_ns"] for phase in shown["phases"])
    assert sum(row["cost_ns"] for row in table["rows"]) == storage_ns
    assert all(row["what"] for row in table["rows"])
    read = {row["what"] for row in table["rows"]}
    assert {"SPL", "U-Boot", "kernel", "device tree", "/bin/busybox", "/lib/libc.so.6"} <= read | {"SPL"}


def test_processes_tile_the_time_with_tasks(stock: Recorded) -> None:
    """Every moment belongs to exactly one task: their times add up to the boot."""
    table = view(stock[0], "processes")
    shown = stock[0].json("show")
    idle_ns = sum(phase["idle_ns"] for phase in shown["phases"])
    assert sum(row["busy_ns"] for row in table["rows"]) + idle_ns == shown["total_ns"]


def test_programs_are_named_by_the_script_line_that_started_them(stock: Recorded) -> None:
    rows = {row["command"]: row for row in view(stock[0], "processes")["rows"]}
    seed = rows["dd if=/dev/urandom of=/etc/random-seed bs=512 count=1"]
    assert seed["started_by"] == "/etc/init.d/S30seed:8"
    assert rows["mdev -s"]["started_by"] == "/etc/init.d/S05devices:4"


def test_console_bytes_are_billed_to_their_writers(stock: Recorded) -> None:
    lines, writers = stock[0].json("show", "--view", "console")["tables"]
    data = Path(stock[1]["boots"][0]["path"], "console.bin").read_bytes()
    assert lines["sums"]["bytes"] == len(data) == sum(row["bytes"] for row in writers["rows"])
    # At least nine in ten kernel lines are traced to the call that printed them.
    kernel = [row for row in lines["rows"] if re.match(r"\[ *\d+\.\d+\]", row["text"])]
    assert sum(row["level"] != "" for row in kernel) >= 0.9 * len(kernel)


def test_the_critical_path_covers_the_boot(stock: Recorded) -> None:
    table = view(stock[0], "critical-path")
    at_ns = 0
    for row in table["rows"]:
        assert row["start_ns"] == at_ns
        at_ns += row["length_ns"]
    assert at_ns == stock[0].json("show")["total_ns"]
    assert any("dd[" in row["who"] for row in table["rows"])


def test_waits_name_the_boot_delay(stock: Recorded) -> None:
    rows = view(stock[0], "waits")["rows"]
    longest = rows[0]
    assert (longest["what"], longest["kind"]) == ("autoboot_command", "spinning")
    assert longest["wait_ns"] == pytest.approx(2_013_000_000, rel=0.01)


def test_the_floor_lies_below_the_boot(stock: Recorded) -> None:
    sums = view(stock[0], "floor")["sums"]
    assert 0 < sums["floor_ns"] < sums["today_ns"] == stock[0].json("show")["total_ns"]


# ---- what if ----


def assert_predicted(predicted_ns: int, saved_ns: int) -> None:
    assert abs(predicted_ns - saved_ns) <= 0.05 * saved_ns, (predicted_ns, saved_ns)


def predicted(stock: Recorded, change: str) -> int:
    command, recorded = stock
    found: int = command.json("what-if", recorded["run_id"], change)["saving_ns"]
    return found


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        pytest.param("quiet", COMMAND_LINE, f"{COMMAND_LINE} quiet", marks=pytest.mark.campaign),
        (
            "bootdelay=0",
            'defconfig = "Cubieboard_defconfig"\n',
            'defconfig = "Cubieboard_defconfig"\nconfig = { BOOTDELAY = 0 }\n',
        ),
        # An initcall that registers a driver: without it, the driver probes nothing.
        pytest.param(
            *(
                "without:musb_driver_init",
                COMMAND_LINE,
                f"{COMMAND_LINE} initcall_blacklist=musb_driver_init",
            ),
            marks=pytest.mark.campaign,
        ),
    ],
    ids=["quiet", "bootdelay", "initcall"],
)
def test_what_if_predicts_the_boot(
    stock: Recorded, bootscope: Bootscope, variant: Callable[..., Path], change: str, old: str, new: str
) -> None:
    """Predicts from one recording, then builds and boots the change: within 5 percent of the saving."""
    saving_ns = predicted(stock, change)
    bootscope.json("record", variant((old, new)))
    assert_predicted(saving_ns, total_ns(stock[0]) - total_ns(bootscope))


@pytest.mark.campaign
def test_what_if_predicts_a_faster_card(
    stock: Recorded, bootscope: Bootscope, variant: Callable[..., Path], tmp_path: Path
) -> None:
    saving_ns = predicted(stock, "card=4x")
    profile = Path(__file__).resolve().parents[2] / "src/bootscope/boards.d/cubieboard.toml"
    text = profile.read_text().replace("value = 11_300_000", "value = 45_200_000")
    (tmp_path / "faster.toml").write_text(text.replace("value = 500_000", "value = 125_000"))
    board = f'board = "{tmp_path / "faster.toml"}"'
    bootscope.json("record", variant(('board = "cubieboard"', board)))
    assert_predicted(saving_ns, total_ns(stock[0]) - total_ns(bootscope))
