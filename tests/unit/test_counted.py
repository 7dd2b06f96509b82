# SPDX-License-Identifier: Apache-2.0
"""What a counting pass has found: read, joined to a recording, and made into time on a core."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.capture import counted
from bootscope.capture.counted import Counted, CountedInfo, Entry
from bootscope.capture.record import RunInfo
from bootscope.capture.stream import Clock, Frame, Hook, Idle, Io, Record, Sample
from bootscope.core.errors import UserError
from bootscope.cores.counts import NONE, Count, Counts
from bootscope.cores.profile import load_core
from bootscope.timeline.core_time import Spread, Timing, joined, on_core
from tests.unit.builders import run_info

INFO = CountedInfo(
    core="cortex-a8", geometry={}, stream_sha256="", phases=("spl", "kernel"), size_bytes=0, host_ms=0
)


def numbers(*values: int) -> bytes:
    """Numbers in LEB128."""
    found = bytearray()
    for value in values:
        while value >= 0x80:
            found.append(value & 0x7F | 0x80)
            value >>= 7
        found.append(value)
    return bytes(found)


def counts(**kinds: int) -> Counts:
    """Counts by their names in small letters."""
    return tuple(kinds.get(kind.name.lower(), 0) for kind in Count)


# Two entries, of an event and of a sample after the next event; one block in the second of two parts.
FILE = (
    counted.MAGIC
    + numbers(len(Count), 2, 2)
    + numbers(1 << 1, 1 << Count.LOAD_MEMORY, 7)
    + numbers(1 << 1 | 1, 1 << Count.WRITTEN | 1 << Count.POLLED_NS, 3, 500)
    + numbers(0)
    + numbers(1, 0xC0008000, 77, 1234, 1 << Count.MISPREDICTED, 2)
)


def test_the_plugins_file_is_read() -> None:
    found = counted.parse(FILE, INFO)
    assert found.entries == (
        Entry(1, False, counts(load_memory=7)),
        Entry(2, True, counts(written=3, polled_ns=500)),
    )
    assert found.parts[0] == ()
    (block,) = found.parts[1]
    assert (block.address, block.first_ns, block.instructions) == (0xC0008000, 77, 1234)
    assert block.counts == counts(mispredicted=2)


def test_a_file_that_is_cut_or_damaged_is_refused() -> None:
    for size in range(len(FILE)):
        with pytest.raises(UserError):
            counted.parse(FILE[:size], INFO)
    for wrong in (
        b"BSCOUNT9" + FILE[8:],
        counted.MAGIC + numbers(99, 0, 0),
        counted.MAGIC + numbers(22, 1 << 60, 1),
    ):
        with pytest.raises(UserError):
            counted.parse(wrong, INFO)
    with pytest.raises(UserError, match="2 parts"):
        counted.parse(FILE, msgspec.structs.replace(INFO, phases=("spl",)))


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    info = msgspec.structs.replace(INFO, size_bytes=len(FILE))
    counted.keep(tmp_path, "abc", info, FILE)
    assert counted.kept(tmp_path) == {"abc": info}
    assert counted.read(tmp_path, "abc") == counted.parse(FILE, info)
    (tmp_path / counted.FOLDER / "abc.bin").write_bytes(b"damaged")
    with pytest.raises(UserError, match="damaged"):
        counted.read(tmp_path, "abc")


def hook(time_ns: int, number: int = 1) -> Hook:
    return Hook(time_ns, number, (), b"")


def run_with(hooks: dict[int, str]) -> RunInfo:
    info = run_info()
    return msgspec.structs.replace(info, watch=msgspec.structs.replace(info.watch, hooks=hooks))


def spread(records: list[Record], entries: list[Entry], hooks: dict[int, str]) -> tuple[list[int], list[int]]:
    """New virtual times and waits for memory of records on the Cortex-A8, in ns."""
    found = on_a8(records, entries, hooks)
    return [r.time_ns for r in found.records], found.memory_ns


def on_a8(records: list[Record], entries: list[Entry], hooks: dict[int, str]) -> Spread:
    """Records on the Cortex-A8."""
    timing = Timing(load_core("cortex-a8"), lambda: Counted(INFO, tuple(entries), ((), ())))
    return on_core(records, run_with(hooks), timing)


INSN_PS, READ_NS = 970, 184
"""The Cortex-A8's, as its profile has them."""


