# SPDX-License-Identifier: Apache-2.0
"""What the usual instruments cost the boot they measure: the reference system with and without each.

Builds the variants of the stock system (a kernel with ftrace takes as long as any kernel), boots each
once - emulated time is exact, a second boot would give the same figure - and writes
src/bootscope/analysis/instrument_costs.toml, which the report cites, and docs/instruments.md.

    .venv/bin/python benchmarks/instrument_cost.py
"""

from __future__ import annotations

import sys
import tempfile
import textwrap
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.analysis import views
from bootscope.boards.changed import without_core
from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import build
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.core.paths import cache_dir
from bootscope.emulator.recording import Order, record_run
from bootscope.system.load import LoadedSystem, load_system

ROOT = Path(__file__).resolve().parents[1]
MILESTONE = "first-frame"
COMMAND = "python benchmarks/instrument_cost.py"
DATA = ROOT / "src" / "bootscope" / "analysis" / "instrument_costs.toml"
PAGE = ROOT / "docs" / "instruments.md"
TABLE = "## The instruments of the documents"
SCHEMA = 1

EXPLANATION = (
    "The last four columns split the cost, in ms. The CPU column is the instrument's own work. Waits of the "
    "boot (here: for the card to be found) hide such work: idle time shrinks, and the milestone does not "
    "move. Waits that begin elsewhere may also end some 10 ms sooner or later, so a small cost can have "
    "either sign, although it is exact."
)

FTRACE_CONFIG = ("FTRACE", "FUNCTION_TRACER", "FUNCTION_GRAPH_TRACER", "DYNAMIC_FTRACE", "BLK_DEV_IO_TRACE")


@dataclass(frozen=True)
class Variant:
    """The stock system with additional words on the kernel's command line, and possibly with ftrace."""

    words: str = ""
    ftrace: bool = False

    def system(self, stock: LoadedSystem) -> LoadedSystem:
        """The variant of `stock`."""
        kernel = stock.system.kernel
        changed = msgspec.structs.replace(
            kernel,
            command_line=f"{kernel.command_line} {self.words}".strip(),
            config={**kernel.config, **({name: True for name in FTRACE_CONFIG} if self.ftrace else {})},
        )
        return LoadedSystem(msgspec.structs.replace(stock.system, kernel=changed), stock.path)


@dataclass(frozen=True)
class Comparison:
    """An instrument: its name, and the boots with and without it."""

    instrument: str
    used: Variant
    unused: Variant
    note: str


STOCK = Variant()
LOUD = "loglevel=8"
GRAPH = "ftrace=function_graph ftrace_graph_filter=do_one_initcall"
BUFFER = "trace_buf_size=8M"
EVENTS = f"trace_event=initcall:*,sched:sched_switch,sched:sched_wakeup,sched:sched_process_* {BUFFER}"
ALL_SCHED = f"trace_event=initcall:*,sched:* {BUFFER}"
COMPARISONS = (
    Comparison(
        "initcall_debug on the console",
        Variant(f"{LOUD} initcall_debug"),
        Variant(LOUD),
        "with loglevel=8 in both boots, because its lines would not be printed otherwise",
    ),
    Comparison(
        "initcall_debug in the log only",
        Variant("initcall_debug"),
        STOCK,
        "the console log level keeps its lines off the console",
    ),
    Comparison(
        "initcall_debug with quiet",
        Variant("quiet initcall_debug"),
        Variant("quiet"),
        "with quiet in both boots; pm-graph and boot-time-wizard ask for this",
    ),
    Comparison(
        "ftrace compiled in, not used",
        Variant(ftrace=True),
        STOCK,
        "FUNCTION_TRACER, FUNCTION_GRAPH_TRACER and BLK_DEV_IO_TRACE; most of the cost is "
        "trace_event_eval_update, which init_blk_tracer waits for",
    ),
    Comparison(
        "ftrace: events of initcalls, switches, wake-ups, processes",
        Variant(EVENTS, ftrace=True),
        Variant(ftrace=True),
        "compared with the same kernel without events",
    ),
    Comparison(
        "ftrace: events of initcalls, all of sched:*",
        Variant(ALL_SCHED, ftrace=True),
        Variant(ftrace=True),
        "compared with the same kernel without events; every update of a task's run time is a "
        "sched_stat_runtime event",
    ),
    Comparison(
        "ftrace: function_graph below do_one_initcall",
        Variant(GRAPH, ftrace=True),
        Variant(ftrace=True),
        "compared with the same kernel without; it traces every function that an initcall calls",
    ),
    Comparison(
        "ftrace: function_graph of do_one_initcall, two levels",
        Variant(f"{GRAPH} ftrace_graph_max_depth=2", ftrace=True),
        Variant(ftrace=True),
        "compared with the same kernel without; the depth filter still runs at every call",
    ),
    Comparison(
        "BusyBox bootchartd as init",
        Variant("init=/sbin/bootchartd"),
        STOCK,
        "it samples /proc five times a second from the start of user space",
    ),
)


PARTS = ("cpu", "console", "storage", "idle")


@dataclass(frozen=True)
class Booted:
    """Board time of the milestone, its composition (`PARTS`, ns), and the card image."""

    ns: int
    parts: dict[str, int]
    build_id: str


