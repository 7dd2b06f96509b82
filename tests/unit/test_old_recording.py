# SPDX-License-Identifier: Apache-2.0
"""A recording of the first days, without hooks on processes and without the programs' code.

Everything works on it as far as it goes, and says what it lacks.
"""

from __future__ import annotations

import pytest

from bootscope.analysis.all_views import rows_of
from bootscope.analysis.changes import VIEWS, changes
from bootscope.analysis.rows import Rows
from bootscope.analysis.view_names import NAMES
from bootscope.analysis.views import View, view
from bootscope.analysis.whatif import predict
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.export import sums
from bootscope.export.base import Exporter, Subject
from bootscope.export.registry import EXPORTERS
from bootscope.report.html import render

from ..fixtures.stock_boot import unpack

TOTAL_NS = 10_629_284_201
EXPECTED = {
    "initcalls": "the kernel's initcalls, driver probes, U-Boot's steps, U-Boot's probes, U-Boot's commands",
    "functions": "process switches",
    "processes": "process switches, parents of processes",
    "storage": "process switches, requesters of reads and writes",
    "console": "process switches, origin and level of kernel messages",
    "waits": "process switches, wake-ups, delays of the kernel, delays of U-Boot",
    "silences": "",  # the console is whole
    "critical-path": "process switches, wake-ups",
    "floor": "delays of the kernel, files read by the application, delays of U-Boot",
}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> View:
    """The recording, understood once for all tests."""
    store = Store(tmp_path_factory.mktemp("old") / "store")
    return view(store, store.find(unpack(store)))


def tables(old: View, name: str, phase: str | None = None) -> tuple[Rows, ...]:
    return rows_of(name, old.evidence, old.stacks, phase)


def test_the_expectations_are_about_every_view() -> None:
    assert EXPECTED.keys() == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_view_says_what_is_missing(old: View, name: str) -> None:
    said = f"Not in this recording: {EXPECTED[name]}. Record again to see this."
    found = tables(old, name, "init")
    assert all(table.notes[:1] == ((said,) if EXPECTED[name] else ()) for table in found)
    paths = "No call paths: the code of the SPL, U-Boot, the kernel was not kept."
    assert (paths in found[0].notes) == (name == "functions")


def test_there_are_no_initcalls(old: View) -> None:
    assert tables(old, "initcalls")[0].rows == ()


def test_all_of_it_is_one_process(old: View) -> None:
    (whole,) = tables(old, "processes")[0].rows
    assert (whole["name"], whole["command"], whole["started_by"]) == ("the whole boot", "", "")


def test_storage_and_console_are_whole_but_for_who_it_was(old: View) -> None:
    assert sum(int(row["cost_ns"] or 0) for row in tables(old, "storage")[0].rows) == 838_751_067
    writers = {row["who"] for row in tables(old, "console")[1].rows}
    assert writers == {"SPL", "U-Boot", "kernel", "kernel or programs"}


def test_the_critical_path_covers_the_boot(old: View) -> None:
    assert sum(int(row["length_ns"] or 0) for row in tables(old, "critical-path")[1].rows) == TOTAL_NS


def test_programs_that_cannot_be_told_apart_have_no_names(old: View) -> None:
    names = {row["what"] for row in tables(old, "functions")[0].rows}
    assert "user programs" in names
    assert not any("getty" in str(name) for name in names)


def test_a_report_can_be_made(old: View) -> None:
    assert "<html" in render([old])


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda e: e.name)
def test_every_export_can_be_made(old: View, exporter: Exporter) -> None:
    assert exporter.make(Subject(old.trace))


def test_exports_say_what_show_says(old: View) -> None:
    phases = old.timeline.phases
    spent = sums.spent(old.trace)
    assert spent == {
        kind: sum(getattr(p, f"{kind}_ns") for p in phases)
        for kind in ("cpu", "storage", "console", "idle", "fixed")
    }
    assert sum(spent.values()) == TOTAL_NS
    assert "path" not in sums.busy(old.trace)
    # The critical path is the whole boot: nothing of it is waiting for that alone.
    assert sums.longest(old.trace, "wait", 10) == [("asleep", spent["idle"])]


def test_a_report_has_no_empty_tables_and_moments_in_seconds(old: View) -> None:
    assert all(table.rows for table in old.trace.tables)
    assert "Initcalls" not in " ".join(table.title for table in old.trace.tables)
    text = render([old])
    assert ">start s<" in text
    assert ">start ms<" not in text
    assert "<td>4.590763</td><td>2,757.447</td>" in text


@pytest.mark.parametrize("change", ["card=4x", "console=921600", "no-console", "quiet"])
def test_what_needs_no_hooks_is_predicted(old: View, change: str) -> None:
    found = predict(old.evidence, old.stacks, [change])
    assert 300_000_000 < found.saving_ns < TOTAL_NS // 2
    assert found.now_ns == TOTAL_NS
    if change == "quiet":
        assert "293 of them have no known level and are counted as such" in found.assumptions


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("bootdelay=0", "delays in U-Boot"),
        ("without:pty_init", "initcalls, probes and commands"),
        ("later:dd", "processes"),
    ],
)
def test_what_needs_hooks_is_refused(old: View, change: str, what: str) -> None:
    """Without them nothing is on the path, or everything: both would be nonsense."""
    with pytest.raises(UserError, match=f"this recording has no data on {what}"):
        predict(old.evidence, old.stacks, [change])


@pytest.mark.parametrize("name", [name for name in VIEWS if name != "memory"])
def test_a_boot_compared_with_itself_has_not_changed(old: View, name: str) -> None:
    assert changes(name, old, old).rows == ()


def test_a_core_is_needed_for_what_waits_for_memory(old: View) -> None:
    with pytest.raises(UserError, match="of a core's caches and memory: name one"):
        changes("memory", old, old)
