# SPDX-License-Identifier: Apache-2.0
"""Measured runs in the store: N boots of a real board, each with the raw capture of its console.

    runs/RUN/measured.json                  which board, how it was switched, until what
    runs/RUN/boots/001/boot.json            how that boot ended
    runs/RUN/boots/001/console.tap          every read with its moment (tap.py)
    runs/RUN/boots/001/console.bin, .txt    for people: the bytes, and lines with stamps

    runs/RUN/boots/001/pins.*               of a logic analyser, and pins.json about it
    runs/RUN/boots/001/pins-read.bin        what that was read as, may be deleted (readers/kept.py)

Their meaning is derived again from console.tap at each use.

History of the schemas of measured.json and pins.json:
  1  2026-11  first version
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.boards.physical import RealBoard
from bootscope.capture.record import read_json

SCHEMA = 1
MEASURED, TAP, PINS = "measured.json", "console.tap", "pins.json"
END_TEXT = "text"
"""The milestone at the end of a boot that was to end with a text."""


class MeasuredInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A measured run. `until`: where each boot was to end, in words: a milestone's name if it is one;
    `end_text`: the text that ended boots, which is then the milestone `text`; `power`: how the board was
    switched, in words; `asked`: the requested number of boots; `techniques`: those tried in what booted;
    `milestones`: name -> text of a console line, given afterwards."""

    run_id: str
    created: str
    bootscope: str
    name: str
    board: RealBoard
    power: str
    until: str
    end_text: str = ""
    asked: int
    host: dict[str, str]
    techniques: tuple[str, ...] = ()
    milestones: dict[str, str] = {}
    schema: int = SCHEMA


def read_measured(run: Path) -> MeasuredInfo:
    """The measured run in a folder. Raises UserError when its description is damaged or too new."""
    return read_json(run / MEASURED, MeasuredInfo, SCHEMA)


class PinCapture(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a capture of pins. Moments are ns of the host's monotonic clock; 0 for none.

    `file` is its name in the boot's folder, or empty if there is none. Its first sample was taken between
    `started_ns` and `seen_ns`, when the first part of it had been written. `message` says what went wrong.
    """

    command: tuple[str, ...]
    file: str = ""
    started_ns: int = 0
    seen_ns: int = 0
    ended_ns: int = 0
    message: str = ""
    schema: int = SCHEMA


def read_pins(folder: Path) -> PinCapture | None:
    """The capture of pins beside that of the console; None if none was made.

    Raises UserError when its description is damaged or too new.
    """
    return read_json(folder / PINS, PinCapture, SCHEMA) if (folder / PINS).exists() else None
