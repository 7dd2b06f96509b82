# SPDX-License-Identifier: Apache-2.0
"""systemd-analyze dump in the form of systemd's unit_dump(), written by hand; and the views of units."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.readers.base import Options, Reading, Source
from bootscope.readers.formats import systemd_dump
from tests.command import environment

from .fuzzing import FIXTURES
from .unpacked import unpacked

(DUMP,) = systemd_dump.READERS
_S_NS = 1_000_000_000
TEXT = """\
Manager: systemd 247 (247.3-7)
Features: +PAM -SELINUX
Timestamp userspace: Wed 2020-08-26 12:33:38 EDT
Timestamp finish: Wed 2020-08-26 12:33:52 EDT
-> Unit slow.service:
\tDescription: A slow one
\tInstance: n/a
\tUnit Load State: loaded
\tUnit Active State: active
\tInactive Exit Timestamp: Wed 2020-08-26 12:33:40 EDT
\tActive Enter Timestamp: Wed 2020-08-26 12:33:47 EDT
\tActive Exit Timestamp: n/a
\tInactive Enter Timestamp: n/a
\tMay GC: no
\tAfter: basic.target (origin-default)
\tAfter: absent.target
\t-> Job 7:
\t\tAction: slow.service -> start
-> Unit basic.target:
\tDescription: Basic System
\tInactive Exit Timestamp: Wed 2020-08-26 12:33:40 EDT
\tActive Enter Timestamp: Wed 2020-08-26 12:33:40 EDT
\tActive Exit Timestamp: n/a
-> Unit never.service:
\tInactive Exit Timestamp: n/a
\tActive Enter Timestamp: n/a
"""


def _read(text: str) -> Reading:
    return DUMP.read(Source("x", text.encode("utf-8", "replace")), Options())


def _view(folder: Path, view: str, *files: Path) -> Any:
    """The rows of `bootscope show --view` of imported files, or what it says against that."""
    command, env = [sys.executable, "-m", "bootscope"], environment(folder / "store")
    subprocess.run([*command, "import", *map(str, files)], env=env, check=True, capture_output=True)
    shown = [*command, "show", "last", "--view", view, "--json"]
    done = subprocess.run(shown, env=env, capture_output=True, check=False)
    return json.loads(done.stdout)["tables"][0]["rows"] if done.returncode == 0 else done.stderr.decode()


def test_units_have_the_dates_of_the_dump_and_their_order() -> None:
    assert DUMP.sure(Source("x", TEXT.encode())) >= 90
    reading = _read(TEXT)
    assert not reading.missed
    (boot,) = reading.boots
    assert boot.clock.name == "wall" and boot.clock.resolution_ns == _S_NS
    units = {track.title: track.spans[0] for track in boot.tracks}
    assert set(units) == {"slow.service", "basic.target"}
    assert units["slow.service"].duration_ns == 7 * _S_NS
    assert units["slow.service"].detail == {"description": "A slow one", "after": "basic.target"}
    begins_ns, ends_ns = (p.at_ns for p in boot.points)
    assert ends_ns - begins_ns == 14 * _S_NS
    assert units["slow.service"].start_ns - begins_ns == 2 * _S_NS


def test_a_date_of_another_zone_gives_no_time_and_is_listed() -> None:
    reading = _read(TEXT.replace("12:33:47 EDT", "16:33:47 UTC"))
    assert {track.title for track in reading.boots[0].tracks} == {"basic.target"}
    assert [r.what for r in reading.repairs] == ["dates of another time zone than most are left out"]


def test_an_impossible_date_is_none() -> None:
    reading = _read(TEXT.replace("2020-08-26 12:33:40", "2020-02-31 12:33:40"))
    assert not [track for track in reading.boots[0].tracks if track.spans]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 200), st.text(max_size=20))
def test_a_damaged_dump_never_crashes(start: int, length: int, put: str) -> None:
    text = "-> Unit a.service:\n" + TEXT[:start] + put + TEXT[start + length :]
    DUMP.sure(Source("x", text.encode("utf-8", "replace")))
    for track in _read(text).boots[0].tracks:
        assert all(span.end_ns >= span.start_ns for span in track.spans)


def test_the_views_of_units_and_their_chain(tmp_path: Path) -> None:
    both = tmp_path / "systemctl.txt"
    manager = (FIXTURES / "systemd" / "manager.txt").read_bytes()
    both.write_bytes(manager + b"\n" + unpacked("systemd", "units.txt.gz").data)
    rows = _view(tmp_path, "units", both)
    slow = next(row for row in rows if row["what"] == "slow-setup.service")
    assert slow["kind"] == "service" and slow["ready_ns"] - slow["start_ns"] == slow["total_ns"] > 0
    chain = _view(tmp_path, "critical-path", both)
    assert chain[-1]["what"] == "graphical.target" and len(chain) > 1
    for before, after in pairwise(chain):
        assert after["after"] == before["what"]
        assert after["gap_ns"] == after["start_ns"] - before["ready_ns"] >= 0
    # systemd-analyze critical-chain says the same of this boot, in critical-chain.txt.
    names = [row["what"] for row in chain]
    assert names[names.index("slow-setup.service") :] == [
        "slow-setup.service", "ssh.service", "multi-user.target", "graphical.target",
    ]  # fmt: skip


def test_systemds_own_chain_is_the_critical_path_of_its_text(tmp_path: Path) -> None:
    rows = _view(tmp_path, "critical-path", FIXTURES / "systemd" / "critical-chain.txt")
    assert rows[-1]["what"] == "graphical.target"
    assert {"slow-setup.service", "ssh.service"} <= {row["what"] for row in rows}


@pytest.mark.parametrize("view", ["units", "critical-path"])
def test_a_log_without_units_says_so(tmp_path: Path, view: str) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "[    0.000000] Linux version 6.6.1 (a@b)\n[    1.000000] Run /sbin/init as init process\n"
    )
    assert "systemctl show" in _view(tmp_path, view, log)


def test_the_arrow_of_utf_8_and_keys_with_digits() -> None:
    text = (
        "Manager: systemd 262.1 (262.1-1)\n→ Unit a.socket:\n\tDescription: A\n\tBindIPv6Only: default\n"
        "\tInactive Exit Timestamp: Tue 2026-11-24 21:43:48 UTC\n"
        "\tActive Enter Timestamp: Tue 2026-11-24 21:43:49 UTC\n"
    )
    given_source = Source("x", text.encode())
    assert DUMP.sure(given_source) >= 90
    reading = DUMP.read(given_source, Options())
    assert not reading.missed
    assert [t.title for t in reading.boots[0].tracks] == ["a.socket"]
