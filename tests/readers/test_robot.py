# SPDX-License-Identifier: Apache-2.0
"""Robot Framework's debug file and output.xml."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import END_OF_LINE, Options, Reading, Source
from bootscope.readers.formats import robot

from .fuzzing import check, damaged, read, source, survives

(ROBOT,) = robot.READERS
FILES = ("debug.txt", "output.xml")


def read_text(text: str) -> Reading:
    reading = ROBOT.read(Source("x", text.encode()), Options())
    check(reading)
    return reading


@pytest.mark.parametrize("name", FILES)
def test_both_files_tell_the_same(name: str) -> None:
    assert ROBOT.sure(source("robot-framework", name)) >= 95
    reading = read(ROBOT, "robot-framework", name)
    (boot,) = reading.boots
    assert (boot.clock.name, boot.clock.stamp) == ("wall", END_OF_LINE)
    lines = [(at - boot.log.at_ns[0], text) for at, text in boot.log if "Slept" not in text]
    assert lines[:3] == [
        (0, "U-Boot 2025.01 (Nov 21 2026 - 11:14:10 +0000)"),
        (211_195_000, "DRAM: 512 MiB"),
        (415_073_000, "Starting kernel ..."),
    ]
    assert lines[-1][1].strip() == "demo login:"
    assert not any("START" in text or "Arguments" in text for _, text in boot.log)


def test_versions_before_7_write_another_date() -> None:
    debug = (
        "20261124 22:38:25.112 - INFO - +- START TEST: Boot\n20261124 22:38:25.300 - INFO - U-Boot 2025.01\n"
    )
    assert ROBOT.sure(Source("x", debug.encode())) >= 90
    xml = '<robot generator="Robot 6.1">\n'
    xml += '<msg timestamp="20261124 22:38:25.300" level="INFO">U-Boot 2025.01</msg>\n'
    for text in (debug, xml):
        (boot,) = read_text(text).boots
        assert list(boot.log) == [(1_795_559_905_300_000_000, "U-Boot 2025.01")]


def test_messages_of_several_lines_and_signs_that_xml_writes_otherwise() -> None:
    text = '<robot generator="Robot 7.5">\n<msg time="2026-11-24T22:38:25.3" level="INFO">no</msg>\n'
    text += '<msg time="2026-11-24T22:38:25.300000" level="INFO" html="true">U-Boot 2025.01\n'
    text += "a &lt;b&gt; &amp; c</msg>"
    (boot,) = read_text(text).boots
    assert [line for _, line in boot.log] == ["U-Boot 2025.01", "a <b> & c"]
    debug = "2026-11-24 22:38:25.300000 - INFO - U-Boot 2025.01\nDRAM: 1 GiB\n"
    (boot,) = read_text(debug + "-" * 78 + "\n").boots
    assert [line for _, line in boot.log] == ["U-Boot 2025.01", "DRAM: 1 GiB"]


def test_something_else_is_refused() -> None:
    assert ROBOT.sure(Source("x", b"2026-11-24 22:38:25.300000 - INFO - hello\n")) == 0
    for data in (b"hello\n", b"<robot generator='x'></robot>"):
        with pytest.raises(UserError):
            ROBOT.read(Source("x", data), Options())


@settings(max_examples=80, deadline=None)
@given(st.data(), st.sampled_from(FILES))
def test_damage_does_no_harm(data: st.DataObject, name: str) -> None:
    survives(ROBOT, data.draw(damaged(source("robot-framework", name).data)))
