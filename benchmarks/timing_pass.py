# SPDX-License-Identifier: Apache-2.0
"""What the counting pass costs: `record --timing` boots a second time and counts what a core's caches do.

    .venv/bin/python benchmarks/timing_pass.py [--system debian] [--until kernel-entry] [--core cortex-a8]
                                               [-n 5]

Each turn records the system, counts for the core, and prints the host times of boot and pass and their ratio;
the median comes last. Both run one after the other on the same computer, so the ratio is meaningful where
times are not. Fails if the median is above LIMIT.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from turns import bench_in, ended, options, told

from bootscope.boards.changed import without_core
from bootscope.boards.profile import load_board
from bootscope.capture import counted
from bootscope.cores.profile import load_core
from bootscope.emulator.plugin_config import Limits
from bootscope.system.load import load_system

LIMIT = 4


def main() -> int:
    args = options("Measure what the counting pass costs, as a ratio of host times.")
    loaded, core = load_system(args.system), load_core(args.core)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        bench = bench_in(folder, Limits(timing=(core,)))
        for turn in range(1, args.n + 1):
            (boot,) = bench.record(loaded, without_core(load_board(loaded.system.board)), args.until).boots
            (found,) = counted.kept(boot.path).values()
            ratios.append(told(turn, boot.info.host_ms, "pass", found.host_ms))
    return ended(ratios, "the pass", LIMIT)


if __name__ == "__main__":
    sys.exit(main())
