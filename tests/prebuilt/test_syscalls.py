# SPDX-License-Identifier: Apache-2.0
"""`record --syscalls`: what every process asked of the kernel, in a boot that stays the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bootscope.analysis.syscalls import calls, result
from bootscope.analysis.views import view
from bootscope.capture.store import Store
from bootscope.inventory.recorded import facts
from bootscope.inventory.unused_files import FOUND
from tests.command import Bootscope

pytestmark = pytest.mark.boot
Recorded = tuple[Bootscope, dict[str, Any]]
NOT_RETURNED = "not returned"


@pytest.fixture(scope="module")
def found(probed: Recorded) -> dict[str, list[dict[str, Any]]]:
    """The rows of the view's tables, by the tables' names."""
    shown = probed[0].json("show", "--view", "syscalls", "--top", "100000")
    return {table["name"]: table["rows"] for table in shown["tables"]}


def test_every_process_that_ended_said_so_and_did_nothing_after(
    probed: Recorded, found: dict[str, list[dict[str, Any]]]
) -> None:
    ends = [row for row in found["calls"] if row["what"] in ("exit", "exit_group")]
    assert len(ends) > 10
    # It ends in the call, which never comes back: not even when another process gets its stack.
    assert all(row["result"] == NOT_RETURNED for row in ends)
    assert max(Counter(row["task"] for row in ends).values()) == 1
    for end in ends:
        pid = end["task"].rpartition("[")[2]
        own = [row for row in found["calls"] if row["task"].rpartition("[")[2] == pid]
        assert max(row["start_ns"] for row in own) == end["start_ns"]
    processes = probed[0].json("show", "--view", "processes", "--top", "100000")["tables"][0]["rows"]
    assert {row["task"].rpartition("[")[2] for row in ends} <= {f"{row['pid']}]" for row in processes}


def test_calls_of_a_process_follow_each_other(found: dict[str, list[dict[str, Any]]]) -> None:
    last: dict[str, int] = {}
    for row in found["calls"]:
        pid = row["task"].rpartition("[")[2]
        assert row["start_ns"] >= last.get(pid, 0), row
        last[pid] = row["end_ns"]
    # What waits for somebody has not returned when the recording ends; nothing else.
    waiting = [row["what"] for row in found["calls"] if row["result"] == NOT_RETURNED]
    assert {what for what in waiting if not what.startswith("exit")} <= {"rt_sigtimedwait", "read", "wait4"}


def test_files_are_named_and_what_is_not_there_has_failed(found: dict[str, list[dict[str, Any]]]) -> None:
    started = [row for row in found["calls"] if row["what"] == "execve" and row["result"] == "0"]
    assert any(row["file"] == "/usr/bin/testcard" for row in started)
    looked_up = {row["file"]: row for row in found["files"]}
    nowhere = [row for row in found["calls"] if row["file"] == "/sbin/mount"]
    assert nowhere and {row["result"] for row in nowhere} == {"ENOENT"}
    assert looked_up["/sbin/mount"]["failed"] == looked_up["/sbin/mount"]["times"] == len(nowhere)
    # What is removed has a name, too.
    removed = [
        row for row in found["calls"] if row["what"] == "unlink" and row["task"].startswith("switch_root")
    ]
    assert len(removed) > 100 and all(row["file"] for row in removed)
    modules = [row for row in found["calls"] if row["what"] == "finit_module"]
    assert modules and all(row["result"] == "0" and row["cpu_ns"] > 10_000_000 for row in modules)


def test_sums_are_those_of_the_calls(found: dict[str, list[dict[str, Any]]]) -> None:
    for row in found["syscalls"]:
        own = [c for c in found["calls"] if (c["task"], c["what"]) == (row["task"], row["what"])]
        assert row["times"] == len(own)
        assert row["total_ns"] == sum(call["total_ns"] for call in own)


def test_results_are_said_as_programs_see_them() -> None:
    assert result((1 << 32) - 2, 4) == "ENOENT"
    assert result((1 << 64) - 22, 8) == "EINVAL"
    # Within the range of errors, but none that has a name; an address; a small number.
    assert result((1 << 32) - 4000, 4) == "-4000"
    assert result(0xB6F00000, 4) == "0xb6f00000"
    assert result(3, 4) == "3"


def test_a_recording_without_says_how_to_make_one(debian: Recorded, bootscope: Bootscope) -> None:
    done = debian[0].run("show", "--view", "syscalls")
    assert done.returncode == 2 and "--syscalls" in done.stderr
    done = bootscope.run("record", "debian", "--syscalls", "--no-explain")
    assert done.returncode == 2 and "--no-explain" in done.stderr


def test_calls_that_achieve_nothing_are_summed_up_by_process(found: dict[str, list[dict[str, Any]]]) -> None:
    rows = found["redundant"]
    assert [row["cpu_ns"] + row["storage_ns"] for row in rows] == sorted(
        (row["cpu_ns"] + row["storage_ns"] for row in rows), reverse=True
    )
    # All programs of this root file system are linked statically: none looks for a library.
    assert {row["kind"] for row in rows} >= {"files not there"}
    assert "libraries not there" not in {row["kind"] for row in rows}
    for row in rows:
        if row["kind"] == "files not there":
            own = [c for c in found["calls"] if c["pid"] == int(row["task"].rpartition("[")[2][:-1])]
            assert row["times"] <= sum(call["result"] == "ENOENT" for call in own)


def test_files_that_a_boot_never_looked_up_are_known_and_those_it_used_are_not(probed: Recorded) -> None:
    store = Store(probed[0].store)
    known = facts(store, view(store, store.load(probed[1]["run_id"])))
    unused = FOUND["unused_files"](known).split()
    assert {"/bin/vi", "/usr/bin/wget"} <= set(unused) | {f"/usr{path}" for path in unused}
    paths = {row["file"] for row in calls(known.view.evidence) if row["what"] == "execve"}
    ran = {str(path) for path in paths} & known.files.keys()
    assert "/usr/bin/testcard" in ran and not ran & set(unused)
    # What only a script names, which has not run yet, stays.
    assert not {path for path in unused if path.startswith("/etc")}
