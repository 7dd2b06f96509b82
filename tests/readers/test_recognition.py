# SPDX-License-Identifier: Apache-2.0
"""Every fixture is recognised by its content alone as what it is, and by a margin."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootscope.readers.detect import SURE_ENOUGH, rank
from bootscope.readers.registry import readers
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

from .fuzzing import FIXTURES

MARGIN = 5
# Folders of fixtures that hold more than one format.
FAMILIES = {
    # With the console log around it, and without stamps.
    "bootchart": {"bootchart", "systemd-bootchart", "plain"},
    "bootstage": {"bootstage", "bootstage-fdt", "bootstage-folder", "bootstage-stash", "plain"},
    "dmesg": {"dmesg", "plain"},
    "analyser": {"analyser-csv", "sigrok", "vcd"},
    "firmware_lines": {"slim-bootloader", "ti-boot-tracker"},
    "pmf": {"pmf", "plain"},
    # With perf's text of the same recording.
    "babeltrace": {"babeltrace", "perf-script"},
    # The files, and the texts that trace-cmd makes of them.
    "trace-cmd": {"trace-cmd", "ftrace"},
    "sigrok-uart": {"sigrok-uart", "sigrok"},
    "join": {"dmesg", "grabserial"},
    "systemd": {
        "systemctl",
        "systemd-analyze",
        "systemd-blame-json",
        "systemd-plot-json",
        "systemd-plot-svg",
        "systemd-plot-table",
    },
}
# Parts of an archive or folder, and memory without a mark: no format by themselves, or only when told.
ALONE = {"bootchart/kernel_pacct", "bootstage/stash-arm.bin"}
FILES = sorted(p for p in FIXTURES.rglob("*") if p.is_file() and p.name != "README.md")


def family(folder: str) -> set[str]:
    """The formats whose fixtures are in a folder."""
    own = {r.name for r in readers() if r.name == folder or r.name.startswith(f"{folder}-")}
    return FAMILIES.get(folder, own)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(FIXTURES)) for p in FILES])
def test_a_fixture_is_recognised_by_its_content(path: Path) -> None:
    name = str(path.relative_to(FIXTURES))
    if name in ALONE:
        return
    # The name must not help.
    found = rank(opened("x", path.read_bytes(), Budget()).source)
    assert found, name
    allowed = family(name.split("/")[0])
    assert found[0].reader.name in allowed
    assert found[0].sure >= SURE_ENOUGH
    others = [guess for guess in found if guess.reader.name not in allowed]
    assert not others or found[0].sure - others[0].sure >= MARGIN


def test_every_reader_is_told_apart_from_noise() -> None:
    for case in (b"", b"\n", b"hello\n", bytes(4096), b"\xff" * 4096, b"a,b\n1,2\n", b"{}", b"[]", b"<svg/>"):
        assert [g.reader.name for g in rank(opened("x", case, Budget()).source) if g.sure >= 60] == []