def test_instructions_and_waits_add_up() -> None:
    records: list[Record] = [hook(0), hook(2000), hook(4000)]
    entries = [Entry(2, False, counts(load_memory=10)), Entry(3, False, counts(load_memory=1))]
    times, memory = spread(records, entries, {1: "x"})
    first = 1000 * INSN_PS // 1000 + 10 * READ_NS
    assert times == [0, first, first + INSN_PS + READ_NS]
    assert memory == [0, 10 * READ_NS, 11 * READ_NS]


def test_sleep_and_loops_that_wait_for_a_clock_are_not_stretched() -> None:
    records: list[Record] = [hook(0), Idle(5000, 5000), hook(5000, 2), hook(9000, 3), hook(9200)]
    entries = [Entry(4, False, counts(load_memory=50)), Entry(5, False, counts(load_memory=1))]
    times, memory = spread(records, entries, {1: "x", 2: "delay", 3: "delay.end"})
    assert times == [0, 5000, 5000, 9000, 9000 + 100 * INSN_PS // 1000 + READ_NS]
    assert memory == [0, 0, 0, 0, READ_NS]
    found = on_a8(records, entries, {1: "x", 2: "delay", 3: "delay.end"})
    assert found.clocked_ns == [0, 0, 0, 4000, 4000]


def test_asking_a_device_again_is_not_stretched() -> None:
    found = on_a8([hook(0), hook(2000)], [Entry(2, False, counts(polled_ns=1600))], {1: "x"})
    assert [r.time_ns for r in found.records] == [0, 1600 + 200 * INSN_PS // 1000]
    assert found.clocked_ns == [0, 1600] and found.memory_ns == [0, 0]


def test_samples_that_a_recording_lacks_count_with_what_comes_next() -> None:
    one = counts(load_memory=1)
    entries = [Entry(1, False, one), Entry(1, True, one), Entry(1, True, one), Entry(2, False, one)]
    records: list[Record] = [hook(0), Sample(100, 0), hook(200)]
    assert joined(records, entries) == {0: one, 1: one, 2: counts(load_memory=2)}
    # As many events, and a sample that the pass lacks.
    records = [hook(0), Sample(50, 0), Sample(100, 0), Sample(150, 0), hook(200)]
    assert joined(records, entries) == {0: one, 1: one, 2: one, 4: one}
    assert joined([hook(0)], entries) == {0: counts(load_memory=4)}
    assert joined([], entries) == {} and joined(records, []) == {}
    assert counts() == NONE


def test_a_pass_is_the_same_boot_where_only_the_counted_time_of_hooks_differs() -> None:
    def boot(hook_ns: int, register: int = 7, io_ns: int = 9_000, worst_ns: int = 500) -> list[Record]:
        return [
            Io(1_000, 0, 0, 4, 1),
            Hook(hook_ns, 3, (register,), b"timer"),
            Frame(hook_ns + 10, 0, 1, True, False, 0x8000),
            Io(io_ns, 0, 0, 4, 2),
            Clock(10_000, 12, worst_ns),
        ]

    first = boot(2_000)
    assert counted.same_boot(first, boot(2_000))
    assert counted.same_boot(first, boot(2_400))
    assert counted.same_boot(first, [*boot(1_500), Sample(10_001, 0x8000)])
    assert counted.same_boot(first, boot(3_000, worst_ns=1_000))
    assert not counted.same_boot(first, boot(2_501))
    assert not counted.same_boot(first, boot(2_400, register=8))
    assert not counted.same_boot(first, boot(2_000, io_ns=9_001))
    assert not counted.same_boot(first, boot(2_000)[:-1])
