# SPDX-License-Identifier: Apache-2.0
"""Lines of a watch file for the screen: when it first lights up, and when it shows a complete picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bootscope.boards.profile import Board
from bootscope.capture.record import FIRST_FRAME, FIRST_LIGHT
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import COLOUR_BITS, PIXEL_BYTES

_FRAME_ID = _LIGHT_ID = 1
STOPS = {FIRST_FRAME: f"stop frame {_FRAME_ID}", FIRST_LIGHT: f"stop light {_LIGHT_ID}"}
"""Milestone -> the line that ends a recording there."""


def lines(
    board: Board, fb: FrameBuffer | None, path: Path, light: bool, begins: Iterable[int] = ()
) -> list[str]:
    """Lines for the first complete picture that programs store, which is copied to `path`; it counts only
    after one of the hooks `begins`. With `light`, also for the first pixel that is not black (memory is black
    at power-on), whoever stores it."""
    if fb is None:
        return []
    size, cell = f"{fb.address:#x} {fb.stride_bytes * fb.height:#x}", PIXEL_BYTES[fb.format]
    code = [f"code {low:#x} {high:#x}" for low, high in board.qemu.user_code]
    lit = [f"light {_LIGHT_ID} {size} {cell} {COLOUR_BITS[fb.format]:#x}"] if light else []
    later = [f"begins {hook}" for hook in begins]
    return [*code, f"frame {_FRAME_ID} {size} {cell} {path}", *lit, *later]
