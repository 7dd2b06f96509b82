# SPDX-License-Identifier: Apache-2.0
"""The picture of a splash: a disc and a bar on one colour, in the formats that it can have on a target."""

from __future__ import annotations

from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import PIXEL_BYTES

Colour = tuple[int, int, int]
BACKGROUND: Colour = (0x10, 0x30, 0x60)
DISC: Colour = (0xFF, 0xFF, 0xFF)
BAR: Colour = (0xFF, 0xA0, 0x00)


def spans(fb: FrameBuffer, y: int) -> list[tuple[int, Colour]]:
    """Line `y` as runs of one colour: (pixels, colour), which add up to the width."""
    radius, middle = fb.height // 5, fb.width // 2
    from_middle = y - fb.height * 2 // 5
    half = 0
    while half < radius and (half + 1) ** 2 + from_middle**2 <= radius**2:
        half += 1
    inner, colour = half * 2, DISC
    if fb.height * 7 // 10 <= y < fb.height * 3 // 4:
        inner, colour = fb.width // 2 // 2 * 2, BAR
    left = middle - inner // 2
    return [(left, BACKGROUND), (inner, colour), (fb.width - left - inner, BACKGROUND)]


def ppm(fb: FrameBuffer) -> bytes:
    """The picture as a binary portable pixmap."""
    lines = (bytes(colour) * pixels for y in range(fb.height) for pixels, colour in spans(fb, y))
    return b"P6\n%d %d\n255\n" % (fb.width, fb.height) + b"".join(lines)


def raw(fb: FrameBuffer) -> bytes:
    """The picture in the format of the frame buffer."""
    rest = bytes(fb.stride_bytes - fb.width * PIXEL_BYTES[fb.format])
    lines = (
        b"".join(_pixel(fb, colour) * pixels for pixels, colour in spans(fb, y)) for y in range(fb.height)
    )
    return b"".join(line + rest for line in lines)


def _pixel(fb: FrameBuffer, colour: Colour) -> bytes:
    red, green, blue = colour
    if PIXEL_BYTES[fb.format] == 2:
        return ((red >> 3) << 11 | (green >> 2) << 5 | blue >> 3).to_bytes(2, "little")
    return bytes((blue, green, red, 0xFF))
