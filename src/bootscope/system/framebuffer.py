# SPDX-License-Identifier: Apache-2.0
"""What a system has of a display."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting


class FrameBuffer(Setting, frozen=True):
    """A simple-framebuffer in reserved memory.

    `changing`: rectangles (x, y, width, height in pixels) of the application's picture in which other things
    may stand at each boot, such as a clock: a variant works whatever is there.
    """

    address: int
    width: int
    height: int
    stride_bytes: int
    format: str
    reserved_bytes: int
    changing: tuple[tuple[int, int, int, int], ...] | msgspec.UnsetType = msgspec.UNSET

    @property
    def mode(self) -> str:
        """What a PC's boot loader calls the mode of the graphics card: width, height and bits of a pixel."""
        return f"{self.width}x{self.height}x{self.stride_bytes // self.width * 8}"
