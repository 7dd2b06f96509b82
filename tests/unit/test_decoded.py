# SPDX-License-Identifier: Apache-2.0
"""Records kept beside their stream: the same records, and never those of another stream."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture import decoded, stream
from bootscope.capture.stream import (
    Bytes,
    Clock,
    End,
    Ended,
    Frame,
    Hook,
    Idle,
    Io,
    Record,
    Sample,
    StackSample,
    Text,
    Unknown,
)
from tests.fixtures.stock_boot import FOLDER

STREAM = gzip.decompress((FOLDER / "stream.bin.gz").read_bytes())

number = st.integers(0, 2**63 - 1)
record = st.one_of(
    st.builds(Io, number, number, number, number, number),
    st.builds(Hook, number, number, st.tuples(number, number), st.binary(max_size=40)),
    st.builds(Sample, number, number),
    st.builds(Idle, number, number),
    st.builds(Frame, number, number, number, st.booleans(), st.booleans(), number),
    st.builds(Text, number, number),
    st.builds(Clock, number, number, st.integers(-(2**62), 2**62)),
    st.builds(Ended, number, st.sampled_from(End), number),
    st.builds(StackSample, number, number, number, number, st.binary(max_size=40)),
    st.builds(Bytes, number, st.binary(max_size=40)),
    st.builds(Unknown, number, number, st.binary(max_size=40)),
)


@given(st.lists(record, max_size=20))
def test_what_is_kept_is_what_comes_back(
    tmp_path_factory: pytest.TempPathFactory, made: list[Record]
) -> None:
    folder = tmp_path_factory.mktemp("boot")
    path, kept = folder / "stream.bin", folder / "records.bin"
    path.write_bytes(b"whatever")
    decoded.keep(path, made, kept)
    assert decoded.read(path, kept) == made


def test_a_recorded_boot_reads_the_same_both_ways(tmp_path: Path) -> None:
    path, kept = tmp_path / "stream.bin", tmp_path / "records.bin"
    path.write_bytes(STREAM)
    records = decoded.read(path, kept)
    assert records == stream.read(path)
    assert not kept.exists()  # who only reads writes nothing
    decoded.keep(path, records, kept)
    assert decoded.read(path, kept) == records


@pytest.mark.parametrize("damage", [b"", b"1 ", b"1 nonsense\n\x90", b"\xff" * 100])
def test_a_damaged_file_is_done_without(tmp_path: Path, damage: bytes) -> None:
    path, kept = tmp_path / "stream.bin", tmp_path / "records.bin"
    path.write_bytes(STREAM)
    kept.write_bytes(damage)
    assert decoded.read(path, kept) == stream.read(path)


def test_cut_short_it_is_done_without(tmp_path: Path) -> None:
    path, kept = tmp_path / "stream.bin", tmp_path / "records.bin"
    path.write_bytes(STREAM)
    decoded.keep(path, stream.read(path), kept)
    kept.write_bytes(kept.read_bytes()[:-10])
    assert decoded.read(path, kept) == stream.read(path)


def test_records_of_another_stream_are_not_used(tmp_path: Path) -> None:
    path, kept = tmp_path / "stream.bin", tmp_path / "records.bin"
    path.write_bytes(STREAM)
    decoded.keep(path, [Sample(1, 2)], kept)
    path.write_bytes(STREAM + b"x")
    assert decoded.read(path, kept) == stream.read(path)
