# SPDX-License-Identifier: Apache-2.0
"""The reader of the plugin's stream: what is whole is read, what is cut or foreign does no harm."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.stream import (
    Bytes,
    Clock,
    Cpu,
    Cpus,
    Decoder,
    End,
    Ended,
    Frame,
    Hook,
    Idle,
    Io,
    Kind,
    Light,
    Record,
    Sample,
    Slept,
    StackSample,
    Text,
    Unknown,
    committed_bytes,
    read,
    trim,
)
from bootscope.core.errors import UserError

from .builders import body_records, encode, encode_each, header, stack, stream_file

EVERY_KIND: list[Record] = [
    Io(0, 1, 0x18, 4, 0xFFFFFFFF),
    Io(7, 300, 1 << 40, 8, (1 << 64) - 1),
    Hook(1_000, 3, (), b""),
    Hook(1_000, 200, (0, 1 << 63), b"/sbin/init"),
    Sample(2_000_000_000, 0xC0101234),
    Idle(2_000_000_500, 500),
    Frame(2_000_000_600, 1, 0, False, False, 0xB6F00000),
    Frame(2_000_000_700, 1, 0, True, True, 0xB6F00004),
    Text(2_000_000_700, 2),
    stack(2_000_000_700, 0xC0101234, 0xC0105678, {0: 0xC0104321, 383: 0xFFFFFFFF}),
    Unknown(2_000_000_701, 200, b"from the future"),
    Unknown(2_000_000_702, 0, b""),
    Clock(2_000_000_703, 104_000, -77),
    Cpu(2_000_000_703, 3),
    Cpus(2_000_000_703, 4, 1_000),
    Slept(2_000_000_703, 1 << 40),
    Light(2_000_000_703, 1, 1 << 20, 0xC0101238),
    Bytes(2_000_000_703, b""),
    Bytes(2_000_000_703, bytes(range(255))),
    *(Ended(2_000_000_704, reason, 5) for reason in End),
]


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda r: type(r).__name__)
def test_every_kind_of_record_round_trips(record: Record) -> None:
    assert body_records(encode([record])) == [record]


def test_stamps_are_distances_and_may_go_back() -> None:
    records: list[Record] = [Sample(1_000, 1), Sample(400, 2), Sample(400, 3), Sample(1 << 62, 4)]
    assert body_records(encode(records)) == records


def test_a_body_cut_at_any_byte_gives_the_records_that_were_whole() -> None:
    parts = encode_each(EVERY_KIND)
    whole, ends = b"".join(parts), [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    for cut in range(len(whole) + 1):
        expected = sum(end <= cut for end in ends[1:])
        assert body_records(whole[:cut]) == EVERY_KIND[:expected], f"cut at byte {cut}"


def test_a_file_cut_at_any_byte_gives_a_prefix(tmp_path: Path) -> None:
    data, path = stream_file(EVERY_KIND), tmp_path / "stream.bin"
    seen = []
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        found = read(path)
        assert found == EVERY_KIND[: len(found)]
        seen.append(len(found))
    assert seen == sorted(seen)
    assert seen[-1] == len(EVERY_KIND)


def test_the_header_decides_how_much_is_read(tmp_path: Path) -> None:
    first, *_ = parts = encode_each(EVERY_KIND)
    path = tmp_path / "stream.bin"
    path.write_bytes(header(len(first)) + b"".join(parts))
    assert read(path) == EVERY_KIND[:1]


def test_fed_byte_by_byte_is_the_same_as_fed_at_once() -> None:
    data, decoder = encode(EVERY_KIND), Decoder()
    found = [record for at in range(len(data)) for record in decoder.feed(data[at : at + 1])]
    assert found == EVERY_KIND


@given(st.lists(st.integers(0, len(encode(EVERY_KIND))), max_size=6))
def test_fed_in_any_pieces_is_the_same_as_fed_at_once(cuts: list[int]) -> None:
    data, decoder = encode(EVERY_KIND), Decoder()
    edges = [0, *sorted(cuts), len(data)]
    pieces = [data[a:b] for a, b in itertools.pairwise(edges)]
    assert [record for piece in pieces for record in decoder.feed(piece)] == EVERY_KIND


def test_a_reader_that_stops_early_gets_the_rest_later() -> None:
    decoder = Decoder()
    assert next(decoder.feed(encode(EVERY_KIND))) == EVERY_KIND[0]
    assert list(decoder.feed(b"")) == EVERY_KIND[1:]


NUMBERS = st.integers(0, (1 << 64) - 1)
TIMES = st.integers(0, (1 << 62) - 1)
RECORDS = st.one_of(
    st.builds(Io, TIMES, NUMBERS, NUMBERS, st.sampled_from([1, 2, 4, 8]), NUMBERS),
    st.builds(Hook, TIMES, NUMBERS, st.lists(NUMBERS, max_size=4).map(tuple), st.binary(max_size=64)),
    st.builds(Sample, TIMES, NUMBERS),
    st.builds(Idle, TIMES, NUMBERS),
    st.builds(Frame, TIMES, NUMBERS, NUMBERS, st.booleans(), st.booleans(), NUMBERS),
    st.builds(Text, TIMES, NUMBERS),
    st.builds(Clock, TIMES, NUMBERS, st.integers(-(1 << 62), 1 << 62)),
    st.builds(Ended, TIMES, st.sampled_from(End), NUMBERS),
    st.builds(StackSample, TIMES, NUMBERS, NUMBERS, NUMBERS, st.binary(max_size=200)),
    st.builds(Unknown, TIMES, st.integers(max(Kind) + 1, 255), st.binary(max_size=255)),
)


@given(st.lists(RECORDS, max_size=20))
def test_any_records_round_trip(records: list[Record]) -> None:
    assert body_records(encode(records)) == records


def test_the_words_of_a_stack_are_known_by_their_distance() -> None:
    words = {0: 0xC0104321, 7: 0xC0100001, 383: 0xFFFFFFFF}
    (found,) = body_records(encode([stack(5, 1, 2, words)]))
    assert isinstance(found, StackSample)
    assert (found.pc, found.lr, found.words) == (1, 2, words)


@given(st.binary(max_size=60))
def test_a_damaged_stack_still_has_words(raw: bytes) -> None:
    assert all(at >= 0 and value >= 0 for at, value in StackSample(0, 0, 0, 0, raw).words.items())


@given(st.integers(1, 10), st.binary(max_size=40))
def test_a_record_that_its_payload_does_not_fill_ends_the_stream(kind: int, payload: bytes) -> None:
    """Whatever follows a record that makes no sense cannot be trusted, but nothing is lost before it."""
    good = encode([Sample(1, 1)])
    found = body_records(good + bytes([kind, len(payload), 0]) + payload + encode([Sample(0, 7)]))
    assert found[0] == Sample(1, 1)
    assert len(found) in (1, 3)


@given(st.lists(st.binary(max_size=300), max_size=4))
def test_arbitrary_bytes_never_raise(pieces: list[bytes]) -> None:
    decoder = Decoder()
    in_pieces = [record for piece in pieces for record in decoder.feed(piece)]
    assert in_pieces == body_records(b"".join(pieces))


@given(st.data())
def test_a_damaged_byte_leaves_the_records_before_it_alone(data: st.DataObject) -> None:
    parts = encode_each(EVERY_KIND)
    at = data.draw(st.integers(0, len(b"".join(parts)) - 1))
    damaged = bytearray(b"".join(parts))
    damaged[at] ^= data.draw(st.integers(1, 255))
    before = next(n for n in range(len(parts)) if len(b"".join(parts[: n + 1])) > at)
    assert body_records(bytes(damaged))[:before] == EVERY_KIND[:before]


@given(st.one_of(st.binary(max_size=100), st.binary(max_size=60).map(lambda rest: b"BSCOPE1\n" + rest)))
def test_an_arbitrary_header_is_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(UserError):
        assert committed_bytes(data) >= 0


def test_a_header_that_is_not_there_yet_means_nothing_is_committed() -> None:
    assert committed_bytes(b"") == committed_bytes(b"BSCOPE") == committed_bytes(bytes(64)) == 0


def test_a_wrong_magic_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "stream.bin"
    path.write_bytes(header(0, magic=b"\x7fELF\x01\x01\x01\0"))
    with pytest.raises(UserError, match="not a bootscope stream"):
        read(path)


def test_a_newer_version_is_refused_by_number() -> None:
    with pytest.raises(UserError, match=r"version 2 is newer .* \(1\)"):
        committed_bytes(header(0, version=2))


def test_trim_cuts_off_what_was_allocated_ahead(tmp_path: Path) -> None:
    path = tmp_path / "stream.bin"
    path.write_bytes(stream_file(EVERY_KIND, spare=1 << 16))
    trim(path)
    assert path.read_bytes() == stream_file(EVERY_KIND)
    trim(path)
    assert path.read_bytes() == stream_file(EVERY_KIND)


@pytest.mark.parametrize("committed", [10_000, (1 << 64) - 1])
def test_trim_never_makes_a_file_longer(tmp_path: Path, committed: int) -> None:
    """The raw capture is never edited: a damaged header must not make up bytes."""
    data, path = header(committed) + encode(EVERY_KIND), tmp_path / "stream.bin"
    path.write_bytes(data)
    trim(path)
    assert path.stat().st_size == len(data)


def test_trim_leaves_a_file_without_a_whole_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "stream.bin"
    path.write_bytes(b"BSCOPE")
    trim(path)
    assert path.read_bytes() == b"BSCOPE"
