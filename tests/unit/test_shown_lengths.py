# SPDX-License-Identifier: Apache-2.0
"""Lengths of time in the tables of logs: with a unit that fits, on the terminal and in the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command import ROOT, Bootscope

from .on_a_terminal import on_a_terminal

BLAME = ROOT / "tests/fixtures/readers/systemd/blame.txt"


@pytest.fixture
def imported(tmp_path: Path) -> Bootscope:
    found = Bootscope(tmp_path / "store", tmp_path / "cache")
    assert found.run("import", BLAME).returncode == 0
    return found


def test_the_terminal_shows_how_long_units_took(imported: Bootscope) -> None:
    text = imported.run("show").stdout
    table = text[text.index("Units by the time they took to start") :].splitlines()
    assert table[1].split() == ["unit", "time"]
    assert re.search(r" (\d+\.\d+ (s|ms|µs))$", table[2].rstrip())


def test_the_page_shows_them_in_ms(imported: Bootscope, tmp_path: Path) -> None:
    assert imported.run("report", "-o", tmp_path / "a.html").returncode == 0
    assert "time ms" in (tmp_path / "a.html").read_text()


def test_import_fits_a_terminal(tmp_path: Path) -> None:
    text = on_a_terminal(
        "import", str(BLAME.with_name("plot-short.json")), BOOTSCOPE_STORE=str(tmp_path / "store")
    )
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert max(map(len, plain)) <= 80
    at = next(n for n, line in enumerate(plain) if line.startswith("  clock"))
    assert plain[at + 1].startswith(" " * 12)
