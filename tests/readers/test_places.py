# SPDX-License-Identifier: Apache-2.0
"""All places of some texts in one pass: the same as looking for each by itself."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from bootscope.readers.base import Log
from bootscope.readers.places import Places

_TEXTS = (b"ab", b"aba", b"b", b"init: ", b"\xff\0")
_LONG = b"".join(b"line %d aba init: \xff\0\n" % n for n in range(120_000))


@given(st.lists(st.sampled_from([*_TEXTS, b"a", b"\n", b"x"])).map(b"".join), st.integers(0, 60))
def test_a_seeker_finds_what_find_does(blob: bytes, start: int) -> None:
    known = Places(blob, _TEXTS)
    for text in _TEXTS:
        seek = known.seeker(text)
        assert seek is not None
        for end in (len(blob), len(blob) // 2):
            found = seek(start, end)
            # `find` wants the whole text before the end, a seeker only its beginning.
            assert found == blob.find(text, start, end + len(text) - 1), (text, start, end)


def test_texts_across_the_parts_that_are_searched_at_once() -> None:
    assert len(_LONG) > 2 * (1 << 20)
    known = Places(_LONG, _TEXTS)
    for text in _TEXTS:
        seek = known.seeker(text)
        assert seek is not None
        at, count = seek(0, len(_LONG)), 0
        while at >= 0:
            assert _LONG.startswith(text, at)
            at, count = seek(at + 1, len(_LONG)), count + 1
        assert count == _LONG.count(text)


def test_a_text_that_was_not_looked_for() -> None:
    assert Places(b"something else", _TEXTS).seeker(b"else") is None


def test_no_texts_and_no_log() -> None:
    assert Places(b"", _TEXTS).seeker(b"ab") is not None
    assert Places(b"abc", ()).seeker(b"abc") is None


def _log(blob: bytes, known: Places | None) -> Log:
    lines = blob.split(b"\n")[:-1]
    starts, ends, at = array("q"), array("q"), 0
    for line in lines:
        starts.append(at)
        ends.append(at + len(line))
        at += len(line) + 1
    none = array("q", [0] * len(lines))
    return Log.of_columns(blob, starts, ends, none, array("b", none), none, bytearray(len(lines)), known)


@given(
    st.lists(st.lists(st.sampled_from([*_TEXTS, b"a"])).map(b"".join)), st.integers(0, 5), st.integers(0, 9)
)
def test_lines_of_a_log_are_the_same_with_and_without(lines: list[bytes], since: int, until: int) -> None:
    blob = b"".join(line + b"\n" for line in lines)
    with_places, without = _log(blob, Places(blob, _TEXTS)), _log(blob, None)
    for text in _TEXTS:
        assert list(with_places.lines_with(text, since, until)) == list(
            without.lines_with(text, since, until)
        )
