# SPDX-License-Identifier: Apache-2.0
"""The display of a system."""

from __future__ import annotations

import msgspec

from bootscope.core.settings import Setting


class FrameBuffer(Setting, frozen=True):
    """A simple-framebuffer in reserved memory.

    `changing`: rectangles (x, y, width, height in pixels) of the application's picture whose content may
    differ between boots, such as a clock: a variant works whatever they show.
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
        """The mode of the graphics card as a PC's boot loader writes it: width, height and bits per pixel."""
        return f"{self.width}x{self.height}x{self.stride_bytes // self.width * 8}"
