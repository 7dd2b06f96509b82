# SPDX-License-Identifier: Apache-2.0
"""Damage for readers: what they must survive, and what must hold whatever they are given."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.timeline.trace import TRACK_KINDS, Track

FIXTURES = Path(__file__).parents[1] / "fixtures" / "readers"
_LIMIT_NS = 1 << 63


def source(*parts: str) -> Source:
    """A fixture by its path below tests/fixtures/readers."""
    return Source(parts[-1], FIXTURES.joinpath(*parts).read_bytes())


def read(reader: Reader, *parts: str, **values: str) -> Reading:
    """What `reader` makes of a fixture; whatever must hold for every reading does."""
    reading = reader.read(source(*parts), Options(values=values))
    check(reading)
    return reading


@st.composite
def damaged(draw: st.DrawFn, data: bytes, most: int = 4096) -> bytes:
    """A piece of `data` with some of it cut out, doubled, swapped or overwritten."""
    start = draw(st.integers(0, max(0, len(data) - most)))
    piece = bytearray(data[start : start + most])
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(piece)))
        length = draw(st.integers(0, 200))
        way = draw(st.sampled_from(("cut", "double", "overwrite", "insert", "digits")))
        part = bytes(piece[at : at + length])
        if way == "cut":
            del piece[at : at + length]
        elif way == "double":
            piece[at:at] = part
        elif way == "overwrite":
            piece[at : at + length] = draw(st.binary(max_size=40))
        elif way == "insert":
            other = draw(st.integers(0, len(data)))
            piece[at:at] = data[other : other + length]
        else:
            piece[at:at] = draw(
                st.sampled_from((b"9" * 30, b"-1", b"0x", b"\0", b"\r", b"  ", b"{{{", b"}}"))
            )
    return bytes(piece)


def survives(reader: Reader, data: bytes) -> None:
    """Reads `data`: an error is a UserError, and a reading is in order."""
    given = Source("damaged", data)
    assert 0 <= reader.sure(given) <= 100
    try:
        reading = reader.read(given, Options())
    except UserError:
        return
    check(reading)


def check(reading: Reading) -> None:
    """What must hold for every reading."""
    counted = reading.lines_understood + len(reading.missed) + reading.lines_empty
    assert counted == reading.lines_total
    for boot in reading.boots:
        assert all(-_LIMIT_NS <= at < _LIMIT_NS for at in boot.log.at_ns)
        idents = [track.ident for track in boot.tracks]
        assert len(idents) == len(set(idents))
        for track in boot.tracks:
            check_track(track)
        for table in boot.tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(stack.frames and stack.ns >= 0 for stack in boot.stacks)


def check_track(track: Track) -> None:
    """Spans in order, longest first, nested unless the track says otherwise."""
    assert track.kind in TRACK_KINDS
    keys = [(span.start_ns, -span.end_ns) for span in track.spans]
    assert keys == sorted(keys)
    above: list[int] = []
    for span in track.spans:
        assert -_LIMIT_NS <= span.start_ns <= span.end_ns < _LIMIT_NS
        if track.overlaps:
            continue
        while above and above[-1] <= span.start_ns:
            above.pop()
        assert not above or span.end_ns <= above[-1], (track.ident, span)
        above.append(span.end_ns)
