# SPDX-License-Identifier: Apache-2.0
"""What instruments inside the target would cost: measured by booting with and without each.

The figures come with the package (`instrument_costs.toml`, written by benchmarks/instrument_cost.py) and
belong to the reference system; they are for orientation, not for subtraction.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bootscope.timeline.trace import Table

_DATA = Path(__file__).with_name("instrument_costs.toml")


class InstrumentCost(msgspec.Struct, frozen=True):
    """The milestone with and without an instrument, in ns of board time."""

    instrument: str
    with_ns: int
    without_ns: int


class _Data(msgspec.Struct, frozen=True):
    command: str
    milestone: str
    system: str
    board: str
    cost: list[InstrumentCost]


def table() -> Table | None:
    """The table for the report; None if the figures were never measured."""
    if not _DATA.exists():
        return None
    data = msgspec.toml.decode(_DATA.read_bytes(), type=_Data)
    title = (
        f"What instruments in the target cost {data.milestone} of {data.system} on {data.board}"
        f" ({data.command}); this recording has no cost on the target"
    )
    rows = tuple((c.instrument, c.with_ns, c.without_ns, c.with_ns - c.without_ns) for c in data.cost)
    return Table(title, ("instrument", "with_ns", "without_ns", "cost_ns"), rows)
