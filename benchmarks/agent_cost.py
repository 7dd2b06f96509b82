# SPDX-License-Identifier: Apache-2.0
"""What the collector on the target costs a boot, beside BusyBox's bootchartd: both as init, both exact.

Two systems: `stock`, whose user space takes 3.2 s up to the first frame, and `stock` without the script that
draws a random seed, whose user space takes 0.7 s, so a collector does little there beyond starting. All boots
of a system use one card image and differ only in the word init= on the kernel's command line. One boot each,
because emulated time is exact; a boot that the folder of --keep already has is not repeated.

    .venv/bin/python benchmarks/agent_cost.py [--keep FOLDER]

It prints, in ms: the CPU time of the collector's process; the additional CPU time of process 1 from the start
of init on (starting the collector, and itself a second time); the additional time of the card; and how much
later the first frame is. The last is a poor measure of so little: waits of the boot end with ticks of 10 ms,
so one more letter on the command line can move it that far, in both directions.

Fails if the CPU time of process and process 1 is more than a fifth of that with bootchartd.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.analysis import views
from bootscope.analysis.all_views import rows_of
from bootscope.boards.changed import without_core
from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import build
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.builder.steps.agent import AGENT, build_agent
from bootscope.capture.store import Store
from bootscope.capture.stored import StoredRun
from bootscope.cli.observers import Quiet
from bootscope.core.errors import BootscopeError
from bootscope.core.paths import cache_dir
from bootscope.emulator.recording import Order, record_run
from bootscope.system.load import LoadedSystem, load_system

MILESTONE = "first-frame"
PHASES = ("init", "application")
SEED = "/etc/init.d/S30seed"
INSTALLED = "bootscoped"
"""As long as bootchartd: the kernel prints the path of init twice, at 87 us a letter."""
COLLECTORS = ("bootchartd", INSTALLED)
SYSTEMS: dict[str, tuple[str, ...]] = {"stock": (), f"stock without {SEED}": (SEED,)}
LIMIT = 5


@dataclass(frozen=True)
class Spent:
    """Times of one boot, in ns: CPU time of collectors and of process 1 in user space, the card's, the
    milestone."""

    process: int
    init: int
    storage: int
    until: int

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.process - other.process,
            self.init - other.init,
            self.storage - other.storage,
            self.until - other.until,
        )

    @property
    def cpu(self) -> int:
        """The collector's own CPU time."""
        return self.process + self.init


def spent(view: views.View) -> Spent:
    """The times of a boot that reached the milestone."""
    used: dict[str, int] = {}
    for phase in PHASES:
        (processes,) = rows_of("processes", view.evidence, view.stacks, phase)
        for row in processes.rows:
            name = "init" if row["pid"] == 1 else str(row["name"]).partition("[")[0]
            used[name] = used.get(name, 0) + int(row["cpu_ns"] or 0)
    storage = sum(phase.storage_ns for phase in view.timeline.phases)
    process = sum(used.get(name, 0) for name in COLLECTORS)
    return Spent(process, used["init"], storage, view.timeline.milestones[MILESTONE])


class Bench:
    """Boots the variants."""

    def __init__(self, folder: Path, store: Path) -> None:
        self._store = Store(store)
        self._runner = Runner(Cache(cache_dir()), Progress())
        self._loaded = self._with_agent(folder)
        step = plugin.step()
        self._library = self._runner.run(step, step.step_id({}), {}) / plugin.PLUGIN

    def _with_agent(self, folder: Path) -> LoadedSystem:
        """A copy of the stock system that has the collector in its root file system."""
        stock = load_system("stock")
        shutil.copy(stock.path, folder)
        shutil.copytree(stock.path.parent / "stock", folder / "stock")
        programs = folder / "stock" / "rootfs" / "sbin"
        programs.mkdir(exist_ok=True)
        shutil.copy(build_agent(stock, self._runner, Progress()), programs / INSTALLED)
        return load_system(str(folder / stock.path.name))

    def boot(self, removed: tuple[str, ...], words: str) -> Spent:
        """A boot without the files `removed` and with the additional command-line words `words`."""
        system = self._loaded.system
        kernel = msgspec.structs.replace(
            system.kernel, command_line=f"{system.kernel.command_line} {words}".strip()
        )
        rootfs = msgspec.structs.replace(system.rootfs, remove=(*system.rootfs.remove, *removed))
        system = msgspec.structs.replace(system, kernel=kernel, rootfs=rootfs)
        built = build(LoadedSystem(system, self._loaded.path), self._runner, Progress())
        order = Order(system, without_core(load_board(system.board)), built, self._library, MILESTONE)
        run = self._known(built.build_id) or self._store.load(record_run(self._store, order, Quiet()))
        view = views.view(self._store, run)
        if MILESTONE not in view.timeline.milestones:
            raise SystemExit(f"'{words}' did not reach {MILESTONE}: {run.boots[0].info.message}")
        return spent(view)

    def _known(self, build_id: str) -> StoredRun | None:
        for run_id in self._store.run_ids():
            try:
                run = self._store.load(run_id)
            except BootscopeError:
                continue  # interrupted
            if run.info.build_id == build_id and run.boots:
                return run
        return None


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.3f}"


def _line(name: str, cost: Spent) -> str:
    figures = (cost.process, cost.init, cost.cpu, cost.storage, cost.until)
    return f"{name:<12}" + "".join(f"{_ms(ns):>12}" for ns in figures)


def measure(bench: Bench) -> bool:
    """Boots and prints; returns whether the collector is within its limit."""
    good = True
    for title, removed in SYSTEMS.items():
        plain = bench.boot(removed, "")
        print(f"\n{title}: {MILESTONE} after {_ms(plain.until)} ms without a collector; cost in ms")
        heads = ("process", "process 1", "CPU", "storage", MILESTONE)
        print(f"{'':<12}" + "".join(f"{head:>12}" for head in heads), flush=True)
        costs = []
        for name in COLLECTORS:
            costs.append(bench.boot(removed, f"init=/sbin/{name}") - plain)
            print(_line(name, costs[-1]), flush=True)
        chart, agent = costs
        print(f"CPU time of {AGENT}: {100 * agent.cpu / chart.cpu:.1f} % of bootchartd's", flush=True)
        good &= agent.cpu * LIMIT <= chart.cpu
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="folder for recordings; existing ones are not repeated")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if measure(Bench(Path(folder), args.keep or Path(folder) / "store")) else 1


if __name__ == "__main__":
    sys.exit(main())
