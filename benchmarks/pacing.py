# SPDX-License-Identifier: Apache-2.0
"""Code that generators of known bytes share."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

CARRIERS = """
import contextlib, os, signal, sys, time

def all_at(policy, priority):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/comm") as f:
                if f.read().startswith("kworker/u") and os.sched_getscheduler(int(pid)) != policy:
                    os.sched_setscheduler(int(pid), policy, os.sched_param(priority))

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
try:
    while True:
        all_at(os.SCHED_FIFO, 5)
        time.sleep(0.2)
finally:
    all_at(os.SCHED_OTHER, 0)
"""
"""The bytes of a real port arrive by an interrupt. Those of a pseudo terminal are carried by a kernel thread
that waits for a CPU like any other, so they are late before anybody could listen: this gives such threads
priority over processes that only keep the CPU busy, for all listeners alike. It looks for new ones all the
time."""


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Inside the block this process has the highest CPU priority, and the threads that carry bytes the next,
    as far as permitted; afterwards it has its old one, which children would otherwise inherit."""
    carriers = subprocess.Popen([sys.executable, "-c", CARRIERS])
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    try:
        yield
    finally:
        carriers.terminate()
        carriers.wait()
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, parameters)
