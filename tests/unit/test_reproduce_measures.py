# SPDX-License-Identifier: Apache-2.0
"""`reproduce`: what is measured of a boot, and the page of all results."""

from __future__ import annotations

import importlib.util
from typing import Any

import msgspec
import pytest

from bootscope.capture.record import Part
from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.published.measures import measured
from bootscope.published.tables import Measure, table_ids

from .builders import ROOT
from .lab_scenes import MS, boot, kept_view

# ---- measures ----


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"phases": ("init",)}, 50 * MS),
        ({"phases": ("init", "application")}, 53 * MS),
        ({"phases": ("decompress",)}, 8 * MS),
        ({"lines": ("U-Boot SPL", "U-Boot 2025")}, None),
        ({"parts": ("kernel/zImage",)}, 4_000_000),
        ({"parts": ("payload/payload|kernel/zImage", "application/program")}, 4_005_000),
        ({"function": "no_such_function"}, 0),
    ],
    ids=str,
)
def test_a_boot_is_measured(store: Store, how: dict[str, Any], expected: int | None) -> None:
    parts = (
        Part(name="kernel/zImage", step_id="", sha256="", size_bytes=4_000_000),
        Part(name="application/program", step_id="", sha256="", size_bytes=5_000),
    )
    view = kept_view(store, parts=parts)
    found = measured(Measure(title="it", **how), view)
    if expected is None:
        first, then = (line for line in view.timeline.lines if b"U-Boot" in line.data)
        expected = then.start_ns - first.start_ns
        assert expected > 0
    assert found.value == expected


def test_times_up_to_a_phase_and_to_the_end_add_up(store: Store) -> None:
    view = kept_view(store)
    t = view.timeline
    init = measured(Measure(title="", until="init"), view)
    rest = measured(Measure(title="", phases=("init", "application")), view)
    total = measured(Measure(title="", until="end"), view)
    assert init.value == t.milestones["init"]
    assert init.value + rest.value == total.value == t.total_ns
    for found in (init, rest, total):
        assert sum(found.split.values()) == found.value
    reading = measured(Measure(title="", reading="kernel"), view)
    assert reading.value == sum(x.cost_ns for x in t.transfers if x.what == "kernel") > 0


def test_functions_that_are_counted_otherwise_are_not_counted(store: Store) -> None:
    view = kept_view(store)
    whole = measured(Measure(title="", until="end"), view)
    most = max((c for c in view.consumers if c.kind == "cpu"), key=lambda c: c.ns)
    told = {c.phase: c.ns for c in view.consumers if (c.kind, c.what) == ("cpu", most.what)}
    less = measured(Measure(title="", until="end", without=(most.what,)), view)
    assert whole.value - less.value == sum(told.values()) > 0
    assert whole.split["cpu_ns"] - less.split["cpu_ns"] == sum(told.values())
    assert sum(less.split.values()) == less.value
    of_phase = Measure(title="", phases=(most.phase,))
    alone = measured(msgspec.structs.replace(of_phase, without=(most.what,)), view)
    assert measured(of_phase, view).value - alone.value == told[most.phase]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"until": "end", "without": ("no_such_function",)}, "the boot has no CPU time of no_such_function"),
        ({"lines": ("U-Boot 2025", "U-Boot SPL")}, "does not show 'U-Boot 2025' and then 'U-Boot SPL'"),
        ({"reading": "Windows"}, "does not read Windows"),
        ({"parts": ("kernel/Image|x",)}, "there is no kernel/Image|x"),
    ],
    ids=str,
)
def test_what_a_boot_does_not_have_is_told(store: Store, how: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        measured(Measure(title="it", **how), kept_view(store))
    assert said in error.value.message


def test_a_boot_that_ends_before_a_phase_has_no_time_up_to_it(store: Store) -> None:
    view = kept_view(store, boot().records[:30])
    with pytest.raises(UserError, match="the boot has no phase init"):
        measured(Measure(title="", until="init"), view)


# ---- the page ----


def test_the_page_is_what_the_tables_and_results_make() -> None:
    spec = importlib.util.spec_from_file_location("reproduce_tool", ROOT / "tools" / "reproduce.py")
    assert spec
    assert spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    told = (ROOT / "docs" / "reproduced.md").read_text()
    assert told == tool.page(), "python tools/reproduce.py --page makes it anew"
    for name in table_ids():
        assert f"## {name}\n" in told
