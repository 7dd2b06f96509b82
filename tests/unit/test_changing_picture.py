# SPDX-License-Identifier: Apache-2.0
"""Parts of a picture that may differ from boot to boot."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.capture.record import Screen
from bootscope.core.errors import UserError
from bootscope.search.outcome import steady
from bootscope.system.load import check_system, load_system

# 4 by 3 pixels, with a pixel's room at the end of each line.
SCREEN = Screen(width=4, height=3, stride_bytes=10, format="r5g6b5", changing=((1, 0, 2, 2),))


def test_what_may_change_is_left_out_of_the_comparison() -> None:
    data = bytes(range(1, 31))
    other = bytearray(data)
    other[2:6] = other[12:16] = b"####"
    assert steady(data, SCREEN) == steady(bytes(other), SCREEN)
    assert steady(data, SCREEN) == data[:2] + bytes(4) + data[6:12] + bytes(4) + data[16:]
    for beside in (1, 6, 9, 11, 16, 22):
        changed = bytearray(data)
        changed[beside] ^= 0xFF
        assert steady(bytes(changed), SCREEN) != steady(data, SCREEN)


def test_without_such_parts_all_is_compared() -> None:
    plain = Screen(width=4, height=3, stride_bytes=10, format="r5g6b5")
    assert steady(bytes(range(30)), plain) == bytes(range(30))
    # And recordings are written as before.
    assert b"changing" not in msgspec.json.encode(plain)


@pytest.mark.parametrize(
    "one", [(0, 0, 641, 1), (-1, 0, 2, 2), (0, 0, 0, 1), (630, 350, 20, 1), (0, 355, 1, 6)]
)
def test_a_part_outside_of_the_picture_is_refused(one: tuple[int, int, int, int]) -> None:
    loaded = load_system("stock-player")
    fb = loaded.system.framebuffer
    assert fb
    bad = msgspec.structs.replace(fb, changing=(one,))
    with pytest.raises(UserError, match=r"framebuffer\.changing: expected rectangles"):
        check_system(msgspec.structs.replace(loaded.system, framebuffer=bad), loaded.path)
