# SPDX-License-Identifier: Apache-2.0
"""asciinema's recordings: version 2 by asciinema itself, version 3 in the form of its documents."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import FIRST_BYTE, Options, Reading, Source
from bootscope.readers.formats import asciicast

from .fuzzing import check, damaged, read, source, survives

(CAST,) = asciicast.READERS
V2, V3 = '{"version": 2, "width": 80, "height": 24}\n', '{"version": 3, "term": {"cols": 80, "rows": 24}}\n'


def read_text(text: str) -> Reading:
    reading = CAST.read(Source("x", text.encode()), Options())
    check(reading)
    return reading


def test_a_recording_of_version_2() -> None:
    assert CAST.sure(source("asciicast", "v2.cast")) == 97
    (boot,) = read(CAST, "asciicast", "v2.cast").boots
    assert (boot.clock.name, boot.clock.stamp, boot.clock.resolution_ns) == ("host", FIRST_BYTE, 1_000)
    (banner,) = boot.log.lines_with(b"U-Boot 2025.01")
    assert (boot.log.at_ns[banner], boot.log.text(banner)) == (
        419_505_000,
        "U-Boot 2025.01 (Nov 21 2026 - 11:14:10 +0000)",
    )


def test_version_3_counts_from_the_event_before() -> None:
    events = (
        '# a comment\n[0.5, "o", "one\\n"]\n[1.0, "r", "90x30"]\n[0.25, "o", "two\\n"]\n[0.1, "x", "0"]\n'
    )
    assert CAST.sure(Source("x", (V3 + events).encode())) == 97
    reading = read_text(V3 + events)
    assert list(reading.boots[0].log) == [(500_000_000, "one"), (1_750_000_000, "two")]
    assert reading.repairs == [] and reading.boots[0].clock.resolution_ns == 1_000_000


def test_what_is_typed_and_what_is_broken_is_left_out() -> None:
    text = V2 + '[0.5, "o", "one\\n"]\n[0.6, "i", "secret"]\n[-1, "o", "x"]\n[0.7, "o"]\n[0.7, "o", "tw'
    reading = read_text(text)
    assert list(reading.boots[0].log) == [(500_000_000, "one")]
    assert [(r.what, r.count) for r in reading.repairs] == [("lines that are no events left out", 3)]


def test_something_else_is_refused() -> None:
    for text in ("hello\n", '{"version": 4}\n[0.5, "o", "one"]\n', V2):
        assert CAST.sure(Source("x", text.encode())) == 0
    with pytest.raises(UserError):
        CAST.read(Source("x", b"hello\n"), Options())


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_does_no_harm(data: st.DataObject) -> None:
    survives(CAST, data.draw(damaged(source("asciicast", "v2.cast").data)))
