# SPDX-License-Identifier: Apache-2.0
"""What a capture of pins was read as, kept beside it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

import pytest

from bootscope.capture.imported import Raw
from bootscope.core.errors import UserError
from bootscope.importing import files
from bootscope.importing.files import READ, FileRead, read_once
from bootscope.readers.kept import key

from .uart_wave import sampled, sent, session, vcd

S = 1_000_000_000
VALUES = {"uart": "D2:115200", "pin": "D0=high:app-ready"}


def capture(kind: str = "vcd", ready_ns: int = S // 2) -> Raw:
    """One second of a console and a pin."""
    wave = list(sampled(sent([(S // 10, "äöü\n".encode()), (S // 5, b"[    1.5] two\n")], 115200), 1_000_000))
    channels = {"D0": [(0, 0), (ready_ns, 1)], "D2": wave}
    data = session(channels, S, 1_000_000) if kind == "sr" else vcd(channels, S)
    return Raw(f"pins.{kind}", data)


def told(found: FileRead) -> object:
    """All that a reading says, in a form that can be compared."""
    boots = [
        (b.clock, list(b.log), list(b.log.kernel_ns), list(b.log.level), b.tracks, b.points, b.facts)
        for b in found.reading.boots
    ]
    counts = (found.reading.lines_total, found.reading.lines_understood, found.reading.lines_empty)
    rest = (found.reading.missed, found.reading.repairs, found.reading.questions)
    guesses = [(guess.reader.name, guess.sure) for guess in found.guesses]
    return boots, counts, rest, guesses, found.name, found.raw, found.size_bytes, found.reader.name


def nobody() -> AbstractContextManager[mock.Mock]:
    """Nothing may be read anew."""
    return mock.patch.object(files, "understand", side_effect=AssertionError("it was read anew"))


@pytest.mark.parametrize("kind", ["vcd", "sr"])
def test_the_second_reading_says_the_same_without_reading(tmp_path: Path, kind: str) -> None:
    first = read_once(capture(kind), VALUES, tmp_path / READ)
    assert [line for _, line in first.reading.boots[0].log] == ["äöü", "[    1.5] two"]
    with nobody():
        second = read_once(capture(kind), VALUES, tmp_path / READ)
    assert told(second) == told(first)


def test_another_capture_and_other_options_are_read_anew(tmp_path: Path) -> None:
    read_once(capture(), VALUES, tmp_path / READ)
    other = read_once(capture(ready_ns=S // 4), VALUES, tmp_path / READ)
    assert [p.at_ns for p in other.reading.boots[0].points if p.kind == "milestone"] == [S // 4]
    named = read_once(capture(ready_ns=S // 4), {"pin": "D0=high:tick"}, tmp_path / READ)
    assert [p.name for p in named.reading.boots[0].points if p.kind == "milestone"] == ["tick"]


def test_another_version_of_the_readers_reads_anew(tmp_path: Path) -> None:
    before = key(b"x", VALUES)
    with mock.patch("bootscope.readers.kept.code_id", return_value=b"another"):
        assert key(b"x", VALUES) != before
    assert key(b"x", {**VALUES}) == before


def test_what_is_damaged_is_made_anew(tmp_path: Path) -> None:
    file = tmp_path / READ
    first = read_once(capture(), VALUES, file)
    whole = file.read_bytes()
    for size in (0, 50, len(key(b"", {})), len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert told(read_once(capture(), VALUES, file)) == told(first)
        assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_to_is_no_obstacle(tmp_path: Path) -> None:
    found = read_once(capture(), VALUES, tmp_path / "missing" / READ)
    assert len(found.reading.boots[0].log) == 2


def test_what_cannot_be_read_is_told_each_time(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(UserError, match="no channel 'D9'"):
            read_once(capture(), {"pin": "D9=high:x"}, tmp_path / READ)
    assert not (tmp_path / READ).exists()
