# SPDX-License-Identifier: Apache-2.0
"""The results of published tables when they were last run here: small data, written by tools/reproduce.py."""

from __future__ import annotations

from pathlib import Path

import msgspec

RESULTS = Path(__file__).parent / "reproduced"


class Value(msgspec.Struct, frozen=True):
    """A value in ns or bytes; `split` divides a time into its parts (cpu_ns, storage_ns, ...), where they are
    known."""

    value: int
    split: dict[str, int] = {}


class RowResult(msgspec.Struct, frozen=True):
    """The result of a row: its recording and the values by measure, or why there are none."""

    run_id: str = ""
    error: str = ""
    values: dict[str, Value] = {}


class Result(msgspec.Struct, frozen=True):
    """The result of a table. `here` says what it was run on: board, card, kernel, compiler and so on."""

    table: str
    date: str
    command: str
    here: dict[str, str]
    rows: dict[str, RowResult]


def result(name: str) -> Result | None:
    """The result of a table; None for one that has not been run."""
    path = RESULTS / f"{name}.json"
    return msgspec.json.decode(path.read_bytes(), type=Result) if path.exists() else None
