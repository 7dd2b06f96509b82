# SPDX-License-Identifier: Apache-2.0
"""The boot of a system as Debian ships it: whole, and with names for what has none beside it.

That two boots of it are equal to the nanosecond is shown by tests/installed, which boots it a second time.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.command import Bootscope

pytestmark = pytest.mark.boot
Recorded = tuple[Bootscope, dict[str, Any]]
PARTS = ("cpu_ns", "storage_ns", "console_ns", "idle_ns", "fixed_ns")
PHASES = ["rom", "spl", "bootloader", "load", "decompress", "kernel", "init", "application"]
NAMELESS = ("without a symbol", "unknown")


def test_phases_and_their_parts_add_up_exactly(debian: Recorded) -> None:
    shown = debian[0].json("show")
    assert [phase["name"] for phase in shown["phases"]] == PHASES
    at_ns = 0
    for phase in shown["phases"]:
        assert phase["start_ns"] == at_ns
        assert sum(phase[part] for part in PARTS) == phase["end_ns"] - phase["start_ns"]
        at_ns = phase["end_ns"]
    reached = shown["milestones"]
    assert at_ns == shown["total_ns"] == reached["first-frame"]
    # This kernel has a console on the screen: its cursor is there before any program is.
    assert reached["kernel-entry"] < reached["first-light"] < reached["init"]


def test_the_kernel_is_named_by_function(debian: Recorded) -> None:
    """At least 90 % of the CPU's time from the kernel's entry on, though no symbol table came with it."""
    shown = debian[0].json("show", "--view", "functions", "--top", "100000")
    rows = [row for table in shown["tables"] for row in table["rows"]]
    assert rows
    total = named = 0
    for row in rows:
        if row["phase"] in ("kernel", "init", "application") and row["what"].startswith("kernel "):
            total += row["self_ns"]
            named += row["self_ns"] * (not any(word in row["what"] for word in NAMELESS))
    assert total > 1_000_000_000
    assert named >= 0.9 * total


def test_the_recording_names_the_packages_that_booted(debian: Recorded) -> None:
    boot = Path(debian[1]["boots"][0]["path"])
    run = json.loads((boot.parents[1] / "run.json").read_text())
    assert set(run["sources"]) == {"uboot", "linux", "busybox", "linux-headers", "linux-headers-common"}
    kernel = run["sources"]["linux"]
    assert kernel["version"].startswith("linux-image-6.") and len(kernel["sha256"]) == 64
    assert kernel["origin"] == "Debian's archive"
    # The headers are those of that very kernel.
    assert run["sources"]["linux-headers"]["version"].split()[-1] == kernel["version"].split()[-1]


def test_processes_are_seen_by_name_with_who_started_them(debian: Recorded) -> None:
    """The layout of the kernel's structures comes from the packages of its headers."""
    shown = debian[0].json("show", "--view", "processes", "--top", "1000")
    rows = [row for table in shown["tables"] for row in table["rows"]]
    text = json.dumps(rows)
    for expected in ("testcard", "insmod", "S99application", "cryptomgr_test"):
        assert expected in text, f"no {expected} among the processes"


@pytest.mark.parametrize(
    "view", ["critical-path", "initcalls", "functions", "storage", "console", "waits", "floor"]
)
def test_every_view_has_something_to_say_and_says_what_it_lacks(debian: Recorded, view: str) -> None:
    done = debian[0].run("show", "--view", view)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5
    if view in ("initcalls", "waits"):
        assert "This U-Boot is prebuilt, without symbols." in done.stdout


def test_the_picture_is_there_and_the_report_and_the_audit(debian: Recorded, tmp_path: Path) -> None:
    command, recorded = debian
    assert (Path(recorded["boots"][0]["path"]) / "screen.png").read_bytes().startswith(b"\x89PNG")
    report = tmp_path / "report.html"
    assert command.run("report", "-o", report).returncode == 0
    assert "debian" in report.read_text()
    done = command.run("audit", "last")
    assert done.returncode == 0, done.stderr
    assert "kernel-compression" in done.stdout


def test_the_same_packages_give_the_same_bytes(debian: Recorded, tmp_path: Path) -> None:
    """Built again in another place, from the packages that were fetched: the card is the same."""
    first = debian[0].json("build", "debian")
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "sources").symlink_to(Path(first["card"]).parents[2] / "sources")
    second = Bootscope(tmp_path / "store", cache).json("build", "debian")
    assert second["build_id"] == first["build_id"]
    cards = [Path(one["card"]) for one in (first, second)]
    assert cards[0] != cards[1]
    assert len({hashlib.sha256(card.read_bytes()).hexdigest() for card in cards}) == 1
