# SPDX-License-Identifier: Apache-2.0
"""How long the command takes to start: each call as a multiple of the time of `python -c pass`.

    .venv/bin/python benchmarks/startup.py [--rounds N] [--run RUN] [--check] [NAME ...]

NAMEs choose calls (`help`, `show`, `functions`, `audit`, ...; default: all). In every round each call runs
next to a `python -c pass` of the same interpreter, so that a busy computer slows down both; the median over
the rounds is printed. Calls that read a recording use the newest one of the store, and are left out if there
is none. Each call runs once before it is measured, because the first run leaves something for the next ones:
Python's compiled modules and the recording's index. With --check the status is 1 if one is over its bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from bootscope.analysis.view_names import NAMES
from bootscope.capture.store import Store
from bootscope.capture.stored import RECORDED
from bootscope.core.paths import store_dir

COMMAND = str(Path(__file__).resolve().parents[1] / "bin" / "bootscope")
START, SHOW, VIEW = 6.0, 33.0, 100.0
"""Bounds: for calls that read nothing, for `show`, for the views and `audit`."""
STARTS = {"help": ["--help"], "version": ["--version"]}


def calls(run: str | None) -> dict[str, tuple[list[str], float]]:
    """The calls by name: arguments and bound; without a run only those that need none."""
    found = {name: (words, START) for name, words in STARTS.items()}
    if run:
        found["show"] = (["show", run], SHOW)
        found |= {name: (["show", run, "--view", name], VIEW) for name in NAMES}
        found["audit"] = (["audit", run], VIEW)
    return found


def newest() -> str | None:
    """The newest recording of an emulated boot in the store, if there is one."""
    store = Store(store_dir())
    return next((run for run in reversed(store.run_ids()) if store.kind(run) == RECORDED), None)


def seconds(command: list[str], env: dict[str, str]) -> float:
    """How long a command takes."""
    begun = time.perf_counter()
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def ratio(words: list[str], rounds: int, env: dict[str, str]) -> tuple[float, float]:
    """The median time of a call in seconds, and the median of its multiples of `python -c pass`."""
    python, call = [sys.executable, "-c", "pass"], [COMMAND, *words]
    seconds(call, env)
    pairs = [(seconds(python, env), seconds(call, env)) for _ in range(rounds)]
    bases, times = zip(*pairs, strict=True)
    return statistics.median(times), statistics.median(times) / statistics.median(bases)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long the command takes to start.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=11, metavar="N")
    parser.add_argument("--run", metavar="RUN", help="recording to use (default: the newest)")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a bound is missed")
    args = parser.parse_args()
    # Nobody uses a checkout whose modules are never compiled.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    known = calls(args.run or newest())
    if "show" not in known:
        print("no recording in the store: only calls that need none are measured")
    missed = False
    for name in args.names or known:
        words, bound = known[name]
        took_s, times = ratio(words, args.rounds, env)
        missed |= times > bound
        told = f"{times:5.1f} times python -c pass (bound {bound:.0f}), {1000 * took_s:5.0f} ms"
        print(f"{name:14} {told}{'  MISSED' if times > bound else ''}", flush=True)
    sys.exit(args.check and missed)


if __name__ == "__main__":
    main()
