# SPDX-License-Identifier: Apache-2.0
"""script's typescript with its times."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import FIRST_BYTE, Options, Reading, Source
from bootscope.readers.formats import typescript
from bootscope.readers.timed_output import stamped

from .fuzzing import check, damaged
from .unpacked import damaged_members, read_unpacked, survives_archive, unpacked

(SCRIPT,) = typescript.READERS
BEGIN = b'Script started on 2026-11-24 22:26:35+00:00 [COMMAND="x" <not executed on terminal>]\n'
END = b'\nScript done on 2026-11-24 22:26:37+00:00 [COMMAND_EXIT_CODE="0"]\n'


def folder(output: bytes, times: bytes) -> Source:
    return Source("x", b"", {"typescript": BEGIN + output + END, "timing": times})


def read_folder(output: bytes, times: bytes) -> Reading:
    reading = SCRIPT.read(folder(output, times), Options())
    check(reading)
    return reading


def told(reading: Reading) -> list[str]:
    return [repair.what for repair in reading.repairs]


@pytest.mark.parametrize("form", ["classic", "advanced", "io"])
def test_all_forms_that_script_writes(form: str) -> None:
    assert SCRIPT.sure(unpacked("typescript", f"{form}.tar")) == 97
    reading = read_unpacked(SCRIPT, "typescript", f"{form}.tar")
    (boot,) = reading.boots
    assert (boot.clock.name, boot.clock.stamp) == ("host", FIRST_BYTE)
    assert boot.facts["started"].startswith("2026-11-24 22:26:3")
    assert not any("bytes, the typescript" in what for what in told(reading))
    (banner,) = boot.log.lines_with(b"U-Boot 2025.01")
    # 694, 704 and 762 ms by the times: the sum up to the piece that begins with the banner's first byte.
    assert 690_000_000 < boot.log.at_ns[banner] < 770_000_000
    assert not list(boot.log.lines_with(b"Script "))


def test_a_line_has_the_time_of_its_first_byte() -> None:
    (boot,) = read_folder(b"one\ntwo\n", b"0.5 2\n0.25 3\n0.25 3\n").boots
    assert list(boot.log) == [(500_000_000, "one"), (750_000_000, "two")]


def test_what_was_typed_is_no_output() -> None:
    times = b"H 0.000000 INPUT_LOG a\nH 0.000000 OUTPUT_LOG a\n"
    times += b"O 1.0 4\nI 1.0 1\nS 1.0 SIGWINCH ROWS=2 COLS=2\nO 1.0 4\n"
    (boot,) = read_folder(b"abc\nXdef\n", times).boots
    assert list(boot.log) == [(1_000_000_000, "abc"), (4_000_000_000, "def")]
    (boot,) = read_folder(b"abc\ndef\n", times.replace(b"INPUT_LOG a", b"INPUT_LOG b")).boots
    assert [text for _, text in boot.log] == ["abc", "def"]


def test_times_of_another_typescript_are_told() -> None:
    assert "the times are of 9 bytes, the typescript has 4" in told(read_folder(b"abc\n", b"0.5 9\n"))
    assert "the times are of 1 bytes, the typescript has 4" in told(read_folder(b"abc\n", b"0.5 1\n"))


def test_one_of_the_two_alone_is_none() -> None:
    pair = folder(b"abc\n", b"0.5 4\n")
    for members in ({"typescript": pair.members["typescript"]}, {**pair.members, "dmesg.txt": b"hello\n"}):
        assert SCRIPT.sure(Source("x", b"", members)) == 0
        with pytest.raises(UserError, match="its times"):
            SCRIPT.read(Source("x", b"", members), Options())


def test_pieces_may_begin_and_end_anywhere() -> None:
    assert stamped([(1, b"a"), (2, b"b\nc\n"), (3, b""), (4, b"\n"), (-5, b"d")]) == (
        b"0.000000001 ab\n0.000000002 c\n0.000000004 \n0.000000000 d"
    )


@settings(max_examples=60, deadline=None)
@given(damaged_members(unpacked("typescript", "advanced.tar")))
def test_a_damaged_folder_does_no_harm(archive: Source) -> None:
    survives_archive(SCRIPT, archive)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_times_do_no_harm(data: st.DataObject) -> None:
    times = unpacked("typescript", "io.tar").members["io/timing"]
    survives_archive(SCRIPT, folder(b"one\ntwo\n", data.draw(damaged(times))))
