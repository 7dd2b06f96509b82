# SPDX-License-Identifier: Apache-2.0
"""callgrind and massif, on their output; figures as callgrind_annotate tells them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.core.errors import UserError
from bootscope.readers.base import Boot, Options, Source
from bootscope.readers.formats import callgrind, massif

from .fuzzing import FIXTURES, damaged, read, source, survives

(CALLGRIND,) = callgrind.READERS
(MASSIF,) = massif.READERS
PROFILES = sorted(path.name for path in (FIXTURES / "callgrind").glob("*.out"))


def boot_of(name: str) -> Boot:
    reading = read(CALLGRIND, "callgrind", name)
    assert reading.missed == [] and reading.repairs == []
    return reading.boots[0]


def functions(name: str) -> dict[str | int | None, dict[str, str | int | None]]:
    table = boot_of(name).tables[0]
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_known_and_read_whole(name: str) -> None:
    assert CALLGRIND.sure(source("callgrind", name)) == 99
    boot_of(name)


def test_costs_are_those_of_callgrind_annotate() -> None:
    assert boot_of("main.out").facts["Ir in total"] == "3892944"
    found = functions("main.out")
    assert found["mix"] == {
        "function": "mix", "object": "/tmp/demo/work", "file": "/tmp/demo/work.c", "calls": 12,
        "self Ir": 3_000_060, "total Ir": 3_000_060,
    }  # fmt: skip
    assert found["fibonacci'2"]["self Ir"] == 366_708
    assert found["main"]["total Ir"] == 3_892_944
    assert found["fill"]["total Ir"] == 3_517_219


def test_recursion_does_not_count_twice() -> None:
    assert functions("main.out")["fibonacci'2"]["total Ir"] == 366_708


def test_several_events_and_positions() -> None:
    found = functions("instr-cache-jumps.out")["mix"]
    assert found["self Ir"] == 1_500_030 and found["self Dr"] == 6 and found["self I1mr"] == 1


def test_names_need_not_be_compressed() -> None:
    full = functions("plain.out")
    assert full["mix"]["self Ir"] == functions("instr-cache-jumps.out")["mix"]["self Ir"]


def test_parts_add_up() -> None:
    assert boot_of("parts.out").facts["Ir in total"] == str(3_162 + 285_552 + 291_357)


def test_costs_that_do_not_add_up_are_told() -> None:
    data = b"# callgrind format\nevents: Ir\nfn=(1) f\n1 10\ntotals: 11\n"
    reading = CALLGRIND.read(Source("x", data), Options())
    assert reading.repairs[0].what == "costs add up to 10, the file declares 11"


def test_memory_over_time_and_at_the_peak() -> None:
    for name, snapshots in (("massif.out", 78), ("massif-ms.out", 97)):
        assert MASSIF.sure(source("massif", name)) == 97
        reading = read(MASSIF, "massif", name)
        assert reading.missed == []
        over_time, peak = reading.boots[0].tables
        assert len(over_time.rows) == snapshots
        assert peak.rows[1] == (4_431_872, 1, "main (work.c:28)")
    assert over_time.columns[1] == "time ms"
    assert reading.boots[0].points[0].name == "most memory in use: 4,433,496 bytes"


def test_something_else_is_refused() -> None:
    for reader in (CALLGRIND, MASSIF):
        with pytest.raises(UserError, match="line 1"):
            reader.read(Source("x", b"hello\n"), Options())


PROFILE = b"".join(source("callgrind", name).data[:4000] for name in PROFILES)


@settings(max_examples=60, deadline=None)
@given(st.one_of(damaged(PROFILE), damaged(source("massif", "massif.out").data), st.binary(max_size=200)))
def test_damage_is_survived(data: bytes) -> None:
    survives(CALLGRIND, data)
    survives(MASSIF, data)
