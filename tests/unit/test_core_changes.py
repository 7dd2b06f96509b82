# SPDX-License-Identifier: Apache-2.0
"""What-ifs of a core: other memory, another clock, other caches; what cannot be is refused by name."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from bootscope.boards.profile import load_board
from bootscope.core.errors import UserError
from bootscope.core.settings import Sourced
from bootscope.cores.changes import KNOWN, changed, is_of_core
from bootscope.cores.counts import Count
from bootscope.cores.price import price
from bootscope.cores.profile import Core, Costs, core_dir, load_core
from bootscope.emulator import timing_pass

A8 = load_core("cortex-a8")


def figures(core: Core) -> dict[str, int]:
    """The costs of a core by name."""
    found = {name: getattr(core.costs, name) for name in Costs.__struct_fields__}
    return {name: figure.value for name, figure in found.items() if isinstance(figure, Sourced)}


def differing(*changes: str, core: Core = A8) -> dict[str, int]:
    """The costs that changes give a core, where they are others than before."""
    before = figures(core)
    return {name: ns for name, ns in figures(changed(core, changes).core).items() if ns != before[name]}


def test_memory_twice_as_fast_halves_whatever_waits_for_memory() -> None:
    slow = figures(A8)
    for name, ns in differing("dram=2x").items():
        assert ns == slow[name] // 2 or ns == (slow[name] + 1) // 2, name
    assert differing("dram=2x").keys() == {
        *("read_ns", "stream_read_ns", "written_line_ns"),
        *("uncached_load_ns", "uncached_store_ns", "uncached_fetch_ns"),
    }
    assert changed(A8, ["dram=2x"]).core.geometry_id == A8.geometry_id
    assert differing("dram=0.5x")["read_ns"] == 2 * A8.costs.read_ns.value


def test_latency_rules_reads_and_bandwidth_rules_writes() -> None:
    latency = differing("dram=92ns")
    assert latency["read_ns"] == 92 and latency["stream_read_ns"] == 92 and "written_line_ns" not in latency
    assert latency["uncached_load_ns"] == round(187 * 92 / 184)
    # 64 bytes at 640 MB/s; a core without a prefetcher reads as before.
    assert differing("dram=640MB/s") == {"written_line_ns": 100}
    both = differing("dram=92ns,640MB/s")
    assert both["read_ns"] == 92 and both["written_line_ns"] == 100
    assert any("does not prefetch" in text for text in changed(A8, ["dram=640MB/s"]).assumptions)


def test_streams_of_a_core_that_fetches_ahead_follow_the_bandwidth() -> None:
    a53 = load_core("cortex-a53")
    assert a53.costs.stream_read_ns.value < a53.costs.read_ns.value
    assert differing("dram=1GB/s", core=a53) == {"stream_read_ns": 64, "written_line_ns": 64}


def test_another_clock_changes_cycles_and_no_ns() -> None:
    slower = changed(A8, ["clock=500MHz"]).core
    assert differing("clock=500MHz") == {"clock_hz": 500_000_000} == differing("clock=0.5x")
    assert price(slower).instruction_ps == 2 * price(A8).instruction_ps
    assert price(slower).event_ps[Count.LOAD_MEMORY] == price(A8).event_ps[Count.LOAD_MEMORY]
    assert price(slower).event_ps[Count.LOAD_L2] == 2 * price(A8).event_ps[Count.LOAD_L2]


def test_other_caches_need_other_counts() -> None:
    ids = {
        changed(A8, changes).core.geometry_id
        for changes in ((), ("l2=off",), ("l2=512K",), ("dcache=on-in-spl",), ("dcache=off-in-spl",))
    }
    assert len(ids) == 5
    assert changed(A8, ["l2=256K"]).core.geometry_id == A8.geometry_id


def test_the_plugin_is_told_what_is_switched_in_which_part() -> None:
    core = changed(A8, ["dcache=on-in-load", "icache=off-in-load", "dcache=on-in-spl"]).core
    board, phases = load_board("cubieboard"), ("spl", "bootloader", "load")
    lines = timing_pass.lines(board, core, Path("counts"), [3, 9], [], phases)
    assert [line for line in lines if line.startswith("switched")] == [
        "switched 2 on off", "switched 0 on as-is",
    ]  # fmt: skip
    with pytest.raises(UserError, match="unknown phase of this boot 'load'"):
        timing_pass.lines(board, core, Path("counts"), [3, 9], [], ("spl", "bootloader"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["dram=fast"], "'fast' is not a valid memory speed"),
        (["dram=0x"], "must be positive"),
        (["dram=0MB/s"], "is not a valid memory speed"),
        (["dram="], "is not a valid memory speed"),
        (["clock=quick"], "is not a valid clock"),
        (["clock=0MHz"], "must be positive"),
        (["l2=on"], "is not a valid second cache"),
        (["l2=3K"], "caches.second.size_bytes.value: expected 8 ways of a power of 2"),
        (["l2=16K"], "no less than the first cache has"),
        (["dcache=on"], "does not say where the data cache is on or off"),
        (["icache=spl"], "does not say where the code cache is on or off"),
        (["dram=2x", "dram=3x"], "'dram=2x' and 'dram=3x' exclude each other"),
        (["l2=off", "l2=1M"], "exclude each other"),
        (["dcache=on-in-spl", "dcache=off-in-spl"], "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes: list[str], said: str) -> None:
    with pytest.raises(UserError) as error:
        changed(A8, changes)
    assert said in error.value.message and (error.value.hint or "expected" in said or "less" in said)


def test_a_core_without_a_second_cache_cannot_lose_it() -> None:
    with pytest.raises(UserError, match="arm926ej-s has no second cache"):
        changed(load_core("arm926ej-s"), ["l2=off"])


def test_a_core_that_waits_for_no_memory_has_no_latency_to_change() -> None:
    costs = msgspec.structs.replace(A8.costs, read_ns=Sourced(value=0, source="none"))
    with pytest.raises(UserError, match="never waits for memory"):
        changed(msgspec.structs.replace(A8, costs=costs), ["dram=90ns"])


def test_what_is_listed_is_of_a_core() -> None:
    assert all(map(is_of_core, KNOWN)) and not is_of_core("quiet") and not is_of_core("card=2x")


def test_a_profile_may_switch_caches_and_says_why(tmp_path: Path) -> None:
    text = (core_dir() / "cortex-a8.toml").read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text + '\n[switched.spl]\ndata = { value = true, source = "a guess" }\n')
    assert load_core(str(path)).geometry_id == changed(A8, ["dcache=on-in-spl"]).core.geometry_id
    path.write_text(text + '\n[switched.spl]\ndata = { value = true, source = " " }\n')
    with pytest.raises(UserError, match=r"switched\.spl\.data\.source: expected where the figure is from"):
        load_core(str(path))
