# SPDX-License-Identifier: Apache-2.0
"""An imported boot counts from its own beginning everywhere, also where its file holds time of the system
that ran before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bootscope.capture import record
from bootscope.capture.measured import TAP
from bootscope.capture.record import BootInfo
from bootscope.capture.store import Store

from . import real_boards
from .boot_noise import MS
from .conftest import Command
from .test_boot_samples import log
from .test_ground import console

S = 1_000 * MS
READY_NS, BEFORE_NS = 3_200 * MS, 10 * S
STAMPED = "[0.000000 0.000000] app: works\n[9.500000 9.500000] reboot: Restarting system\n"
BARE = "app: works\nreboot: Restarting system\n"
FIGURES = ("csv", "boots", "grabserial", "openmetrics", "junit", "markdown", "chrome", "speedscope", "svg")
"""The formats with times."""
SYSLOG = """\
2024-03-03T10:00:00.000000+00:00 board kernel: Linux version 6.1.0 (a@b) (gcc) #1
2024-03-03T10:00:01.000000+00:00 board kernel: Run /sbin/init as init process
2024-03-03T10:00:02.000000+00:00 board systemd[1]: Starting slow.service - x...
2024-03-03T10:00:09.000000+00:00 board systemd[1]: Started slow.service - x.
2024-03-03T10:00:10.000000+00:00 board systemd[1]: Startup finished in \
5s (firmware) + 3s (loader) + 2s (kernel) + 9s (userspace) = 19s.
"""
CUT = ("markdown", "svg")
"""Those that cut a long sentence about the clock."""
LABELS = (
    "this boot.{1,5}s beginning, 10.000000 s after the clock.{1,5}s 0: ",
    r"2 lines before .{3,20} are of the system that ran before, up to 10.000 s of the file.{1,5}s clock: "
    r"not part of this boot(?:; |\n|\",\"|<br>|)",
)
"""What is said of the clock of a file that holds 10 s more; formats escape quotation marks."""


def run_of(main_here: Command, folder: Path, text: str) -> str:
    """Imports a log as console.log; returns the run's id."""
    (folder / "console.log").write_text(text)
    done = main_here("import", "console.log", "--milestone", "app-ready=app: ready", "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["run_id"])


@pytest.fixture(params=(STAMPED, BARE), ids=("stamped", "bare"))
def both(main_here: Command, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, str]:
    """The same boot twice: alone in its file, and after 10 s of the system before."""
    alone = run_of(main_here, tmp_path, log([READY_NS]))
    return alone, run_of(main_here, tmp_path, request.param + log([READY_NS], since_ns=BEFORE_NS))


def figures(document: dict[str, Any]) -> dict[str, Any]:
    return {key: document[key] for key in ("total_ns", "phases", "milestones", "silences") if key in document}


def test_show_counts_from_the_boots_beginning_and_says_where_that_is(
    main_here: Command, both: tuple[str, str]
) -> None:
    alone, after = (json.loads(main_here("show", run, "--json").stdout) for run in both)
    assert figures(after) == figures(alone)
    assert (after["total_ns"], after["milestones"]["app-ready"]) == (READY_NS, READY_NS)
    assert "0 is this boot's beginning, 10.000000 s after the clock's 0: the first byte" in after["clock"]
    assert "this boot's beginning" not in alone["clock"]
    assert "13.200" not in main_here("show", both[1]).stdout


@pytest.mark.parametrize("name", FIGURES)
def test_exports_count_from_the_boots_beginning(main_here: Command, both: tuple[str, str], name: str) -> None:
    texts = [main_here("export", run, "--format", name, "-o", "-").stdout for run in both]
    if name in CUT:
        texts = [re.sub(".*clock of console.log.*", "", text) for text in texts]
    alone, after = (text.replace(run, "RUN") for text, run in zip(texts, both, strict=True))
    for label in LABELS:
        after = re.sub(label, "", after)
    assert alone
    assert after == alone


def test_the_list_the_comparison_and_the_import_say_the_same(
    main_here: Command, both: tuple[str, str], tmp_path: Path
) -> None:
    found = json.loads(main_here("compare", *both, "--json").stdout)
    assert {found["goal"][side]["median_ns"] for side in "ab"} == {READY_NS}
    shown = json.loads(main_here("list", "--json").stdout)
    assert {run["median_ns"] for run in shown["runs"]} == {READY_NS}
    done = json.loads(main_here("import", "console.log", "--dry-run", "--json").stdout)
    assert done["boots"][0]["total_ns"] < BEFORE_NS


def test_a_boot_of_a_board_that_nobody_switched_reached_its_milestone_when_the_list_says(
    main_here: Command, store: Store
) -> None:
    """The recorder saw the end of the system before; its message counts from there."""
    run_id = real_boards.keep_measured(store, [console()], switched=False)
    before = [(at * MS, byte) for at, byte in enumerate(b"reboot: Restarting system\r\n")]
    data = real_boards.capture([*before, *console(first_ns=5 * S)], switched=False)
    folder = store.runs / run_id / "boots" / "001"
    (folder / TAP).write_bytes(data)
    info = record.read_json(folder / record.BOOT, BootInfo)
    info = msgspec.structs.replace(info, message="login at 7.000 s; console silent before")
    record.write_json(folder / record.BOOT, info)
    listed = json.loads(main_here("list", "--json").stdout)["runs"][0]["median_ns"]
    shown = json.loads(main_here("show", run_id, "--json").stdout)
    assert listed < 3 * S
    assert shown["reached_ns"] == shown["milestones"]["login"] == listed
    assert shown["message"].startswith(f"login at {listed / 1e9:.3f} s")
    exported = main_here("export", run_id, "--format", "boots", "-o", "-").stdout
    assert str(listed) in exported


def test_an_audit_has_the_silences_of_a_log_and_what_systemd_says_on_one_clock(
    main_here: Command, tmp_path: Path
) -> None:
    """By the calendar, the log's lines were decades after the firmware, and nothing was worth a look."""
    (tmp_path / "syslog").write_text(SYSLOG)
    found = json.loads(main_here("audit", "syslog", "--json").stdout)["findings"]
    assert [(c["start_ns"] // S, c["end_ns"] // S) for c in found[:3]] == [(11, 18), (0, 5), (5, 8)]


def test_lines_of_another_system_are_not_those_of_firmware(main_here: Command, tmp_path: Path) -> None:
    before = "2024-03-03T09:59:00.000000+00:00 board systemd-shutdown[1]: Rebooting.\n"
    for text in (SYSLOG, before + SYSLOG):
        (tmp_path / "syslog").write_text(text)
        found = json.loads(main_here("import", "syslog", "--dry-run", "--json").stdout)["boots"][-1]
        assert found["total_ns"] == found["milestones"]["systemd-finished"] == 19 * S
        assert [p["name"] for p in found["phases"][:3]] == ["earlier", "kernel", "init"]
        assert [p["start_ns"] // S for p in found["phases"] if p["name"] in ("firmware", "loader")] == [0, 5]
        assert not any("0 lines before" in note for note in found["notes"])
