# SPDX-License-Identifier: Apache-2.0
"""A picture before the application's, in real boots: when its first pixel is lit, what its form is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bootscope.capture.stream import Frame, Hook, Light, read
from tests.command import Bootscope

pytestmark = [pytest.mark.boot, pytest.mark.long]

Stock = tuple[Bootscope, dict[str, Any]]


def lit_at(boot: dict[str, Any]) -> tuple[Light, Frame, list[Hook]]:
    """The first light, the first store of the application's picture, and the hooks of a boot."""
    records = read(Path(boot["path"]) / "stream.bin")
    (light,) = (record for record in records if isinstance(record, Light))
    touch = next(record for record in records if isinstance(record, Frame))
    return light, touch, [record for record in records if isinstance(record, Hook)]


def test_without_a_splash_the_application_lights_the_screen(stock: Stock) -> None:
    """The grid of its test card begins in the first pixel."""
    bootscope, recorded = stock
    reached = bootscope.json("show")["milestones"]
    for boot in recorded["boots"]:
        light, touch, _ = lit_at(boot)
        assert light.offset == 0
        assert (light.time_ns, light.pc) == (touch.time_ns, touch.pc)
    assert reached["application"] < reached["first-light"] < reached["first-frame"]


@pytest.mark.campaign
def test_a_drawn_splash_is_lit_before_one_that_is_read(tmp_path: Path) -> None:
    bootscope = Bootscope(tmp_path / "store")
    tried = bootscope.json("try", "splash-draw-shapes", "--own-base")
    assert tried["works"], "the application shows its picture as before"
    early = tried["sooner"]
    assert early["milestone"] == "first-light"
    assert 0 < early["saving_ns"] == early["base_ns"] - early["variant_ns"]
    for name, total_ns in ((tried["base"], tried["base_ns"]), (tried["variant"], tried["variant_ns"])):
        shown = bootscope.json("show", name)
        reached = shown["milestones"]
        assert reached["init"] < reached["first-light"] < reached["application"]
        assert reached["first-frame"] == shown["total_ns"] == total_ns
    # A recording may end there.
    until = bootscope.json("record", "stock", "--until", "first-light", "-n", "2")
    assert [boot["ended"] for boot in until["boots"]] == ["milestone", "milestone"]
    assert len({boot["stream_sha256"] for boot in until["boots"]}) == 1
    shown = bootscope.json("show")
    assert shown["milestones"]["first-light"] == shown["total_ns"]
