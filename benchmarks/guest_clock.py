# SPDX-License-Identifier: Apache-2.0
"""What the clock of a core or a board costs: boots with `guest-clock=core` or `guest-clock=board` beside
boots whose clock counts instructions.

    .venv/bin/python benchmarks/guest_clock.py [--system debian] [--until kernel-entry] [--core cortex-a8]
                                               [--clock board] [-n 5]

Each turn records the system with both clocks, one after the other on the same computer, and prints the host
times and their ratio; the median comes last. Fails if the median is above LIMIT.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from turns import bench_in, ended, options, told

from bootscope.boards.changed import OF_BOARD, OF_CORE
from bootscope.boards.profile import Board, load_board
from bootscope.emulator.plugin_config import Limits
from bootscope.system.load import load_system

LIMIT = 4


def main() -> int:
    args = options("Measure what the clock of a core costs, as a ratio of host times.", (OF_CORE, OF_BOARD))
    loaded = load_system(args.system)
    plain = loaded.system.board
    boards = [
        load_board(f"{plain}:core=none"),
        load_board(f"{plain}:core={args.core}:guest-clock={args.clock}"),
    ]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        bench = bench_in(folder, Limits())

        def host_ms(board: Board) -> int:
            (boot,) = bench.record(loaded, board, args.until).boots
            return boot.info.host_ms

        for turn in range(1, args.n + 1):
            without, with_ = map(host_ms, boards)
            ratios.append(told(turn, without, "with the clock", with_))
    return ended(ratios, "a boot with the clock of a core", LIMIT)


if __name__ == "__main__":
    sys.exit(main())
