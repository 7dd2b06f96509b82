# SPDX-License-Identifier: Apache-2.0
"""What the counting pass costs: `record --timing` boots a second time and counts what a core's caches do.

    .venv/bin/python benchmarks/timing_pass.py [--system debian] [--until kernel-entry] [--core cortex-a8]
                                               [-n 5]

Each turn records the system and counts for the core; told are the host times of boot and pass of each turn,
their ratio and its median. Both are made one after the other on the same computer, so that the ratio says
something where times do not. Fails when the median is above LIMIT.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.boards.profile import load_board
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.capture import counted
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.core.paths import cache_dir
from bootscope.cores.profile import load_core
from bootscope.emulator.plugin_config import Limits
from bootscope.search.bench import Bench
from bootscope.system.load import load_system

LIMIT = 4


def main() -> int:
    parser = argparse.ArgumentParser(description="What the counting pass costs, as a ratio.")
    parser.add_argument("--system", default="debian")
    parser.add_argument("--until", default="kernel-entry")
    parser.add_argument("--core", default="cortex-a8")
    parser.add_argument("-n", type=int, default=5)
    args = parser.parse_args()
    loaded, core = load_system(args.system), load_core(args.core)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Cache(cache_dir()), Progress())
        bench = Bench(Store(Path(folder)), runner, Progress(), Quiet(), limits=Limits(timing=(core,)))
        for turn in range(1, args.n + 1):
            (boot,) = bench.record(loaded, load_board(loaded.system.board), args.until).boots
            (found,) = counted.kept(boot.path).values()
            ratios.append(found.host_ms / boot.info.host_ms)
            print(
                f"{turn}: boot {boot.info.host_ms / 1000:.1f} s, pass {found.host_ms / 1000:.1f} s, "
                f"{ratios[-1]:.2f} times",
                flush=True,
            )
    median = statistics.median(ratios)
    print(f"median of {len(ratios)}: the pass takes {median:.2f} times as long as the boot (at most {LIMIT})")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
