# SPDX-License-Identifier: Apache-2.0
"""Fixtures that come packed, as an import sees them; and damage to the files of an archive."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Options, Reader, Reading, Source
from bootscope.readers.source import opened
from bootscope.readers.unpack import Budget

from .fuzzing import FIXTURES, check, damaged


@cache
def unpacked(*parts: str) -> Source:
    """A fixture by its path below tests/fixtures/readers, decompressed and with its members."""
    return opened(parts[-1], FIXTURES.joinpath(*parts).read_bytes(), Budget()).source


def read_unpacked(reader: Reader, *parts: str, **values: str) -> Reading:
    """What `reader` makes of a packed fixture; whatever must hold for every reading does."""
    reading = reader.read(unpacked(*parts), Options(values=values))
    check(reading)
    return reading


@st.composite
def damaged_members(draw: st.DrawFn, whole: Source) -> Source:
    """An archive with some of its files damaged or missing."""
    members = dict(whole.members)
    for name in draw(st.lists(st.sampled_from(sorted(members)), min_size=1, max_size=3)):
        if draw(st.booleans()):
            members[name] = draw(damaged(whole.members[name]))
        else:
            members.pop(name, None)
    return Source("damaged", whole.data, members)


def survives_archive(reader: Reader, archive: Source) -> None:
    """Reads an archive: an error is a UserError, and a reading is in order."""
    assert 0 <= reader.sure(archive) <= 100
    try:
        reading = reader.read(archive, Options())
    except UserError:
        return
    check(reading)
