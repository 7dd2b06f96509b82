# SPDX-License-Identifier: Apache-2.0
"""What watching costs: host time of a recorded boot against plain QEMU on the same boot.

Boots the stock system up to the application's message, alternately with and without the plugin, and prints
both times and their ratio. The project's bound is a ratio of 2.

    .venv/bin/python benchmarks/plugin_cost.py [PAIRS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.boards.changed import without_core
from bootscope.boards.machine import machine_arguments
from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.builder.plan import Built, build
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.builder.steps import plugin
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.core.paths import cache_dir
from bootscope.core.process import end, spawn
from bootscope.devices.model import Media
from bootscope.emulator.recording import Order, record_run
from bootscope.system.load import LoadedSystem, load_system

UNTIL = "app-ready"
BOUND = 2.0


def plain(board: Board, built: Built, text: bytes) -> float:
    """Seconds of host time from QEMU's start until `text` is on the console, without the plugin."""
    arguments = machine_arguments(board, Media(built.card))
    arguments[arguments.index("null")] = "stdio"
    begun = time.monotonic()
    child = spawn([board.arch.tools.qemu, *arguments], stderr=subprocess.DEVNULL)
    assert child.stdout
    seen = b""
    while text not in seen:
        data = child.stdout.read1(4096)  # type: ignore[attr-defined]
        if not data:
            raise SystemExit("QEMU ended before the application was ready")
        seen = seen[-1000:] + data
    took = time.monotonic() - begun
    end(child)
    return took


def watched(loaded: LoadedSystem, board: Board, built: Built, library: Path) -> float:
    """Seconds of host time for the same boot with the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        order = Order(loaded.system, board, built, library, UNTIL)
        run = store.load(record_run(store, order, Quiet()))
        assert run.boots[0].info.complete, run.boots[0].info.message
        return run.boots[0].info.host_ms / 1000


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    loaded = load_system("stock")
    board = without_core(load_board(loaded.system.board))
    runner = Runner(Cache(cache_dir()), Progress())
    built = build(loaded, runner, Progress())
    step = plugin.step()
    library = runner.run(step, step.step_id({}), {}) / plugin.PLUGIN
    text = loaded.system.milestones[UNTIL].console.encode()
    ratios = []
    for pair in range(1, pairs + 1):
        without, with_plugin = plain(board, built, text), watched(loaded, board, built, library)
        ratios.append(with_plugin / without)
        print(
            f"pair {pair}: plain {without:.1f} s, recorded {with_plugin:.1f} s, ratio {ratios[-1]:.2f}",
            flush=True,
        )
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f} (bound {BOUND})")
    sys.exit(median > BOUND)


if __name__ == "__main__":
    main()
