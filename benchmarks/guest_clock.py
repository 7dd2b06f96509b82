# SPDX-License-Identifier: Apache-2.0
"""What the clock of a core costs: boots with `guest-clock=core` beside boots whose clock counts instructions.

    .venv/bin/python benchmarks/guest_clock.py [--system debian] [--until kernel-entry] [--core cortex-a8]
                                               [-n 5]

Each turn records the system with both clocks, one after the other on the same computer; told are the host
times, their ratio and its median. Fails when the median is above LIMIT.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.boards.profile import Board, load_board
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.core.paths import cache_dir
from bootscope.search.bench import Bench
from bootscope.system.load import load_system

LIMIT = 4


def main() -> int:
    parser = argparse.ArgumentParser(description="What the clock of a core costs, as a ratio.")
    parser.add_argument("--system", default="debian")
    parser.add_argument("--until", default="kernel-entry")
    parser.add_argument("--core", default="cortex-a8")
    parser.add_argument("-n", type=int, default=5)
    args = parser.parse_args()
    loaded = load_system(args.system)
    plain = loaded.system.board
    boards = [load_board(plain), load_board(f"{plain}:core={args.core}:guest-clock=core")]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(Cache(cache_dir()), Progress())
        bench = Bench(Store(Path(folder)), runner, Progress(), Quiet())

        def host_ms(board: Board) -> int:
            (boot,) = bench.record(loaded, board, args.until).boots
            return boot.info.host_ms

        for turn in range(1, args.n + 1):
            without, with_ = map(host_ms, boards)
            ratios.append(with_ / without)
            print(
                f"{turn}: {without / 1000:.1f} s, with {with_ / 1000:.1f} s, {ratios[-1]:.2f} times",
                flush=True,
            )
    median = statistics.median(ratios)
    print(f"median of {len(ratios)}: a boot takes {median:.2f} times as long (at most {LIMIT})")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
