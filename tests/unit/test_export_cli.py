# SPDX-License-Identifier: Apache-2.0
"""bootscope export, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.export.registry import EXPORTERS, for_file, named
from tests.fixtures.stock_boot import unpack

from .conftest import Command


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    return unpack(Store(tmp_path / "store"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.pftrace", "perfetto"), ("A.PERFETTO-TRACE", "perfetto"), ("a.svg", "svg"), ("a.csv", "csv"),
        ("a.md", "markdown"), ("a.prom", "openmetrics"), ("a.txt", "openmetrics"), ("a.xml", "junit"),
        ("a.folded", "collapsed"), ("a.speedscope.json", "speedscope"),
    ],
)  # fmt: skip
def test_a_file_name_tells_the_format(name: str, wanted: str) -> None:
    assert for_file(name).name == wanted


def test_a_name_that_tells_nothing_says_what_to_do() -> None:
    with pytest.raises(UserError) as caught:
        for_file("a.json")
    assert caught.value.hint == "--format chrome or --format speedscope: both are JSON"
    with pytest.raises(UserError) as caught:
        for_file("a\x1b")
    assert "a\\x1b" in caught.value.message
    with pytest.raises(UserError) as caught:
        named("pdf")
    assert "perfetto" in str(caught.value.hint)


def test_names_and_suffixes_are_unique() -> None:
    suffixes = [suffix for exporter in EXPORTERS for suffix in exporter.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert len({exporter.name for exporter in EXPORTERS}) == len(EXPORTERS)


@pytest.mark.parametrize("name", ["perfetto", "chrome", "svg"])
def test_a_file_of_a_recorded_boot(main_here: Command, recorded: str, name: str, tmp_path: Path) -> None:
    done = main_here("export", recorded, "--format", name, "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    size = (tmp_path / "out").stat().st_size
    assert told == {
        "schema": 1, "kind": "export", "path": "out", "bytes": size, "format": name,
        "boot": f"{recorded}/001",
    }  # fmt: skip
    assert size > 1000


def test_text_goes_to_standard_output(main_here: Command, recorded: str) -> None:
    done = main_here("export", "--format", "junit", "-o", "-")
    assert done.stdout.startswith("<?xml")
    assert 'name="first-frame"' in done.stdout
    assert recorded in done.stdout


def test_the_formats_are_listed_without_any_recording(main_here: Command) -> None:
    assert all(e.name in main_here("export", "--formats").stdout for e in EXPORTERS)
    listed = json.loads(main_here("export", "--formats", "--json").stdout)["formats"]
    assert [row["name"] for row in listed] == [e.name for e in EXPORTERS]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "where to?"),
        (["-o", "-"], "no name to derive the format"),
        (["-o", "-", "--format", "perfetto"], "perfetto is a binary format"),
        (["-o", "-", "--format", "csv", "--json"], "both write to standard output"),
        (["-o", "x.json"], "does not determine the format"),
        (["-o", "x.svg", "--format", "nonsense"], "unknown format"),
        (["-o", "no-folder/x.svg"], "cannot write"),
    ],
)
def test_what_cannot_be_is_said(main_here: Command, recorded: str, arguments: list[str], words: str) -> None:
    done = main_here("export", recorded, *arguments)
    assert done.returncode == 2
    assert words in done.stderr


def test_an_imported_boot_is_exported_and_reported_too(main_here: Command, tmp_path: Path) -> None:
    (tmp_path / "boot.log").write_text(
        "[    0.000000] Linux version 6.12\n[    1.500000] Run /init as init process\n"
    )
    read = main_here("import", "boot.log", "--milestone", "app-ready=Run /init")
    assert read.returncode == 0, read.stderr
    told = json.loads(main_here("export", "-o", "boot.prom", "--json").stdout)
    assert told["boot"].endswith("/001")
    assert 'milestone="app-ready"} 1.5' in (tmp_path / "boot.prom").read_text()
    assert main_here("report", "-o", "boot.html").returncode == 0
    assert "Run /init as init process" in (tmp_path / "boot.html").read_text()
    assert main_here("export", "last/2", "-o", "boot.prom").returncode == 2
