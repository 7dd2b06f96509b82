# SPDX-License-Identifier: Apache-2.0
"""What a build has to do and what that takes, before any of it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bootscope.builder import history, trees
from bootscope.builder.cache import Cache
from bootscope.builder.history import Took
from bootscope.builder.outlook import UNKNOWN, Outlook
from bootscope.builder.progress import Progress
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context, Runner, Step
from bootscope.builder.workload import Basis, Bound, Work, Workload

FOUND = Resolved("/x.tar", "ab" * 32, "upstream", "1")
S = 10**9


def work(_context: Context) -> None: ...


UNPACK = Step("unpack-linux", "unpacking", 1, work, figures="unpack-linux")
KERNEL = Step(
    "kernel", "building the kernel", 1, work, {}, ("unpack-linux",),
    program="the kernel", figures="kernel", tree=("unpack-linux", "defconfig", "cc"),
)  # fmt: skip
CARD = Step("card", "card", 1, work, {}, ("kernel",))
STEPS = [UNPACK, KERNEL, CARD]


def outlook(cache: Cache, found: Resolved | None = FOUND) -> Outlook:
    return Outlook.of(STEPS, {"linux": found}, cache)


def names(workload: Workload) -> list[str]:
    return [work.step for work in workload.works]


def test_what_is_not_there_is_to_do_with_the_figures_that_come_along(cache: Cache) -> None:
    workload = outlook(cache).workload(1)
    kernel = history.shipped().steps["kernel"]
    assert workload.works[1] == Work("kernel", "the kernel", kernel.units, kernel.on(1), Basis.ELSEWHERE)
    assert names(workload) == ["unpack-linux", "kernel", "card"]
    assert (workload.cores, workload.bound, workload.programs) == (1, Bound.ABOUT, ("the kernel",))


def test_figures_of_this_computer_go_before(cache: Cache) -> None:
    history.keep(cache.root, "kernel", Took(5_000, 600 * S, 1_100 * S, 2))
    assert outlook(cache).workload(1).works[1] == Work("kernel", "the kernel", 5_000, 1_200 * S, Basis.HERE)


def test_a_source_is_fetched_first(cache: Cache) -> None:
    ahead = outlook(cache, None)
    assert names(ahead.workload(1)) == ["fetch-linux", "unpack-linux", "kernel", "card"]
    assert ahead.workload(1).fetched == ("linux",)
    assert set(ahead.ids.values()) == {UNKNOWN}
    assert [planned.to_do for planned in ahead.planned()] == [True] * 4


def test_what_is_cached_counts_nothing_and_its_sources_are_not_unpacked(cache: Cache) -> None:
    runner, ids = Runner(cache, Progress()), outlook(cache).ids
    runner.run(KERNEL, ids["kernel"], {})
    ahead = outlook(cache)
    assert names(ahead.workload(1)) == ["card"]
    assert ahead.workload(1).units == 0
    assert {p.name: (p.cached, p.to_do) for p in ahead.planned()} == {
        "fetch-linux": (True, False),
        "unpack-linux": (False, False),
        "kernel": (True, False),
        "card": (False, True),
    }
    runner.run(CARD, ids["card"], {})
    assert outlook(cache).workload(1).works == ()


def test_a_kept_tree_makes_an_upper_bound(cache: Cache) -> None:
    ahead = outlook(cache)
    kept = cache.root / "trees" / trees.key_of(ahead.ids["unpack-linux"], "defconfig", "cc") / "one"
    kept.mkdir(parents=True)
    (kept / "wanted.json").write_text("{}")
    workload = ahead.workload(1)
    assert (workload.bound, workload.continued) == (Bound.AT_MOST, ("the kernel",))


def test_a_program_without_figures_is_unknown(cache: Cache) -> None:
    other = replace(KERNEL, figures="somebody's")
    workload = Outlook.of([UNPACK, other], {"linux": FOUND}, cache).workload(1)
    assert (workload.bound, workload.with_basis(Basis.UNKNOWN)) == (Bound.AT_LEAST, ("the kernel",))


@pytest.mark.parametrize(
    "name", ["unpack-uboot", "unpack-linux", "unpack-busybox", "uboot", "busybox", "kernel"]
)
def test_figures_of_the_reference_system_come_along(name: str) -> None:
    took = history.shipped().steps[name]
    assert took.time_ns > S
    compiles = not name.startswith("unpack")
    assert (took.units > 500, took.cpu_ns > took.time_ns) == (compiles, compiles)
