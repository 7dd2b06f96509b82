# SPDX-License-Identifier: Apache-2.0
"""A frame buffer as a PNG file, read back by hand."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.capture.png import png
from bootscope.capture.record import Screen
from bootscope.core.errors import UserError

Pixel = tuple[int, int, int]


def screen(width: int, height: int, pixel_format: str, spare_bytes: int = 0) -> Screen:
    pixel_bytes = 2 if pixel_format == "r5g6b5" else 4
    stride = width * pixel_bytes + spare_bytes
    return Screen(width=width, height=height, stride_bytes=stride, format=pixel_format)


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and contents of every chunk; checks the sums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, []
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, contents = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (zlib.crc32(kind + contents),)
        found.append((kind, contents))
        at += 12 + length
    return found


def pixels(data: bytes) -> list[list[Pixel]]:
    """The rows of a picture of 8-bit RGB without filters."""
    (ihdr, header), (idat, packed), (iend, rest) = chunks(data)
    assert (ihdr, idat, iend, rest) == (b"IHDR", b"IDAT", b"IEND", b"")
    width, height, *layout = struct.unpack(">IIBBBBB", header)
    assert layout == [8, 2, 0, 0, 0]
    raw, row_bytes = zlib.decompress(packed), 1 + 3 * width
    assert len(raw) == row_bytes * height
    rows = [raw[y * row_bytes : (y + 1) * row_bytes] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    return [[(r[1 + 3 * x], r[2 + 3 * x], r[3 + 3 * x]) for x in range(width)] for r in rows]


@pytest.mark.parametrize("pixel_format", ["a8r8g8b8", "x8r8g8b8"])
def test_pixels_of_32_bits_are_blue_green_red(pixel_format: str) -> None:
    raw = bytes([1, 2, 3, 255, 4, 5, 6, 0, 7, 8, 9, 128, 10, 11, 12, 1])
    assert pixels(png(screen(2, 2, pixel_format), raw)) == [[(3, 2, 1), (6, 5, 4)], [(9, 8, 7), (12, 11, 10)]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0x0000, (0, 0, 0)),
        (0xFFFF, (255, 255, 255)),
        (0xF800, (255, 0, 0)),
        (0x07E0, (0, 255, 0)),
        (0x001F, (0, 0, 255)),
        (0x8410, (132, 130, 132)),
    ],
)
def test_pixels_of_16_bits_fill_the_whole_range(value: int, expected: Pixel) -> None:
    assert pixels(png(screen(1, 1, "r5g6b5"), struct.pack("<H", value))) == [[expected]]


def test_what_lies_between_the_lines_is_left_out() -> None:
    row = bytes([1, 2, 3, 0]) + b"\xee" * 8
    assert pixels(png(screen(1, 2, "a8r8g8b8", spare_bytes=8), row * 2)) == [[(3, 2, 1)], [(3, 2, 1)]]


def test_bytes_behind_the_picture_are_left_out() -> None:
    assert pixels(png(screen(1, 1, "a8r8g8b8"), bytes([1, 2, 3, 0]) + b"\xee" * 99)) == [[(3, 2, 1)]]


@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_any_picture_comes_back(width: int, height: int, data: st.DataObject) -> None:
    raw = data.draw(st.binary(min_size=4 * width * height, max_size=4 * width * height))
    expected = [
        [(raw[at + 2], raw[at + 1], raw[at]) for at in range(4 * width * y, 4 * width * (y + 1), 4)]
        for y in range(height)
    ]
    assert pixels(png(screen(width, height, "a8r8g8b8"), raw)) == expected


@pytest.mark.parametrize("pixel_format", ["a8r8g8b8", "r5g6b5"])
def test_a_picture_that_is_cut_off_is_refused(pixel_format: str) -> None:
    what = screen(3, 2, pixel_format)
    with pytest.raises(UserError, match="truncated"):
        png(what, bytes(what.stride_bytes * what.height - 1))


def test_lines_that_are_shorter_than_their_pixels_are_refused() -> None:
    """The last line would lack bytes, and the file would be no PNG."""
    with pytest.raises(UserError):
        png(Screen(width=4, height=2, stride_bytes=8, format="a8r8g8b8"), bytes(16))


def test_an_unknown_format_is_refused_by_name() -> None:
    with pytest.raises(UserError, match="yuv420"):
        png(Screen(width=1, height=1, stride_bytes=4, format="yuv420"), bytes(4))