class Bench:
    """Boots variants, each once."""

    def __init__(self, folder: Path) -> None:
        self._stock = load_system("stock")
        self._board = without_core(load_board(self._stock.system.board))
        self._store = Store(folder)
        self._runner = Runner(Cache(cache_dir()), Progress())
        step = plugin.step()
        self._library = self._runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
        self._known: dict[Variant, Booted] = {}

    @property
    def board(self) -> Board:
        """The board for all boots."""
        return self._board

    def versions(self) -> str:
        """The versions of the booted components."""
        return ", ".join(f"{name} {source.version}" for name, source in self._stock.system.sources.items())

    def boot(self, variant: Variant) -> Booted:
        """The boot of a variant; its card image is built unless it is in the cache."""
        if variant not in self._known:
            print(f"booting with '{variant.words}'{' and ftrace' if variant.ftrace else ''}", flush=True)
            loaded = variant.system(self._stock)
            built = build(loaded, self._runner, Progress())
            order = Order(loaded.system, self._board, built, self._library, MILESTONE)
            run = self._store.load(record_run(self._store, order, Quiet()))
            timeline = views.view(self._store, run).timeline
            if MILESTONE not in timeline.milestones:
                raise SystemExit(f"'{variant.words}' did not reach {MILESTONE}: {run.boots[0].info.message}")
            parts = {name: sum(getattr(p, f"{name}_ns") for p in timeline.phases) for name in PARTS}
            self._known[variant] = Booted(timeline.milestones[MILESTONE], parts, run.info.build_id)
        return self._known[variant]


@dataclass(frozen=True)
class Cost:
    """A comparison with its figures."""

    of: Comparison
    used: Booted
    unused: Booted

    @property
    def ns(self) -> int:
        """What the instrument adds, in ns."""
        return self.used.ns - self.unused.ns

    def part(self, name: str) -> int:
        """What it adds to one of PARTS, in ns."""
        return self.used.parts[name] - self.unused.parts[name]

    def percent(self) -> str:
        """Share of the boot without the instrument, in percent with two decimals."""
        hundredths = (abs(self.ns) * 10_000 + self.unused.ns // 2) // self.unused.ns
        return f"{'-' if self.ns < 0 else ''}{hundredths // 100}.{hundredths % 100:02}"


def _ms(ns: int) -> str:
    micro = (abs(ns) + 500) // 1000
    return f"{'-' if ns < 0 else ''}{micro // 1000:,}.{micro % 1000:03}"


def data(costs: list[Cost], bench: Bench) -> str:
    """The data file."""
    today = datetime.now(UTC).date().isoformat()
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# What instruments cost the boot they measure, by booting with and without. Written by",
        f"#     {COMMAND}",
        f"schema = {SCHEMA}",
        f'measured = "{today}"',
        f'command = "{COMMAND}"',
        f'milestone = "{MILESTONE}"',
        'system = "stock"',
        f'board = "{bench.board.name}"',
        f'versions = "{bench.versions()}"',
    ]
    for cost in costs:
        lines += [
            "",
            "[[cost]]",
            f'instrument = "{cost.of.instrument}"',
            f'note = "{cost.of.note}"',
            f"with_ns = {cost.used.ns}",
            f"without_ns = {cost.unused.ns}",
            *(f"added_{name}_ns = {cost.part(name)}" for name in PARTS),
            f"with_ftrace_kernel = {str(cost.of.used.ftrace).lower()}",
            f"without_ftrace_kernel = {str(cost.of.unused.ftrace).lower()}",
            f'with_words = "{cost.of.used.words}"',
            f'without_words = "{cost.of.unused.words}"',
            f'with_build = "{cost.used.build_id}"',
            f'without_build = "{cost.unused.build_id}"',
        ]
    return "\n".join(lines) + "\n"


def page(costs: list[Cost], bench: Bench) -> str:
    """The page of the documentation."""
    rows = [
        f"| {c.of.instrument} | {_ms(c.used.ns)} | {_ms(c.unused.ns)} | {_ms(c.ns)} | {c.percent()} | "
        + " | ".join(_ms(c.part(name)) for name in PARTS)
        + " |"
        for c in costs
    ]
    return "\n".join(
        [
            "# What instruments cost the boot they measure",
            "",
            f"Board time of `{MILESTONE}` on the emulated {bench.board.name}, of the system `stock`",
            f"({bench.versions()}) with and without each instrument,",
            "one boot each: emulated time is exact, so a second boot gives the same figure. The time of",
            "console and card is that of the board's profile ([time-model.md](time-model.md)); there is no",
            "model of caches and memory: each instruction takes 2 ns ([cores.md](cores.md)).",
            "",
            f"    {COMMAND}",
            "",
            "builds and boots everything again and writes this page and",
            "`src/bootscope/analysis/instrument_costs.toml`, which the report cites.",
            "",
            "| instrument | with, ms | without, ms | cost, ms | cost, % | CPU | console | storage | idle |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
            *rows,
            "",
            *textwrap.wrap(EXPLANATION, 105),
            "",
            *(line for c in costs for line in _item(f"**{c.of.instrument}**: {c.of.note}.")),
            "",
            "bootscope's own recording of an emulated board adds nothing to board time: it observes from",
            "outside (its cost on the host: `make bench`).",
            "",
        ]
    )


def _item(text: str) -> list[str]:
    return textwrap.wrap(text, 105, initial_indent="- ", subsequent_indent="  ")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        costs = [Cost(c, bench.boot(c.used), bench.boot(c.unused)) for c in COMPARISONS]
        for cost in costs:
            print(f"{cost.of.instrument:<54} {_ms(cost.ns):>12} ms {cost.percent():>8} %")
        DATA.write_text(data(costs, bench))
        PAGE.write_text(page(costs, bench) + _table())


def _table() -> str:
    """The text after the figures on the page; it is written by hand."""
    _, heading, text = PAGE.read_text().partition(TABLE)
    return f"\n{heading}{text}" if heading else ""


if __name__ == "__main__":
    main()
