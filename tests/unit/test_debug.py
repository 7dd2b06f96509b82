# SPDX-License-Identifier: Apache-2.0
"""Moments of a recorded boot in the emulator's time, and what QEMU's gdbstub says."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from bootscope.analysis.evidence import Evidence
from bootscope.analysis.moment import moment
from bootscope.analysis.views import view
from bootscope.capture.store import Store
from bootscope.core.errors import ToolError, UserError
from bootscope.core.text import seconds
from bootscope.emulator.gdb_remote import Register, Remote, core_registers, plain
from tests.fixtures.stock_boot import unpack


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    store = Store(tmp_path_factory.mktemp("store"))
    return view(store, store.load(unpack(store))).evidence


def test_each_record_is_at_the_virtual_time_that_was_recorded(evidence: Evidence) -> None:
    """What is at a moment by itself is found there; of several at one moment it is the first."""
    for index in range(0, len(evidence.records), 997):
        board_ns = evidence.clock.before(index)
        first = evidence.index_at(board_ns)
        found = moment(evidence, f"{board_ns}ns" if board_ns < 10**9 else f"{seconds(board_ns, 9)}s")
        assert (found.board_ns, found.virtual_ns) == (board_ns, evidence.recorded[first].time_ns)
        assert found.exact and not found.inside


def test_between_two_records_both_clocks_run_alike(evidence: Evidence) -> None:
    clock, records = evidence.clock, evidence.recorded
    index = next(
        i for i in range(5000, len(records)) if records[i].time_ns - records[i - 1].time_ns > 1000
        and clock.before(i) - clock.after(i - 1) > 1000
    )  # fmt: skip
    found = moment(evidence, f"{seconds(clock.after(index - 1) + 500, 9)}s")
    assert found.virtual_ns == records[index - 1].time_ns + 500 and found.exact


def test_while_a_device_takes_its_time_the_cpu_is_behind_the_access(evidence: Evidence) -> None:
    cost = next(c for c in evidence.costs if c.kind == "storage" and c.ns > 1000)
    found = moment(evidence, f"{seconds(evidence.clock.before(cost.index) + cost.ns // 2, 9)}s")
    assert found.inside == "storage"
    assert found.virtual_ns == evidence.recorded[cost.index].time_ns + evidence.run.board.tick_ns


def test_a_milestone_is_a_moment(evidence: Evidence) -> None:
    assert moment(evidence, "init").board_ns == evidence.timeline.milestones["init"]
    assert moment(evidence, "1.5ms") == moment(evidence, "1500us") == moment(evidence, "0.0015")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("999s", "was recorded from 0 to"),
        ("inti", "neither a time nor a milestone"),
        ("-1s", "neither a time"),
    ],
)
def test_a_moment_that_the_boot_has_not(evidence: Evidence, asked: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        moment(evidence, asked)
    assert asked != "inti" or "init" in (caught.value.hint or "")


def test_packets_are_freed_of_escapes_and_repetitions() -> None:
    assert plain(b"0* ") == b"0000"
    assert plain(b"a}\x03b") == b"a#b"


TARGET = '<target><xi:include href="core.xml"/><xi:include href="fpu.xml"/></target>'
CORE = """<feature name="core"><reg name="r0" bitsize="32"/><reg name="pc" bitsize="32" type="code_ptr"/>
<reg name="f0" bitsize="96" group="float"/><reg name="cpsr" bitsize="32" regnum="25"/></feature>"""


def test_registers_of_the_core_are_those_of_the_first_feature() -> None:
    files = {"core.xml": CORE}
    found = core_registers(TARGET, files.__getitem__)
    assert found == [Register("r0", 0, 32), Register("pc", 1, 32), Register("cpsr", 25, 32)]
    with pytest.raises(ToolError, match="no registers"):
        core_registers("<target/>", files.__getitem__)


def test_a_stub_that_hangs_up_is_an_error_of_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "gdb"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        hanging_up = threading.Thread(target=lambda: server.accept()[0].close())
        hanging_up.start()
        with pytest.raises(ToolError, match="did not answer"), Remote(path):
            pass
        hanging_up.join()
    with pytest.raises(ToolError, match="does not answer"):
        Remote(tmp_path / "none")
