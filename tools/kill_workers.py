# SPDX-License-Identifier: Apache-2.0
"""Searches on a local cluster while random workers are killed again and again, and prints the result.

    python tools/kill_workers.py [--every 30] [--seed 1] -- optimize debian --cluster local:4:FOLDER --json

Prints the accepted techniques of each search, for a comparison with those of an undisturbed search.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
SPAWNED = "from multiprocessing.spawn import"
WORKERS_THERE = "tasks at a time"


def workers(of: int) -> list[psutil.Process]:
    """The workers of a search: Python processes that multiprocessing started."""
    found = []
    # An examined process may end meanwhile, the search as well.
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(of).children():
            with contextlib.suppress(psutil.Error):
                if any(SPAWNED in word for word in child.cmdline()):
                    found.append(child)
    return found


def pass_on(search: subprocess.Popen[str], under_way: threading.Event) -> None:
    """Passes on the output of a search; all its workers are there once it prints how many tasks they take."""
    assert search.stderr
    for line in search.stderr:
        if WORKERS_THERE in line:
            under_way.set()
        sys.stderr.write(line)


def ended(search: subprocess.Popen[str], within_s: float) -> bool:
    """Whether a search ends within that many seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        search.wait(within_s)
    return search.returncode is not None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--every", type=float, default=30.0, help="seconds between kills (default: 30)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("words", nargs="+", help="bootscope command line that prints JSON")
    args = parser.parse_args()
    draw, killed, begun = random.Random(args.seed), 0, time.monotonic()
    under_way = threading.Event()
    command = [sys.executable, "-P", "-m", "bootscope", *args.words]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    pipe = subprocess.PIPE
    search = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)
    assert search.stdout
    with ThreadPoolExecutor(2) as pool:
        pool.submit(pass_on, search, under_way)
        printed = pool.submit(search.stdout.read)
        while not ended(search, args.every):
            if under_way.is_set() and (found := workers(search.pid)):
                victim = draw.choice(found)
                print(f"killed worker {victim.pid} after {time.monotonic() - begun:.0f} s", flush=True)
                with contextlib.suppress(psutil.Error):
                    victim.kill()
                    killed += 1
    print(f"status {search.returncode} after {time.monotonic() - begun:.0f} s, {killed} workers killed")
    if search.returncode == 0:
        print(f"accepted: {json.loads(printed.result())['accepted']}")
    sys.exit(search.returncode)


if __name__ == "__main__":
    main()
