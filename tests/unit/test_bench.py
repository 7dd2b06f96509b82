# SPDX-License-Identifier: Apache-2.0
"""The bench: what was measured once is not measured again, unless anything that matters is another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.record import WatchNames
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli.observers import Quiet
from bootscope.core.errors import ToolError
from bootscope.emulator import executor, qemu
from bootscope.emulator.plugin_config import Limits
from bootscope.emulator.recording import Order
from bootscope.search import bench as bench_module
from bootscope.search.bench import Bench
from bootscope.system.load import LoadedSystem
from bootscope.system.model import Milestone, System

from .builders import DEVICES, HOOK_NAMES, HOOKS, TEXTS
from .lab_scenes import keep, on_another, stock

BUILD, PLUGIN, QEMU = "b" * 64, "f" * 64, "10.0.2"
TOOLS = {"qemu-system-arm": QEMU, "bootscope-plugin": PLUGIN[:16], "arm-linux-gnueabihf-gcc": "14.2"}
PLAIN = WatchNames(devices=DEVICES, hooks=dict(enumerate(HOOK_NAMES, start=1)), texts=TEXTS)
LIMITS = "limit 120000000000\nquiet 30000000000\n"
MATCHING: dict[str, Any] = {"build_id": BUILD, "until": "first-frame", "tools": TOOLS}


class Workshop:
    """Stands for builder, plugin, QEMU and recorder; counts what they did."""

    def __init__(self, store: Store, root: Path) -> None:
        self.store, self.root = store, root
        self.qemu, self.plugin, self.build_id = QEMU, PLUGIN, BUILD
        self.built = 0
        self.orders: list[Order] = []
        self.missing = False

    def check(self, _board: Board) -> str:
        if self.missing:
            raise ToolError("qemu-system-arm is missing")
        return self.qemu

    def step(self) -> object:
        return SimpleNamespace(step_id=lambda _ids: self.plugin)

    def build(self, _loaded: LoadedSystem, _runner: Runner, _progress: object) -> object:
        self.built += 1
        return SimpleNamespace(build_id=self.build_id, results={})

    def record(self, store: Store, order: Order, _observer: object) -> str:
        self.orders.append(order)
        tools = {**TOOLS, "qemu-system-arm": self.qemu, "bootscope-plugin": self.plugin[:16]}
        fields: dict[str, Any] = {"build_id": self.build_id, "until": order.until, "tools": tools}
        return keep(store, board=order.board, **fields)

    def run(self, _step: object, step_id: str, _needs: object) -> Path:
        return self.root / step_id


@pytest.fixture
def workshop(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    made = Workshop(store, tmp_path)
    monkeypatch.setattr(executor, "build", made.build)
    monkeypatch.setattr(executor, "record_run", made.record)
    monkeypatch.setattr(plugin, "step", made.step)
    monkeypatch.setattr(qemu, "check", made.check)
    return made


@pytest.fixture
def measure(workshop: Workshop, store: Store, cache: Cache) -> Callable[..., StoredRun]:
    """Has the stock system measured; returns the run."""
    runner = SimpleNamespace(run=workshop.run, cache=cache)

    def work(board: Board | None = None, until: str = "", limits: Limits | None = None) -> StoredRun:
        bench = Bench(store, cast(Runner, runner), Progress(), Quiet(), limits=limits or Limits())
        return bench.measured(stock(), board, until)

    return work


Measure = Callable[..., StoredRun]


def test_what_was_not_measured_is_measured_then_known(workshop: Workshop, measure: Measure) -> None:
    first = measure()
    assert len(workshop.orders) == 1
    order = workshop.orders[0]
    assert (order.until, order.boots, order.board) == ("first-frame", 1, load_board("cubieboard"))
    assert order.system == stock().system
    assert measure().info.run_id == first.info.run_id
    assert len(workshop.orders) == 1
    assert workshop.built == 2


def test_of_several_runs_the_last_is_taken(store: Store, workshop: Workshop, measure: Measure) -> None:
    keep(store, **MATCHING)
    last = keep(store, **MATCHING)
    keep(store, **{**MATCHING, "build_id": "c" * 64})
    assert measure().info.run_id == last
    assert workshop.orders == []


@pytest.mark.parametrize(
    "other",
    [
        {"build_id": "c" * 64},
        {"until": "application"},
        {"board": on_another(load_board("cubieboard"))},
        {"tools": {**TOOLS, "qemu-system-arm": "10.1.0"}},
        {"tools": {**TOOLS, "bootscope-plugin": "e" * 16}},
        {"tools": {}},
        {"watch_names": PLAIN},
    ],
    ids=str,
)
def test_a_run_of_anything_else_is_not_taken(
    store: Store, workshop: Workshop, measure: Measure, other: dict[str, Any]
) -> None:
    keep(store, **{**MATCHING, **other})
    measure()
    assert len(workshop.orders) == 1


def looking_for(process: str = "", **milestones: Milestone) -> System:
    """The stock system with another application, or with other milestones beside its own."""
    system = stock().system
    process = process or system.application.process
    application = msgspec.structs.replace(system.application, process=process)
    all_of_them = {**system.milestones, **{name.replace("_", "-"): m for name, m in milestones.items()}}
    return msgspec.structs.replace(system, application=application, milestones=all_of_them)


OTHERS = (
    looking_for(process="another"),
    looking_for(app_ready=Milestone(console="another text")),
    looking_for(app_ready=Milestone(journal=("MESSAGE=ready",))),
    looking_for(web=Milestone(console="web: ready")),
)
REQUIRED = looking_for(app_ready=Milestone(console="testcard: ready", required=True))


@pytest.mark.parametrize("system", OTHERS, ids=("process", "text", "journal", "more"))
def test_a_run_in_which_something_else_was_looked_for_is_not_taken(
    store: Store, workshop: Workshop, measure: Measure, system: System
) -> None:
    """The application and the milestones are not part of the build."""
    keep(store, system=system, **MATCHING)
    measure()
    assert len(workshop.orders) == 1


def test_a_run_from_before_a_milestone_was_required_is_taken(
    store: Store, workshop: Workshop, measure: Measure
) -> None:
    known = keep(store, system=REQUIRED, **MATCHING)
    assert measure().info.run_id == known
    assert workshop.orders == []


def test_the_key_of_a_system_follows_what_is_looked_for(
    store: Store, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = [SimpleNamespace(name="card", step_id=BUILD)]
    monkeypatch.setattr(bench_module, "outlook", lambda *_: SimpleNamespace(planned=lambda: planned))
    runner = cast(Runner, SimpleNamespace(run=workshop.run, cache=None))
    bench = Bench(store, runner, Progress(), Quiet())
    systems = (stock().system, *OTHERS, REQUIRED)
    keys = [bench.key(LoadedSystem(system, stock().path)) for system in systems]
    assert len(set(keys)) == len(systems)
    assert bench.key(stock()) == keys[0]


def test_other_tools_do_not_matter(store: Store, workshop: Workshop, measure: Measure) -> None:
    """They made the images, whose id is the same."""
    other = {"tools": {**TOOLS, "arm-linux-gnueabihf-gcc": "1.0"}, "host": {"a": "b"}}
    known = keep(store, **{**MATCHING, **other})
    assert measure().info.run_id == known
    assert workshop.orders == []


def test_a_change_of_board_or_milestone_is_measured_anew(workshop: Workshop, measure: Measure) -> None:
    runs = {measure().info.run_id, measure(on_another(load_board("cubieboard"))).info.run_id}
    runs.add(measure(until="application").info.run_id)
    assert len(runs) == len(workshop.orders) == 3


@pytest.mark.parametrize(
    ("ended", "again"),
    [
        ("milestone", False), ("panic", False), ("hang", False), ("limit", False),
        ("timeout", True), ("interrupted", True), ("died", True), ("partial", True),
    ],
)  # fmt: skip
def test_only_an_end_that_comes_again_is_known(
    store: Store, workshop: Workshop, measure: Measure, ended: str, again: bool
) -> None:
    """The virtual clock decides on some; others were the host's."""
    keep(store, ended=ended, watch=f"tick 1\n{LIMITS}", **MATCHING)
    measure()
    assert bool(workshop.orders) == again


