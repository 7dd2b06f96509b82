# SPDX-License-Identifier: Apache-2.0
"""The system debian-systemd: put together from packages, recorded exactly, with the units of its systemd."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.stream import Bytes, read
from bootscope.core.paths import cache_dir
from tests.command import Bootscope, recorded_once

pytestmark = [pytest.mark.boot, pytest.mark.campaign]
Recorded = tuple[Bootscope, dict[str, Any]]
SYSTEM = "debian-systemd"
ANEW = ("packages", "initramfs", "rootfs", "card")
SAID = re.compile(
    r"\[.{0,20}OK.{0,20}\] (?:Started|Finished|Reached target) \S*?([a-z][\w@.-]+\.[a-z]+)\S* - "
)


@pytest.fixture(scope="session")
def systemd(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Two boots up to the login prompt, in a store for looking only."""
    return recorded_once(SYSTEM, tmp_path_factory.getbasetemp(), SYSTEM, "--until", "login", "-n", "2")


def tables(command: Bootscope, *arguments: str) -> dict[str, list[dict[str, Any]]]:
    shown = command.json("show", *arguments, "--top", "100000")
    return {table["name"]: table["rows"] for table in shown["tables"]}


def test_two_boots_are_equal_to_the_nanosecond_and_come_to_a_login(systemd: Recorded) -> None:
    command, recorded = systemd
    assert recorded["complete"]
    assert command.stream(recorded, 1) == command.stream(recorded, 2)
    reached = command.json("show")["milestones"]
    assert reached.keys() >= {"default-target", "startup-finished", "application", "first-frame", "login"}
    assert (Path(recorded["boots"][0]["path"]) / "screen.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_failed_to_start(systemd: Recorded) -> None:
    rows = tables(systemd[0], "--view", "units")["units"]
    assert not [row["what"] for row in rows if row["result"] == "failed"]
    assert {"testcard.service", "systemd-udevd.service", "dbus.service", "cron.service"} <= {
        row["what"] for row in rows
    }


def test_units_are_those_that_the_console_names_and_earlier(systemd: Recorded) -> None:
    """The console shows each job's end a moment later: once its serial line has taken the text."""
    command, recorded = systemd
    units = {row["what"]: row for row in tables(command, "--view", "units")["units"]}
    console = (Path(recorded["boots"][0]["path"]) / "console.txt").read_text(errors="replace")
    found = 0
    for line in re.sub(r"\x1b\[[0-9;]*m", "", console).splitlines():
        if match := SAID.search(line):
            shown_ns = int(float(line[1:13]) * 1e9)
            assert units[match[1]]["ready_ns"] <= shown_ns + 1000
            assert units[match[1]]["start_ns"] <= units[match[1]]["ready_ns"]
            found += 1
    assert found > 20


def test_messages_are_kept_whole(systemd: Recorded) -> None:
    records = read(Path(systemd[1]["boots"][0]["path"]) / "stream.bin")
    data = b"".join(record.data for record in records if isinstance(record, Bytes))
    assert b"\nMESSAGE_ID=b07a249cd024414a82dd00cd181378ff\n" in data
    assert b"READY=1" in data


def test_the_chain_to_the_first_frame_goes_through_the_network(systemd: Recorded) -> None:
    found = tables(systemd[0], "--view", "critical-path", "--to", "first-frame")
    chain = found["critical-chain"]
    names = [row["what"] for row in chain]
    assert names[0] == "systemd reads its units"
    assert names[-3:] == ["systemd-networkd-wait-online.service", "network-online.target", "testcard.service"]
    for before, row in pairwise(chain):
        assert row["start_ns"] == before["ready_ns"] + row["gap_ns"]
    assert (
        sum(row["length_ns"] for row in found["critical-path"])
        == systemd[0].json("show")["milestones"]["first-frame"]
    )


def test_the_image_is_the_same_when_it_is_put_together_anew(systemd: Recorded, tmp_path: Path) -> None:
    """From the same packages, in another folder at another time; what is compiled is taken as it is."""
    built = systemd[0].json("build", SYSTEM)
    elsewhere = tmp_path / "another" / "place"
    (elsewhere / "steps").mkdir(parents=True)
    (elsewhere / "sources").symlink_to(cache_dir() / "sources")
    for name, step in built["steps"].items():
        if name not in ANEW:
            path = Path(step["path"])
            (elsewhere / "steps" / path.name).symlink_to(path)
    again = Bootscope(tmp_path / "store", elsewhere).json("build", SYSTEM)
    for name in ANEW:
        for path in Path(built["steps"][name]["path"]).iterdir():
            if path.is_file() and path.name != "meta.json":
                other = Path(again["steps"][name]["path"], path.name)
                assert not other.samefile(path)
                assert other.read_bytes() == path.read_bytes(), f"{name}/{path.name} differs"
