# SPDX-License-Identifier: Apache-2.0
"""Sums over a boot: who spent what, which calls were open, whose sectors were read."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bootscope.analysis.blocks import ROOT_PARTITION, UNKNOWN, BlockMap, Piece
from bootscope.analysis.cpu_accounting import Spent
from bootscope.analysis.evidence import Evidence
from bootscope.analysis.kernel_activity import Call, Task
from bootscope.analysis.storage import REGISTERS, accesses, view
from bootscope.capture.record import Extent
from bootscope.capture.stream import Io, Record

from .builders import MMC, POWER_ON_NS
from .scenes import Story, boots, evidence_of, run_of

FEW = settings(max_examples=40)

# ---- who spent what ----


def brute(evidence: Evidence, task: Task, start_ns: int, end_ns: int, first: int, last: int) -> Spent:
    """Record by record, slice by slice."""
    running = storage = console = 0
    for part in (s for s in evidence.scene.slices if s.task is task):
        running += max(0, min(end_ns, part.end_ns) - max(start_ns, part.start_ns))
        for cost in evidence.costs:
            if first <= cost.index < last and part.first <= cost.index < part.last:
                storage += cost.ns if cost.kind == "storage" else 0
                console += cost.ns if cost.kind == "console" else 0
    return Spent(running, storage, console)


@FEW
@given(boots(), st.data())
def test_what_a_task_spent_is_the_sum_over_its_records(records: list[Record], data: st.DataObject) -> None:
    evidence = evidence_of(records)
    first = data.draw(st.integers(0, len(records)))
    last = data.draw(st.integers(first, len(records)))
    times = [*(evidence.clock.before(i) for i in range(len(records))), evidence.timeline.total_ns]
    for task in evidence.scene.tasks:
        span = (times[first], times[last], first, last)
        assert evidence.ledger.spent(task, *span) == brute(evidence, task, *span)


@FEW
@given(boots())
def test_the_slices_of_all_tasks_cost_what_the_boot_cost(records: list[Record]) -> None:
    evidence = evidence_of(records)
    spent = sum((evidence.ledger.of_slice(part) for part in evidence.scene.slices), Spent())
    assert spent.running_ns == evidence.timeline.total_ns
    assert spent.storage_ns == sum(phase.storage_ns for phase in evidence.timeline.phases)
    assert spent.console_ns == sum(phase.console_ns for phase in evidence.timeline.phases)
    assert spent.cpu_ns >= 0


@FEW
@given(boots())
def test_a_call_spends_at_least_what_the_calls_inside_it_spend(records: list[Record]) -> None:
    evidence = evidence_of(records)
    for call in evidence.scene.calls:
        spent = evidence.ledger.of_call(call)
        assert 0 <= spent.cpu_ns <= spent.running_ns <= call.end_ns - call.start_ns
        for inner in evidence.scene.calls:
            if inner.task is call.task and call.first < inner.first and inner.last <= call.last:
                assert evidence.ledger.of_call(inner).running_ns <= spent.running_ns


@FEW
@given(boots(), st.data())
def test_the_calls_open_at_a_record_are_those_around_it(records: list[Record], data: st.DataObject) -> None:
    evidence = evidence_of(records)
    index = data.draw(st.integers(0, max(0, len(records) - 1)))

    def around(call: Call) -> bool:
        return call.first <= index < call.last

    for task in evidence.scene.tasks:
        expected = [c for c in evidence.scene.calls if c.task is task and around(c)]
        assert evidence.calls_at(task, index) == sorted(expected, key=lambda c: c.first)


# ---- what lies where ----

PIECES = st.builds(
    Piece, st.integers(0, 60), st.integers(0, 30), st.sampled_from("abcdef"), st.integers(0, 9)
)


@given(st.lists(PIECES, max_size=12), st.integers(0, 100), st.integers(1, 60))
def test_every_sector_has_the_name_of_the_smallest_piece_around_it(
    pieces: list[Piece], sector: int, sectors: int
) -> None:
    found = list(BlockMap(pieces).split(sector, sectors))
    at = sector
    for part in found:
        assert part.sector == at
        assert part.sectors > 0
        at += part.sectors
        for number in range(part.sector, part.sector + part.sectors):
            around = [p for p in pieces if p.sector <= number < p.sector + p.sectors]
            least = min((p.sectors for p in around), default=0)
            names = {p.name for p in around if p.sectors == least} or {UNKNOWN}
            assert part.name in names
            places = {p.file_sector + number - p.sector for p in around if p.name == part.name}
            assert not around or part.file_sector + number - part.sector in places
    assert at == sector + sectors


def test_a_block_map_lies_in_the_root_partition_and_skips_what_is_no_line() -> None:
    root = Extent(name=ROOT_PARTITION, sector=1000, sectors=100)
    text = (
        "8\t2\t/bin/a\t4\n10\t2\t/bin/b\n\u00b2\t3\tx\n1\n-1\t2\ty\n"
        + "9" * 5000
        + "\t1\tz\n12\t2\tc\td\te\n"
    )
    found = [(p.sector, p.sectors, p.name, p.file_sector) for p in BlockMap.make([root], text).split(1006, 8)]
    assert found == [
        (1006, 2, ROOT_PARTITION, 6), (1008, 2, "/bin/a", 4), (1010, 2, "/bin/b", 0),
        (1012, 2, ROOT_PARTITION, 12),
    ]  # fmt: skip


def test_without_a_root_partition_no_file_is_placed() -> None:
    kernel = Extent(name="kernel", sector=0, sectors=100)
    assert [p.name for p in BlockMap.make([kernel], "0\t8\t/bin/a\t0\n").split(0, 8)] == ["kernel"]


# ---- storage ----

ROOT = (Extent(name=ROOT_PARTITION, sector=1000, sectors=1000), Extent(name="kernel", sector=100, sectors=50))
FILES = "0\t8\text4 superblock\t0\n8\t4\t/bin/a\t0\n12\t4\t/bin/b\t0\n16\t8\t/bin/a\t4\n"


def stored(story: Story) -> Evidence:
    return evidence_of(story.sample().records, run_of(extents=ROOT), blocks=FILES)


def test_the_cost_of_a_command_is_shared_by_what_it_read() -> None:
    found = accesses(stored(Story().read(1006, 12 * 512)))
    assert [(a.what, a.sector, a.size_bytes) for a in found] == [
        ("ext4 superblock", 1006, 1024), ("/bin/a", 1008, 2048), ("/bin/b", 1012, 2048),
        ("/bin/a", 1016, 1024),
    ]  # fmt: skip
    assert sum(a.cost_ns for a in found) == 500_000 + 12 * 512
    assert found[1].cost_ns == (500_000 + 12 * 512) * 4 // 12


@given(st.lists(st.tuples(st.sampled_from([0, 90, 100, 1000, 1500, 1995]), st.integers(1, 40)), max_size=12))
def test_the_shares_add_up_exactly_and_bytes_read_again_are_counted_once(
    reads: list[tuple[int, int]],
) -> None:
    story = Story()
    for sector, sectors in reads:
        story.work(10).read(sector, sectors * 512)
    evidence = stored(story)
    found = accesses(evidence)
    assert sum(a.cost_ns for a in found) == sum(p.storage_ns for p in evidence.timeline.phases)
    assert all(a.cost_ns >= 0 and a.what for a in found)
    read: set[int] = set()
    again = 0
    for sector, sectors in reads:
        again += sum(number in read for number in range(sector, sector + sectors)) * 512
        read.update(range(sector, sector + sectors))
    assert sum(a.again_bytes for a in found) == again
    things, table = view(evidence)
    assert sum(int(row["cost_ns"] or 0) for row in things.rows) == table.sums["storage_ns"]


def test_a_read_is_for_whoever_asked_for_those_sectors() -> None:
    story = Story().switch(1, name=b"sh").hook("bio", 1, 1009, 3 * 512, 0, 12, text=b"/bin/a").work(5)
    story.switch(2, name=b"kworker").hook("bio", 1, 1012, 2048, 0, 13, text=b"/bin/b").work(5)
    found = accesses(
        stored(story.read(1009, 512).read(1011, 512).read(1012, 512).read(1016, 512).read(1008, 512))
    )
    assert [a.who for a in found] == ["sh[1]", "sh[1]", "kworker[2]", "kworker[2]", "kworker[2]"]


def test_the_latest_request_before_the_command_counts() -> None:
    story = Story().switch(1, name=b"one").hook("bio", 1, 1008, 1024, 0, 0).work(5).read(1008, 1024).work(5)
    story.switch(2, name=b"two").hook("bio", 1, 1008, 1024, 0, 0).work(5).read(1008, 1024)
    assert [a.who for a in accesses(stored(story))] == ["one[1]", "two[2]"]


def test_a_request_of_impossible_size_does_no_harm() -> None:
    story = Story().switch(1, name=b"sh").hook("bio", 1, 1008, (1 << 32) - 1, 0, 0).read(1008, 512)
    assert [a.who for a in accesses(stored(story))] == ["sh[1]"]


def test_commands_without_a_sector_read_registers() -> None:
    start, data = 1 << 31, 1 << 9
    story = Story()
    story.records += [Io(5, MMC, 0x14, 4, 64), Io(5, MMC, 0x18, 4, start | data | 6)]
    (access,) = accesses(stored(story))
    assert (access.what, access.sector, access.size_bytes, access.cost_ns) == (REGISTERS, None, 64, 500_064)


def test_pages_that_nobody_wanted_are_counted() -> None:
    story = Story().switch(1).hook("bio", 1, 1008, 2048, 0, 77, text=b"/bin/a").hook("page", 77, 0).work(1)
    found = accesses(stored(story.read(1008, 2048).read(1016, 4096)))
    assert [(a.what, a.unused_bytes) for a in found] == [("/bin/a", 0), ("/bin/a", 2048)]


def test_time_is_board_time() -> None:
    (access,) = accesses(stored(Story().work(70).read(100, 512)))
    assert (access.start_ns, access.cost_ns, access.what) == (POWER_ON_NS + 70, 500_512, "kernel")
