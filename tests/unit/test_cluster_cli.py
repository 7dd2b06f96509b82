# SPDX-License-Identifier: Apache-2.0
"""--cluster: what names none, what is not there, and what it is not for."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from .builders import environment
from .conftest import Command


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("local:0", "a number of workers, 1 to 256"),
        ("local:many", "a number of workers, 1 to 256"),
        ("build1", "is not the address of a cluster"),
        ("http://build1:8786", "is not the address of a cluster"),
        ("ssh:", "names no hosts"),
        ("ssh:-oProxyCommand=true", "names no hosts"),
        ("tls://127.0.0.1:1", "needs a certificate"),
    ],
)
def test_words_that_name_no_cluster_are_refused(bootscope: Command, where: str, words: str) -> None:
    done = bootscope("optimize", "debian", "--cluster", where)
    assert done.returncode == 2
    assert words in done.stderr
    assert "hint:" in done.stderr


def test_where_no_scheduler_is_that_is_said(bootscope: Command) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{nobody.getsockname()[1]}"
        done = bootscope("try", "kernel-quiet", "--system", "debian", "--cluster", address)
    assert done.returncode == 3
    assert f"no scheduler answers at {address}" in done.stderr
    assert "Traceback" not in done.stderr


FALLS = """
import sys, threading, time
import psutil

def kill_the_first_worker():
    while True:
        for child in psutil.Process().children():
            try:
                if any("multiprocessing.spawn" in word for word in child.cmdline()):
                    child.kill()
                    return
            except psutil.Error:
                continue
        time.sleep(0.005)

if __name__ == "__main__":
    threading.Thread(target=kill_the_first_worker, daemon=True).start()
    from bootscope.cli.main import main
    sys.argv = ["bootscope", "record", "debian", "--cluster", "local:1"]
    sys.exit(main())
"""


def test_a_worker_that_is_killed_as_the_cluster_starts_is_told(tmp_path: Path) -> None:
    (tmp_path / "falls.py").write_text(FALLS)
    env = environment(BOOTSCOPE_STORE=str(tmp_path / "store"), BOOTSCOPE_CACHE=str(tmp_path / "cache"))
    command = [sys.executable, str(tmp_path / "falls.py")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "a cluster of 1 processes cannot be started" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_boots_no_system_of_ours_takes_no_cluster(bootscope: Command) -> None:
    done = bootscope("reproduce", "quiet", "--stored", "--cluster", "local:2")
    assert done.returncode == 2
    assert "--cluster" in done.stderr
