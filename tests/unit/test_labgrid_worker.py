# SPDX-License-Identifier: Apache-2.0
"""The process that talks to labgrid ends after the one that started it, whatever it waits for."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import psutil

from .builders import ROOT

WAITS = """
import os
from bootscope.hardware.labgrid_worker import end_after
print("ready", flush=True)
end_after(int(os.environ["PARENT"]), 0)
"""
STARTS = """
import os, subprocess, sys
env = {**os.environ, "PARENT": str(os.getpid())}
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], env=env, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid)
"""


def test_it_does_not_outlive_the_process_that_started_it() -> None:
    command = [sys.executable, "-c", STARTS, WAITS]
    env = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60)
    left = int(done.stdout)
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already
        assert psutil.wait_procs([psutil.Process(left)], timeout=30)[1] == []
