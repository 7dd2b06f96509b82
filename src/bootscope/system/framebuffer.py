# SPDX-License-Identifier: Apache-2.0
"""What a system has of a display."""

from __future__ import annotations

from bootscope.core.settings import Setting


class FrameBuffer(Setting, frozen=True):
    """A simple-framebuffer in reserved memory."""

    address: int
    width: int
    height: int
    stride_bytes: int
    format: str
    reserved_bytes: int

    @property
    def mode(self) -> str:
        """What a PC's boot loader calls the mode of the graphics card: width, height and bits of a pixel."""
        return f"{self.width}x{self.height}x{self.stride_bytes // self.width * 8}"
