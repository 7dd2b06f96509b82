# SPDX-License-Identifier: Apache-2.0
"""Code that benchmarks of recordings share: options, a bench to record with, ratios of turns and their
median."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Runner
from bootscope.capture.store import Store
from bootscope.cli.observers import Quiet
from bootscope.core.paths import cache_dir
from bootscope.emulator.plugin_config import Limits
from bootscope.search.bench import Bench


def options(about: str, clocks: tuple[str, ...] = ()) -> argparse.Namespace:
    """`system`, `until` and `core` by name, and `n` turns, from the command line; and `clock`, if there are
    `clocks`, the first by default."""
    parser = argparse.ArgumentParser(description=about)
    if clocks:
        parser.add_argument("--clock", choices=clocks, default=clocks[0])
    parser.add_argument("--system", default="debian")
    parser.add_argument("--until", default="kernel-entry")
    parser.add_argument("--core", default="cortex-a8")
    parser.add_argument("-n", type=int, default=5)
    return parser.parse_args()


def bench_in(folder: str, limits: Limits) -> Bench:
    """A bench whose recordings go to a folder; builds are in the user's cache."""
    runner = Runner(Cache(cache_dir()), Progress())
    return Bench(Store(Path(folder)), runner, Progress(), Quiet(), limits=limits)


def told(turn: int, plain_ms: int, other: str, other_ms: int) -> float:
    """Prints a turn, host times in ms; returns the ratio of the other time to the plain one."""
    ratio = other_ms / plain_ms
    print(
        f"{turn}: boot {plain_ms / 1000:.1f} s, {other} {other_ms / 1000:.1f} s, {ratio:.2f} times",
        flush=True,
    )
    return ratio


def ended(ratios: list[float], what: str, limit: int) -> int:
    """Prints the median; returns the exit status, 1 where it is above the limit."""
    median = statistics.median(ratios)
    print(f"median of {len(ratios)}: {what} takes {median:.2f} times as long as the boot (at most {limit})")
    return int(median > limit)
