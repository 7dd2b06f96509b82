# SPDX-License-Identifier: Apache-2.0
"""Pictures that are shown before the application's: their files, systems that have them, what they save."""

from __future__ import annotations

import msgspec
import pytest

from bootscope.analysis.compare import Comparison
from bootscope.arch.arm import ARM
from bootscope.builder.steps import splash, splash_picture
from bootscope.core.errors import UserError
from bootscope.search.sooner import Sooner, sooner
from bootscope.system.changes import Change
from bootscope.system.framebuffer import FrameBuffer
from bootscope.system.load import check_system
from bootscope.system.splash import Splash
from bootscope.techniques.errors import median_error_percent
from bootscope.techniques.model import Measured, Recipe
from bootscope.techniques.words import measured_text

from .lab_scenes import stock

WIDE = FrameBuffer(0x1000, 80, 60, 400, "x8r8g8b8", 0x10000)
SMALL = FrameBuffer(0x1000, 80, 60, 160, "r5g6b5", 0x10000)


@pytest.mark.parametrize("fb", [WIDE, SMALL], ids=["32 bits", "16 bits"])
def test_a_picture_fills_the_frame_buffer_and_begins_with_a_colour(fb: FrameBuffer) -> None:
    found = splash_picture.raw(fb)
    assert len(found) == fb.stride_bytes * fb.height
    assert any(found[:3])
    # It has a background, a disc and a bar.
    size = fb.stride_bytes // fb.width if fb.format == "r5g6b5" else 4
    lines = [found[y * fb.stride_bytes :][: fb.width * size] for y in range(fb.height)]
    assert len({line[x : x + size] for line in lines for x in range(0, len(line), size)}) == 3


def test_the_same_picture_in_both_forms() -> None:
    raw, ppm = splash_picture.raw(WIDE), splash_picture.ppm(WIDE)
    head, _, pixels = ppm.partition(b"\n255\n")
    assert head == b"P6\n80 60"
    for y in range(60):
        for x in range(80):
            blue, green, red, alpha = raw[y * 400 + x * 4 :][:4]
            assert bytes((red, green, blue)) == pixels[(y * 80 + x) * 3 :][:3]
            assert alpha == 0xFF


def test_every_line_is_as_wide_as_the_screen() -> None:
    for fb in (WIDE, msgspec.structs.replace(WIDE, width=81, height=1), stock().system.framebuffer):
        assert fb
        assert {sum(pixels for pixels, _ in splash_picture.spans(fb, y)) for y in range(fb.height)} == {
            fb.width
        }


def test_a_splash_needs_a_frame_buffer_and_a_form_that_there_is() -> None:
    dark = msgspec.structs.replace(stock().system, framebuffer=None, splash=Splash("raw", "/logo.fb"))
    with pytest.raises(UserError, match="has a splash and no frame buffer"):
        splash.steps(dark, ARM)
    odd = msgspec.structs.replace(stock().system, splash=Splash("png", "/logo.png"))
    with pytest.raises(UserError, match=r"splash\.form: expected one of"):
        check_system(odd, stock().path)


def test_a_system_without_one_is_built_as_before() -> None:
    assert splash.steps(stock().system, ARM) == []
    with_one = msgspec.structs.replace(stock().system, splash=Splash("drawn", "/sbin/splash"))
    (step,) = splash.steps(with_one, ARM)
    assert step.needs == ("unpack-linux",)


def milestones(**reached: tuple[int | None, int | None]) -> Comparison:
    named = {name.replace("_", "-"): both for name, both in reached.items()}
    return Comparison(False, 9, 9, (), named, ())


def test_what_a_recipe_makes_sooner_is_its_milestone() -> None:
    light = Recipe(Change(), milestone="first-light")
    found = milestones(first_light=(900, 400), init=(100, None))
    assert sooner([light, light], found) == Sooner("first-light", 900, 400, 500)
    assert sooner([light, Recipe(Change())], found) is None
    assert sooner([Recipe(Change())], found) is None
    assert sooner([Recipe(Change(), milestone="init")], found) is None
    assert sooner([light], None) is None


def test_it_is_told_beside_what_it_costs_and_is_no_error_of_a_prediction() -> None:
    row = Measured(
        technique="splash-x", date="2026-11-26", base_ns=10_000_000_000, saving_ns=2_000_000_000, works=True
    )
    lit = msgspec.structs.replace(row, milestone="first-light", later_ns=45_000_000)
    assert measured_text(lit) == (
        "splash-x: saves 2.000 s of 10.000 s to first-light, and makes the whole boot 45.0 ms longer"
    )
    assert "shorter" in measured_text(msgspec.structs.replace(lit, later_ns=-1_000_000))
    assert median_error_percent([lit], strict=True) is None
    assert median_error_percent([row], strict=True) == (100.0, 1)
