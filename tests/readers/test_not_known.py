# SPDX-License-Identifier: Apache-2.0
"""What a log does not tell is not said: no time without a clock, a bound for a line without a stamp."""

from __future__ import annotations

import pytest

from bootscope.analysis.samples import of_trace
from bootscope.capture.imported import Answers, Raw
from bootscope.export import junit, markdown, openmetrics, svg
from bootscope.export.base import Subject
from bootscope.export.text import seconds
from bootscope.importing.files import understand
from bootscope.report.html import render

from .test_stages import ARM64, FIRST_LINES, LATER, imported, phases, stamped

LOADER_LINES = [FIRST_LINES["spl"], FIRST_LINES["bootloader"], "Starting kernel ..."]
KERNEL_LINES = [
    "Linux version 4.4.0 (a@b) (gcc) #1",
    "platform soc:sound: deferred probe pending",
    "VFS: Mounted root (ext4 filesystem) on device 179:2.",
    "Freeing unused kernel memory: 1024K",
    "Run /sbin/init as init process",
]


def test_a_log_without_a_clock_tells_an_order_and_no_seconds() -> None:
    found = imported("\n".join([*LOADER_LINES, *KERNEL_LINES, "board login:", ""]).encode()).trace(1)
    assert not found.timed
    assert (phases(found), found.milestones()) == ([], {})
    assert {point.kind for point in found.points} == {"line"}
    (table,) = found.tables
    assert [row[0] for row in table.rows] == [
        "spl", "bootloader", "kernel-start", "kernel-entry", "kernel-done", "init", "login",
    ]  # fmt: skip
    subject = Subject(found)
    assert b"_seconds{" not in openmetrics.make(subject)
    assert b"time=" not in junit.make(subject)
    assert not of_trace("x/001", found).complete
    assert "<b>no clock</b>" in render([found])


def test_beside_the_kernels_stamps_the_boot_loader_has_no_time_and_a_prompt_only_the_earliest() -> None:
    kernel = ["[    0.000000] Linux version 6.1.0", "[    2.000000] Run /sbin/init as init process"]
    found = imported("\n".join([*LOADER_LINES, *kernel, "board login: ", ""]).encode()).trace(1)
    assert list(found.milestones()) == ["kernel-entry", "init", "login"]
    assert found.earliest() == ["login"]
    assert [row[0] for row in found.tables[0].rows] == ["spl", "bootloader", "kernel-start"]
    metrics = openmetrics.make(Subject(found))
    assert b'milestone="login"' not in metrics
    assert b'milestone="init"' in metrics
    assert b"bootscope_boot_seconds{" not in metrics
    assert (b'phase="kernel"' in metrics, b'phase="init"' in metrics) == (True, False)
    assert found.total_or_later
    assert [span.detail.get("length") for span in found.spans("phase")] == [None, "or more", "not known"]
    assert of_trace("x/001", found).why == "only its earliest end is known"
    assert found.took(seconds) == "≥ 2 s"
    assert "<code>login</code> | 2.000000 s or later |" in markdown.make(Subject(found)).decode()
    assert "login or later" in svg.make(Subject(found)).decode()
    page = render([found])
    assert "<b>≥ 2.000</b> s" in page
    assert '2.000000 s <span class="quiet">or later</span>' in page


def test_a_hosts_log_may_have_lines_without_a_stamp() -> None:
    text = stamped([FIRST_LINES["bootloader"], "Starting kernel ...", ARM64]).decode()
    found = imported(
        f"{text}{LATER[0]}\nVFS: Mounted root (ext4 filesystem)\n[5.000000 4.8] done\n".encode()
    ).trace(1)
    assert found.milestones()["init"] == found.milestones()["kernel-entry"] == 200_000_000
    assert found.earliest() == ["init", "root-mounted"]


def test_of_two_logs_the_one_that_tells_the_time_counts() -> None:
    console = "\n".join([*LOADER_LINES, ARM64, *KERNEL_LINES[:1], "board login:", ""])
    dmesg = "\n".join([ARM64, "[    0.000000] Linux version 4.4.0 (a@b) (gcc) #1", LATER[0], ""])
    raws = [Raw("console.log", console.encode()), Raw("dmesg.txt", dmesg.encode())]
    found = understand(raws, Answers(), strict=True)
    traces = [found.trace(number) for number in range(1, found.boots + 1)]
    assert [trace.milestones().get("init") for trace in traces if "init" in trace.milestones()] == [
        2_000_000_000
    ]


@pytest.mark.parametrize("stamp", ["[    0.000000] ", ""])
def test_a_command_that_prints_the_version_starts_no_kernel(stamp: str) -> None:
    lines = [
        f"{stamp}Linux version 4.4.0 (a@b) (gcc) #1",
        f"{stamp}Run /sbin/init as init process",
        "x login: root",
    ]
    lines += ["~ # uname -a"] * 30
    said = [*lines, "~ # cat /proc/version", "Linux version 4.4.0 (a@b) (gcc) #1", ""]
    assert imported("\n".join(said).encode()).boots == 1