@pytest.mark.parametrize("ended", ["hang", "limit"])
@pytest.mark.parametrize("watch", ["limit 1000\nquiet 30000000000\n", "limit 120000000000\nquiet 1\n", ""])
def test_a_boot_that_was_given_up_sooner_may_get_there(
    store: Store, workshop: Workshop, measure: Measure, ended: str, watch: str
) -> None:
    keep(store, ended=ended, watch=watch, **MATCHING)
    measure()
    assert len(workshop.orders) == 1


def test_with_the_same_limits_it_does_not(store: Store, workshop: Workshop, measure: Measure) -> None:
    keep(store, ended="limit", watch="limit 5\nquiet 6\n", **MATCHING)
    measure(limits=Limits(limit_ns=5, quiet_ns=6))
    assert workshop.orders == []


def test_a_recording_without_explanations_is_enough_for_one_who_wants_none(
    store: Store, workshop: Workshop, measure: Measure
) -> None:
    plain = keep(store, watch_names=PLAIN, **MATCHING)
    assert measure(limits=Limits(explain=False)).info.run_id == plain
    measure()
    assert len(workshop.orders) == 1


@pytest.mark.parametrize("file", ["run.json", "boots/001/boot.json"])
def test_a_damaged_run_is_as_good_as_none(
    store: Store, workshop: Workshop, measure: Measure, file: str
) -> None:
    """Also one that the index still knows."""
    good, bad = keep(store, **MATCHING), keep(store, **MATCHING)
    assert len(store.summaries()) == 2
    (store.runs / bad / file).write_text("{")
    assert measure().info.run_id == good
    assert workshop.orders == []


def test_without_qemu_nothing_is_built(workshop: Workshop, measure: Measure) -> None:
    workshop.missing = True
    with pytest.raises(ToolError, match="missing"):
        measure()
    assert workshop.built == 0


def test_hooks_are_those_of_recordings() -> None:
    assert "switch" in HOOKS.values()
    assert "switch" not in HOOK_NAMES
