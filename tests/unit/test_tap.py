# SPDX-License-Identifier: Apache-2.0
"""Captures of real consoles: the file, telnet's bytes, and when each byte came."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture import dating, tap, tapper
from bootscope.capture.telnet import Telnet
from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Source
from bootscope.readers.formats.tap import NETWORK_NS, READERS, stamp_error_ns

MS, BAUD = 1_000_000, 115200
BYTE_NS = 86_805
READER = READERS[0]


def capture(
    *reads: tuple[int, bytes], rate: int = BAUD, events: bytes = b"", source: str = "serial"
) -> bytes:
    opened = tap.event_record(0, "open", source=[source, "/dev/x"], rate=rate)
    return tap.MAGIC + opened + events + b"".join(tap.record(tapper.BYTES, at, data) for at, data in reads)


def test_bytes_and_events_come_back() -> None:
    found = tap.read(
        capture((5, b"ab"), (9, b"c"), events=tap.event_record(3, "power", what="off", at="call"))
    )
    assert (bytes(found.data), list(found.at_ns), list(found.ends)) == (b"abc", [5, 9], [2, 3])
    assert [(e.at_ns, e.name) for e in found.events] == [(0, "open"), (3, "power")]
    assert (found.rate, found.whole) == (BAUD, True)


@given(st.lists(st.tuples(st.integers(0, 2**40), st.binary(min_size=1, max_size=9)), max_size=9), st.data())
def test_however_it_is_cut_the_same_records_come(reads: list[tuple[int, bytes]], draw: st.DataObject) -> None:
    data = capture(*reads)
    decoder, rest = tap.Decoder(), data
    got: list[tuple[int, int, bytes]] = []
    while rest:
        size = draw.draw(st.integers(1, len(rest)))
        got += decoder.feed(rest[:size])
        rest = rest[size:]
    assert [(at, payload) for kind, at, payload in got if kind == tapper.BYTES] == reads
    assert decoder.whole


@given(st.integers(0, 400))
def test_what_was_cut_off_is_whole_up_to_there(size: int) -> None:
    data = capture(*((n, b"line %d\n" % n) for n in range(20)))[:size]
    found = tap.read(data)
    assert b"".join(b"line %d\n" % n for n in range(20)).startswith(bytes(found.data))


@given(st.binary(max_size=200))
def test_damage_is_told_and_nothing_worse(noise: bytes) -> None:
    for data in (noise, capture((1, b"a")) + noise, tap.MAGIC + tap.record(tapper.EVENT, 1, noise)):
        try:
            assert READER.read(Source("x", data), Options()).boots
        except UserError as error:
            assert error.message.isprintable()


def test_something_else_is_refused() -> None:
    with pytest.raises(UserError, match="not a console capture"):
        tap.read(b"bootscope-tap 9\n")
    assert READER.sure(Source("x", b"[    0.0] Linux")) == 0


def test_what_a_serial_server_keeps_back_is_in_the_error() -> None:
    """As measured with ser2net; a port that is listened to itself has no server before it."""
    port, server = (tap.read(capture((MS, b"a"), source=source)) for source in ("serial", "tcp"))
    assert stamp_error_ns(server) - stamp_error_ns(port) == NETWORK_NS == 10 * MS
    found = READER.read(Source("x", capture((MS, b"a"), source="tcp")), Options())
    assert found.boots[0].clock.resolution_ns >= NETWORK_NS


# ---- when a byte came ----


def moments(*reads: tuple[int, bytes], rate: int = BAUD) -> list[int]:
    found = tap.read(capture(*reads, rate=rate))
    return list(dating.arrivals_ns(found, rate))


def test_bytes_of_one_read_are_dated_back_by_the_line_rate() -> None:
    assert moments((MS, b"abc")) == [MS - 2 * BYTE_NS, MS - BYTE_NS, MS]


def test_a_late_read_is_put_right_by_the_next_one() -> None:
    """The first read was late by 3 ms; the second came just after its byte."""
    late, then = 5 * MS, 5 * MS + 10_000
    assert moments((late, b"ab"), (then, b"c")) == [then - 2 * BYTE_NS, then - BYTE_NS, then]


def test_a_pause_stays_a_pause() -> None:
    assert moments((MS, b"a"), (9 * MS, b"b")) == [MS, 9 * MS]


def test_without_a_rate_a_byte_came_when_it_was_read() -> None:
    assert moments((MS, b"abc"), (2 * MS, b"d"), rate=0) == [MS, MS, MS, 2 * MS]


@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=30), st.lists(st.integers(0, 5), max_size=30),
       st.data())  # fmt: skip
def test_no_byte_comes_later_than_its_read_or_nearer_than_a_byte(
    pauses: list[int], _sizes: list[int], draw: st.DataObject
) -> None:
    """A line that keeps its rate, read late and in pieces: stamps lie between the truth and the read."""
    truth, now = [], 0
    for pause in pauses:
        now += BYTE_NS + pause
        truth.append(now)
    reads, at, last = [], 0, 0
    while at < len(truth):
        size = draw.draw(st.integers(1, len(truth) - at))
        last = max(last, truth[at + size - 1] + draw.draw(st.integers(0, 5_000_000)))
        reads.append((last, b"x" * size))
        at += size
    found = moments(*reads)
    read_at = [t for t, data in reads for _ in data]
    assert all(true <= stamp <= read for true, stamp, read in zip(truth, found, read_at, strict=True))
    assert all(b - a >= BYTE_NS for a, b in pairwise(found))


def test_lines_have_the_moment_of_their_first_byte() -> None:
    found = tap.read(capture((MS, b"\r"), (5 * MS, b"ab\r\n"), (9 * MS, b"\n"), (12 * MS, b"end")))
    assert list(dating.lines(found, BAUD)) == [
        (5 * MS - 3 * BYTE_NS, b"ab"),
        (9 * MS, b""),
        (12 * MS - 2 * BYTE_NS, b"end"),
    ]


def power(call: int, back: int) -> bytes:
    return tap.event_record(call, "power", what="on", at="call") + tap.event_record(
        back, "power", what="on", at="return"
    )


@pytest.mark.parametrize(("events", "first_ns", "zero", "half"), [
    (power(10 * MS, 20 * MS), 50 * MS, 15 * MS, 5 * MS),
    (power(10 * MS, 80 * MS), 50 * MS + BYTE_NS, 30 * MS, 20 * MS),  # the first byte narrows it
    (power(60 * MS, 80 * MS), 50 * MS + BYTE_NS, 70 * MS, 10 * MS),  # that byte is of an earlier time
    (b"", 50 * MS + BYTE_NS, 50 * MS, 0),
])  # fmt: skip
def test_zero_lies_between_the_call_and_the_first_byte(
    events: bytes, first_ns: int, zero: int, half: int
) -> None:
    found = dating.zero_of(tap.read(capture((first_ns, b"x"), events=events)))
    assert found[:2] == (zero, half)


# ---- telnet ----


@pytest.mark.parametrize(("sent", "plain"), [
    (b"abc", b"abc"),
    (b"a\xff\xffb", b"a\xffb"),
    (b"\xff\xfb\x2cab\xff\xfd\x00c", b"abc"),
    (b"a\xff\xfa\x2c\x01\xff\xff\x00\xff\xf0b", b"ab"),
    (b"a\r\0\nb\0", b"a\r\nb\0"),
    (b"a\xff\xf1b", b"ab"),
])  # fmt: skip
def test_telnets_own_bytes_are_taken_out(sent: bytes, plain: bytes) -> None:
    assert Telnet().plain(sent) == plain
    bytewise = Telnet()
    assert b"".join(bytewise.plain(bytes([b])) for b in sent) == plain


@given(st.binary(max_size=100))
def test_what_a_server_doubles_comes_back(text: bytes) -> None:
    text = text.replace(b"\r\0", b"")
    assert Telnet().plain(text.replace(b"\xff", b"\xff\xff")) == text


def test_only_sources_that_speak_telnet_are_taken_apart() -> None:
    sent = b"a\xff\xfb\x2cb"
    assert bytes(tap.read(capture((1, sent))).data) == sent
    told = tap.event_record(1, "telnet")
    assert bytes(tap.read(capture((2, sent), events=told)).data) == b"ab"
