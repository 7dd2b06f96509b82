# SPDX-License-Identifier: Apache-2.0
"""A logic analyser's capture beside a console's: `pins.json` in the folder of a boot.

History of the schema:
  1  2026-11  first version
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.capture.record import read_json

PINS = "pins.json"
SCHEMA = 1


class PinCapture(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a capture. Moments are ns of the host's monotonic clock; 0 for none.

    `file` is its name in the boot's folder, or empty when there is none. Its first sample was taken between
    `started_ns` and `seen_ns`, when something of it had been written. `message` says what went wrong.
    """

    command: tuple[str, ...]
    file: str = ""
    started_ns: int = 0
    seen_ns: int = 0
    ended_ns: int = 0
    message: str = ""
    schema: int = SCHEMA


def read_pins(folder: Path) -> PinCapture | None:
    """The capture beside that of a console; None where none was made.

    Raises UserError when its description is damaged or too new.
    """
    return read_json(folder / PINS, PinCapture, SCHEMA) if (folder / PINS).exists() else None
