# SPDX-License-Identifier: Apache-2.0
"""Files of other people that are made to do harm: refused or read, in words and with exit code 2 or 0."""

from __future__ import annotations

import io
import json
import random
import tarfile
from pathlib import Path

import msgspec
import pytest

from bootscope.capture import record, tap, tapper
from bootscope.core.errors import UserError
from bootscope.core.jsonlines import JsonLines
from bootscope.core.text import setting
from bootscope.inventory.machine import processors
from bootscope.regression import debs, roots

from . import artefact_builders as made
from . import tree_builders as trees
from .conftest import Command
from .known_builders import inventory_of

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5_000


def tree_with(folder: Path, script: bytes) -> Path:
    made.made_tree(folder)
    path = folder / "sbin/first"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(script)
    path.chmod(0o755)
    return folder


def test_a_first_script_with_nul_bytes(main_here: Command, tmp_path: Path) -> None:
    tree_with(tmp_path / "root", b"#!/bin/sh\nmount -t proc \x000\x00 /proc\nexec /bin/app\n")
    (tmp_path / "words").write_text("console=ttyS0,115200 rdinit=/sbin/first root=/dev/ram0\n")
    done = main_here("audit", "root", "words", "--all")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_a_log_with_numbers_of_more_digits_than_python_converts() -> None:
    known = inventory_of(log=f"[    0.000000] Memory: 1K/{LONG}K available\n[    0.1] {LONG} CPUs\n")
    assert known.memory_bytes == 0
    assert processors(known) == 0


def test_an_event_of_a_capture_that_is_a_list() -> None:
    data = tap.MAGIC + tap.event_record(1, "begin") + tap.record(tapper.EVENT, 2, b"[]")
    with pytest.raises(UserError, match="an event cannot be read"):
        tap.read(data)


def test_a_setting_that_is_no_python() -> None:
    assert setting("{[]: 1}") == "{[]: 1}"


@pytest.mark.parametrize("value", [DEEP.encode(), b'"\xff"'], ids=["deep", "no text"])
def test_a_damaged_record_of_a_run(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(b'{"schema": 1, "x": ' + value + b"}")
    with pytest.raises(UserError, match="cannot be read"):
        record.read_json(path, record.RunInfo)


class Note(msgspec.Struct):
    """A line of a file."""

    number: int


def test_a_line_that_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(f'{{"number": 1}}\n{{"number": 2, "x": {DEEP}}}\n{{"number": 3}}\n')
    assert [note.number for note in JsonLines(path, Note).read()] == [1, 3]


@pytest.mark.parametrize("value", [DEEP, '{"a":' * 50_000 + "1" + "}" * 50_000], ids=["lists", "tables"])
def test_a_journal_with_a_field_that_is_nested_too_deeply(
    main_here: Command, tmp_path: Path, value: str
) -> None:
    lines = [
        f'{{"__CURSOR":"a","__REALTIME_TIMESTAMP":"1700000000{n:06}","__MONOTONIC_TIMESTAMP":"{n * 1000}",'
        f'"_BOOT_ID":"{"a" * 32}","MESSAGE":"line {n}","PRIORITY":"6","_TRANSPORT":"kernel"}}'
        for n in range(30)
    ]
    lines[9] = f'{lines[9][:-1]},"X":{value}}}'
    (tmp_path / "boot.json").write_text("\n".join(lines) + "\n")
    done = main_here("import", "boot.json")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "systemd journal" in done.stdout


def damaged_archive(path: Path, kind: str) -> Path:
    """A tar archive, compressed, with some bytes of its middle changed."""
    chance = random.Random(1)
    with tarfile.open(path, mode=f"w:{kind}", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
        for number in range(20):
            text = "".join(f"{chance.randrange(9999)} words\n" for _ in range(2000)).encode()
            member = tarfile.TarInfo(f"{number}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = b"\xff" * 200
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2"])
def test_archives_that_are_damaged_in_their_middle(tmp_path: Path, kind: str) -> None:
    path = damaged_archive(tmp_path / "a", kind)
    for work in ("debs", "root"):
        (tmp_path / work).mkdir()
    with pytest.raises(UserError):
        debs.in_tar(path, tmp_path / "debs")
    with pytest.raises(UserError, match="nor a tar archive"):
        roots.opened(path, tmp_path / "root")


def test_variables_of_a_build_that_are_no_text(main_here: Command, tmp_path: Path) -> None:
    """Bytes of the environment that are no UTF-8 come as halves of surrogate pairs."""
    folder = trees.yocto(tmp_path / "build")
    for path in (folder / "tmp/deploy/images/qemuarm").glob("*.testdata.json"):
        odd = {"APPEND": "x\udcff quiet", "DISTRO": "\ud800", "TARGET_PREFIX": "\ud800"}
        path.write_text(json.dumps(json.loads(path.read_text()) | odd))
    for path in (folder / "tmp/deploy/images/qemuarm").glob("*.qemuboot.conf"):
        path.unlink()
    done = main_here("system", "import", folder, "--as", "odd")
    assert done.returncode == 0, done.stderr[-2000:]
    assert main_here("audit", "odd").returncode == 0
