# SPDX-License-Identifier: Apache-2.0
"""From the stores of a recording to what the board's devices were told to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Io, Record
from bootscope.devices.model import Decoder, DeviceEvent


def decoders_of(run: RunInfo) -> dict[int, Decoder]:
    """A decoder for each device, by its number in the watch file."""
    size = run.system.card_bytes
    return {number: run.board.devices[name].decoder(name, size) for number, name in run.watch.devices.items()}


def decode(records: list[Record], decoders: Mapping[int, Decoder]) -> Iterator[DeviceEvent]:
    """Events in stream order; `decoders` maps the device numbers of the watch file."""
    for index, record in enumerate(records):
        if isinstance(record, Io) and record.device in decoders:
            event = decoders[record.device].store(index, record.offset, record.value)
            if event:
                yield event
