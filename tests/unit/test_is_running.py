# SPDX-License-Identifier: Apache-2.0
"""A board's process that waits for a busy host is told from one that sleeps."""

from __future__ import annotations

import subprocess
import sys
import time

from bootscope.emulator.qemu import is_running


def _asked(program: str, wanted: bool) -> bool:
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout
            child.stdout.readline()
            # A process that has just said something may still be on its way to where it stays.
            ends = time.monotonic() + 10
            while is_running(child.pid) != wanted and time.monotonic() < ends:
                pass
            return is_running(child.pid)
        finally:
            child.kill()


def test_a_process_that_computes_runs_also_where_others_have_the_processor() -> None:
    assert _asked("import os; os.nice(19); print(flush=True)\nwhile True: pass", True)


def test_a_process_that_waits_in_all_its_threads_does_not_run() -> None:
    text = "import threading, time; t = threading.Thread(target=time.sleep, args=(99,)); t.start()"
    assert not _asked(f"{text}; print(flush=True); time.sleep(99)", False)


def test_one_thread_that_computes_is_enough() -> None:
    text = "import threading, time; t = threading.Thread(target=time.sleep, args=(99,)); t.start()"
    assert _asked(f"{text}; print(flush=True)\nwhile True: pass", True)


def test_a_process_that_is_over_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not is_running(child.pid)
